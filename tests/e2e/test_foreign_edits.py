"""An edit that another agent made, as a proposal under review: checked, tried, decided on, never written unasked."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from rolecall_server.lsp.untyped import plain
from support.editor import Editor, capabilities, editing, until
from support.patience import PATIENCE_S
from support.workspaces import FILES, contents, environment, write_workspace

PRICE, TESTS = "shop/price.py", "tests/test_price.py"
BETTER = FILES[PRICE].replace("return sum(items)", "return round(sum(items), 2)")
DIFF = """\
Here is what I would change:

--- a/shop/price.py
+++ b/shop/price.py
@@ -4,4 +4,4 @@
 def total(items):
     \"\"\"The sum of the prices.\"\"\"
-    return sum(items)
+    return round(sum(items), 2)

--- /dev/null
+++ b/shop/tax.py
@@ -0,0 +1,2 @@
+RATE = 0.19
+
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_workspace(tmp_path / "work")


@contextlib.asynccontextmanager
async def session(root: Path, **experimental: bool) -> AsyncIterator[Editor]:
    announced = capabilities()
    announced.experimental = {"rolecall": {"review": True, **experimental}}
    async with editing(root, environment(root.parent / "home"), {}, announced) as editor:
        yield editor


async def ask(editor: Editor, method: str, **params: Any) -> Any:
    return plain(await asyncio.wait_for(editor.client.protocol.send_request_async(method, params), PATIENCE_S))


async def propose(editor: Editor, texts: dict[str, str | None] | None = None, **more: Any) -> Any:
    given: dict[str, Any] = {"origin": "Some Agent 2.1", "title": "Round the total", "rationale": "Cents.", **more}
    if texts is not None:
        given["files"] = [{"path": path, "text": text} for path, text in texts.items()]
    return await ask(editor, "rolecall/propose", **given)


async def test_files_with_new_texts_become_a_proposal_that_was_tried_and_names_who_made_it(root: Path) -> None:
    before = contents(root)
    async with session(root) as editor:
        answer = await propose(editor, {PRICE: BETTER, "shop/tax.py": "RATE = 0.19\n"})
        assert answer["problem"] == ""
        assert [(one["hunkId"], one["path"]) for one in answer["hunks"]] == [("h1", PRICE), ("h2", "shop/tax.py")]
        assert any("1 passed, 0 failed" in line for line in answer["evidence"]), answer
        (waiting,) = (await ask(editor, "rolecall/review"))["proposals"]
        assert (waiting["proposalId"], waiting["role"]) == (answer["proposalId"], "Some Agent 2.1")
        assert waiting["rationale"] == "Cents."
        assert contents(root) == before


async def test_it_is_accepted_hunk_by_hunk_like_any_other(root: Path) -> None:
    async with session(root) as editor:
        editor.open(PRICE)
        proposal_id = (await propose(editor, {PRICE: BETTER}))["proposalId"]
        await editor.execute("rolecall.hunk.accept", proposalId=proposal_id, hunkId="h1")
        await until(lambda: editor.text(PRICE) == BETTER)
        assert "Some Agent 2.1" in await editor.hover(PRICE, 5)


async def test_a_unified_diff_is_taken_whole_with_the_prose_around_it(root: Path) -> None:
    async with session(root) as editor:
        answer = await propose(editor, diff=DIFF)
        assert [one["path"] for one in answer["hunks"]] == [PRICE, "shop/tax.py"], answer
        sides = await ask(editor, "rolecall/review/text", proposalId=answer["proposalId"], path=PRICE)
        assert sides["right"] == BETTER


async def test_unsaved_text_is_what_a_diff_must_fit(root: Path) -> None:
    async with session(root) as editor:
        editor.open(PRICE)
        editor.replace_text(PRICE, FILES[PRICE].replace("sum(items)", "sum(map(abs, items))"))
        answer = await propose(editor, diff=DIFF)
        assert answer["proposalId"] == ""
        assert answer["problem"].startswith("The old lines of hunk 1 of shop/price.py stand nowhere in the file.")
        assert (await ask(editor, "rolecall/review"))["proposals"] == []


async def test_what_it_breaks_is_in_the_evidence(root: Path) -> None:
    async with session(root) as editor:
        answer = await propose(editor, {PRICE: FILES[PRICE].replace("def total(", "def whole(")})
        told = "\n".join(answer["evidence"])
        assert "Fails: tests/test_price.py" in told or "cannot be imported" in told
        assert "shop/cart.py" in told.partition("Breaks: ")[2]


@pytest.mark.parametrize("path", ["conftest.py", ".git/hooks/post-commit"])
async def test_a_guarded_file_changes_only_after_its_own_question(root: Path, path: str) -> None:
    async with session(root) as editor:
        answer = await propose(editor, {path: "import os\n"})
        (waiting,) = (await ask(editor, "rolecall/review"))["proposals"]
        assert waiting["files"][0]["guarded"]
        reply = await editor.execute("rolecall.proposal.accept", proposalId=answer["proposalId"])
        assert reply
        assert not (root / path).exists()
        assert editor.edits == []


@pytest.mark.parametrize("path", ["../outside.py", "/etc/passwd", "shop/../x.py", ".env"])
async def test_a_file_that_no_edit_may_name_is_refused_before_anything_runs(root: Path, path: str) -> None:
    async with session(root) as editor:
        answer = await propose(editor, {PRICE: BETTER, path: "x = 1\n"})
        assert answer["proposalId"] == ""
        assert "Leave it out of the edit." in answer["problem"]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"files": [{"path": PRICE, "text": FILES[PRICE]}]}, "every file stays as it is"),
        ({"files": []}, "There is no edit."),
        ({"diff": "no diff at all"}, "no change of a file in the diff"),
        ({"files": [{"path": PRICE, "text": BETTER}], "origin": "[x](http://y)"}, "is no name of who made the edit"),
        ({"files": [{"path": PRICE, "text": BETTER}], "root": "file:///elsewhere"}, "not clear which opened folder"),
    ],
)
async def test_what_is_no_proposal_is_answered_with_the_reason(root: Path, given: dict[str, Any], says: str) -> None:
    async with session(root) as editor:
        answer = await propose(editor, **given)
        assert says in answer["problem"]
        assert answer["proposalId"] == ""


async def test_nothing_is_proposed_where_nothing_may_run(root: Path) -> None:
    async with session(root, restricted=True) as editor:
        assert (await propose(editor, {PRICE: BETTER}))["problem"].startswith("This workspace is not trusted.")


LOOKING = """\
from pathlib import Path


def test_what_can_be_seen():
    root = Path(__file__).resolve().parents[1]
    seen = [path.read_bytes().hex() for path in (root / {name!r},) if path.exists()]
    raise AssertionError(seen)
"""
HIDDEN = "hunter2 CANARY x9Z"


@pytest.mark.parametrize("name", [".env", "notes.txt", "shop/keys.py", "tests/.env"])
async def test_tests_of_such_an_edit_tell_nothing_that_is_kept_from_models(root: Path, name: str) -> None:
    secret = "AKIAIOSFODNN7CANARY1" if name == "shop/keys.py" else HIDDEN.replace(" ", "-")
    (root / ".aiignore").write_text("notes.txt\n")
    (root / name).write_text(f"PASSWORD = '{secret}'\n")
    (root / "open.txt").write_text("PASSWORD = CANARY\n")
    async with session(root) as editor:
        told = await propose(editor, {"tests/test_seen.py": LOOKING.format(name=name)})
        assert told["proposalId"] == "p1", told
        assert any("tests/test_seen.py" in line for line in told["evidence"])
        assert secret.encode().hex() not in str(told)
        control = await propose(editor, {"tests/test_seen.py": LOOKING.format(name="open.txt")})
        assert b"CANARY".hex() in str(control["evidence"]), control


async def test_an_edit_of_very_many_files_is_refused_before_any_is_looked_at(root: Path) -> None:
    async with session(root) as editor:
        answer = await propose(editor, {f"shop/f{number}.py": "x = 1\n" for number in range(501)})
        assert answer["problem"].startswith("That is more than anybody can decide on at once.")
        answer = await propose(editor, diff=DIFF + " " * 2_000_000)
        assert answer["problem"].startswith("That is more than anybody can decide on at once.")


@pytest.mark.parametrize("origin", ["Engineer", "QA engineer", "Reviewer"])
async def test_nobody_passes_for_a_role_of_the_team(root: Path, origin: str) -> None:
    async with session(root) as editor:
        answer = await propose(editor, {PRICE: BETTER}, origin=origin)
        assert answer["problem"].startswith(f"{origin} is one of Rolecall's own roles.")


def propose_patch(root: Path, *arguments: str, given: str = DIFF) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-I", "-m", "rolecall_server", *arguments],
        cwd=root,
        env=environment(root.parent / "home"),
        input=given,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )


def test_a_patch_becomes_a_proposal_in_the_terminal_that_is_accepted_there(root: Path) -> None:
    before = contents(root)
    (root.parent / "fix.patch").write_text(DIFF)
    proposed = propose_patch(root, "propose", "../fix.patch", "--from", "Some Agent", "--title", "Round the total")
    assert proposed.returncode == 0, proposed.stderr
    assert "Round the total (p1)" in proposed.stdout
    assert "1 passed, 0 failed" in proposed.stdout
    assert "rolecall review p1" in proposed.stdout
    assert contents(root) == before
    accepted = propose_patch(root, "review", "p1", "--accept", "h1")
    assert accepted.returncode == 0, accepted.stderr
    assert contents(root) == {**before, PRICE: BETTER.encode()}


def test_a_program_gives_a_patch_on_its_standard_input_and_reads_what_was_checked(root: Path) -> None:
    proposed = json.loads(propose_patch(root, "propose", "-", "--json").stdout)
    assert [change["path"] for change in proposed["proposal"]["files"]] == [PRICE, "shop/tax.py"]
    assert proposed["proposal"]["evidence"]["after"]["failed"] == 0


@pytest.mark.parametrize(
    ("patch", "code"),
    [
        ("nothing to see", "PatchRefused"),
        (DIFF.replace("return sum(items)", "return total"), "PatchRefused"),
        (DIFF.replace("shop/tax.py", "../tax.py"), "FileRefused"),
    ],
    ids=["no diff", "another text", "a file outside"],
)
def test_a_patch_that_cannot_be_one_is_refused_with_a_reason(root: Path, patch: str, code: str) -> None:
    ended = propose_patch(root, "propose", "-", given=patch)
    assert ended.returncode == 1
    assert ended.stderr.startswith(f"{code}: ")
    assert "Traceback" not in ended.stderr
