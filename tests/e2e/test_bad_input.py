"""Whatever is missing, broken or forbidden is said once, with the next step; nothing is written, nothing is lost."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import stat
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from support.chat_server import ChatServer, Script, Turn, breaks_off, fails, says
from support.editor import Editor, editing, until, value_of
from support.edits import block
from support.patience import PATIENCE_S
from support.stores import open_store
from support.workspaces import FILES, GOOD_TESTS, contents, environment, write_workspace

ADD_NOTHING = block("shop/price.py", "    return sum(items)\n", "    return sum(items, 0)\n")
UNTESTED = {"tests": {"run": False}}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_workspace(tmp_path / "work")


@contextlib.asynccontextmanager
async def session(root: Path, script: Script, settings: Any = UNTESTED) -> AsyncIterator[tuple[Editor, ChatServer]]:
    with ChatServer(script) as chat:
        async with editing(root, environment(root.parent / "home", chat.base_url), settings) as editor:
            yield editor, chat


def stored_run(root: Path, run_id: str) -> Any:
    """A run as the next session would find it."""
    store = open_store(root.parent / "home" / "data" / "rolecall" / "rolecall.db")
    try:
        return store.run(run_id), store.calls(run_id)
    finally:
        store.close()


async def implement(editor: Editor, path: str = "shop/price.py") -> dict[str, Any]:
    return await editor.run("rolecall.brief.implement", uri=(editor.root / path).as_uri(), brief="Do it.")


async def settled(editor: Editor) -> None:
    """Wait until the server has answered everything so far, so that a second message would be there."""
    await editor.actions("shop/price.py")
    await asyncio.sleep(0.05)
    await editor.actions("shop/price.py")


# The model


async def test_without_a_model_the_three_ways_are_named_once_and_the_rest_works(root: Path) -> None:
    async with session(root, ADD_NOTHING) as (editor, chat):
        await implement(editor)
    async with editing(root, environment(root.parent / "home")) as editor:
        uri = editor.open("shop/price.py")
        reply = await editor.execute("rolecall.brief.implement", uri=uri, brief="Round.")
        assert value_of(reply, "error") == "NoModelConfigured"
        await settled(editor)
        assert len(editor.messages) == 1
        for way in ("OPENAI_API_KEY", "ROLECALL_BASE_URL", "rolecall.model.name"):
            assert way in editor.messages[0]
        assert "Rolecall: generate tests for this file" in await editor.actions("shop/price.py")
        assert "p1/h1" in editor.hunks("shop/price.py")
        await editor.execute("rolecall.hunk.accept", proposalId="p1", hunkId="h1")
        await until(lambda: "sum(items, 0)" in editor.text("shop/price.py"))


@pytest.mark.parametrize(
    ("turn", "error", "step"),
    [
        (fails(401, "bad key"), "KeyRefused", "OPENAI_API_KEY"),
        (fails(404, "no such model", "model_not_found"), "UnknownModel", "ROLECALL_MODEL"),
        (fails(400, "maximum context length is 10 tokens"), "ContextOverflow", "contextTokens"),
        (fails(429, "quota", "insufficient_quota"), "RateLimited", "billing"),
        (says("I would rather not."), "NothingToChange", "say more of what you want"),
        (says(block("shop/price.py", "    return nowhere\n", "    pass\n")), "NoUsableEdit", "more capable model"),
        (says(""), "ReplyMalformed", "again"),
    ],
)
async def test_a_model_that_fails_is_one_typed_error_told_once(root: Path, turn: Turn, error: str, step: str) -> None:
    before = contents(root)
    async with session(root, turn) as (editor, _):
        ended = await implement(editor)
        assert (ended["state"], ended["error"]) == ("failed", error)
        await settled(editor)
        assert len(editor.messages) == 1
        assert step in editor.messages[0]
        assert not editor.hunks("shop/price.py")
    run, calls = stored_run(root, ended["runId"])
    assert run.state == "failed"
    assert run.error in editor.messages[0]
    assert calls
    assert contents(root) == before


async def test_a_refused_connection_is_told_once_with_the_address(root: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    environ = environment(root.parent / "home", f"http://127.0.0.1:{port}/v1")
    async with editing(root, environ, UNTESTED) as editor:
        ended = await implement(editor)
        assert (ended["state"], ended["error"]) == ("failed", "ConnectionFailed")
        await settled(editor)
        assert len(editor.messages) == 1
        assert f"127.0.0.1:{port}" in editor.messages[0]
    assert stored_run(root, ended["runId"])[0].state == "failed"


async def test_a_connection_lost_in_a_repair_keeps_what_passed_of_the_first_attempt_and_says_so(root: Path) -> None:
    wrong = GOOD_TESTS.replace("== 9", "== 8")
    script: list[str | Turn] = [wrong, *(breaks_off("FILE: tests/te") for _ in range(6))]
    async with session(root, script, {}) as (editor, _):
        ended = await editor.run("rolecall.tests.generate", uri=editor.open("shop/price.py"))
        assert ended["state"] == "failed"
        assert ended["proposalId"] == "p1"
        await settled(editor)
        errors = [message for message in editor.client.messages if message.type == types.MessageType.Error]
        assert len(errors) == 1
        shown = value_of(await editor.execute("rolecall.proposal.show", proposalId="p1"), "text")
        assert "cut short" in shown
        assert "Left out: tests/test_price.py::test_discount_takes_a_tenth: fails" in shown
        assert "+def test_discount_takes_a_tenth" not in shown
        assert "3 passed, 0 failed" in editor.hunks("tests/test_price.py")["p1/h3"].message
    run, calls = stored_run(root, ended["runId"])
    assert run.state == "failed"
    assert calls[0].reply is not None
    assert calls[1].reply is None


# The file


async def test_a_file_that_cannot_be_worked_on_is_refused_with_the_reason(root: Path) -> None:
    outside = root.parent / "outside.py"
    outside.write_text("x = 1\n")
    (root / "binary.py").write_bytes(b"x = 1\0\n")
    (root / "latin.py").write_bytes('x = "é"\n'.encode("latin-1"))
    (root / "huge.py").write_text("x = 1\n" * 400_000)
    (root / "leads_out.py").symlink_to(outside)
    (root / "circle.py").symlink_to(root / "circle.py")
    (root / "folder.py").mkdir()
    (root / "gone.py").write_text("x = 1\n")
    reasons = {
        (root / "binary.py").as_uri(): "binary",
        (root / "latin.py").as_uri(): "not UTF-8",
        (root / "huge.py").as_uri(): "larger than 2,000,000",
        (root / "folder.py").as_uri(): "not a regular file",
        (root / "gone.py").as_uri(): "does not exist",
        (root / "leads_out.py").as_uri(): "outside",
        (root / "circle.py").as_uri(): "circle",
        outside.as_uri(): "outside",
        (root / ".." / "outside.py").as_uri(): "outside",
        "untitled:Untitled-1": "Save it to a file",
        "file:///%00": "no path",
        (root / ("long" * 100)).as_uri(): "too long",
        "": "No file was named",
    }
    before = contents(root)
    async with session(root, ADD_NOTHING) as (editor, chat):
        (root / "gone.py").unlink()
        for uri, reason in reasons.items():
            for command in ("rolecall.brief.implement", "rolecall.tests.generate"):
                editor.client.messages.clear()
                reply = await editor.execute(command, uri=uri, brief="Do it.")
                if run_id := value_of(reply, "runId"):
                    await until(lambda run_id=run_id: run_id in editor.ended_runs)
                    assert editor.ended_runs[run_id]["error"] == "FileRefused", uri
                else:
                    assert value_of(reply, "error") == "FileRefused", uri
                await settled(editor)
                assert len(editor.messages) == 1, uri
                assert reason in editor.messages[0]
        assert not chat.asked, "no model is asked about what is refused"
    del before["gone.py"]
    assert contents(root) == before


async def test_a_file_that_the_user_may_not_read_is_refused(root: Path) -> None:
    locked = root / "locked.py"
    locked.write_text("x = 1\n")
    locked.chmod(0)
    if locked.stat().st_mode & stat.S_IRUSR or _readable(locked):
        locked.unlink()
        locked.mkdir()  # for a user who may read everything a folder must do
    async with session(root, ADD_NOTHING) as (editor, chat):
        ended = await implement(editor, "locked.py")
        assert ended["error"] == "FileRefused"
        assert not chat.asked


def _readable(path: Path) -> bool:
    with contextlib.suppress(OSError):
        path.read_bytes()
        return True
    return False


async def test_a_file_closed_and_deleted_under_a_proposal_makes_it_stale(root: Path) -> None:
    async with session(root, ADD_NOTHING) as (editor, _):
        await implement(editor)
        assert "p1/h1" in editor.hunks("shop/price.py")
        (root / "shop" / "price.py").unlink()
        tell_changed(editor, "shop/price.py", types.FileChangeType.Deleted)
        await until(lambda: not editor.hunks("shop/price.py"))
        await editor.execute("rolecall.hunk.accept", proposalId="p1", hunkId="h1")
        await until(lambda: any("was deleted" in message for message in editor.messages))
        assert not editor.edits


async def test_a_file_written_by_somebody_else_under_a_proposal_makes_it_stale_until_it_is_put_back(
    root: Path,
) -> None:
    price = root / "shop" / "price.py"
    async with session(root, ADD_NOTHING) as (editor, _):
        await implement(editor)
        price.write_text(FILES["shop/price.py"].replace("sum(items)", "sum(map(int, items))"))
        tell_changed(editor, "shop/price.py", types.FileChangeType.Changed)
        await until(lambda: not editor.hunks("shop/price.py"))
        price.write_text("# somebody's header\n" + FILES["shop/price.py"])
        tell_changed(editor, "shop/price.py", types.FileChangeType.Changed)
        await until(lambda: "p1/h1" in editor.hunks("shop/price.py"))
        await editor.execute("rolecall.hunk.accept", proposalId="p1", hunkId="h1")
        await until(lambda: bool(editor.edits))
        assert editor.text("shop/price.py") == "# somebody's header\n" + FILES["shop/price.py"].replace(
            "sum(items)", "sum(items, 0)"
        )


async def test_a_file_in_another_encoding_has_to_be_open_before_a_hunk_in_it_is_accepted(root: Path) -> None:
    price = root / "shop" / "price.py"
    text = "# coding: latin-1\n" + FILES["shop/price.py"].replace("Prices", "Prix d'été")
    price.write_bytes(text.encode("latin-1"))
    async with session(root, ADD_NOTHING) as (editor, _):
        uri = editor.open("shop/cart.py")
        await editor.run("rolecall.brief.implement", uri=uri, brief="Do it.")
        await editor.execute("rolecall.hunk.accept", proposalId="p1", hunkId="h1")
        refusal = "shop/price.py is iso8859-1, which an editor may take for something else. Open it first."
        await until(lambda: any(refusal in message for message in editor.messages))
        assert not editor.edits
        editor.open("shop/price.py", text)
        await editor.execute("rolecall.hunk.accept", proposalId="p1", hunkId="h1")
        await until(lambda: bool(editor.edits))
        assert editor.text("shop/price.py") == text.replace("sum(items)", "sum(items, 0)")
    assert price.read_bytes() == text.encode("latin-1")


def tell_changed(editor: Editor, path: str, kind: types.FileChangeType) -> None:
    event = types.FileEvent((editor.root / path).as_uri(), kind)
    editor.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))


async def test_a_syntax_error_in_the_file_keeps_nobody_from_working_on_it(root: Path) -> None:
    broken = FILES["shop/price.py"] + "\n\ndef unfinished(:\n    return (\n"
    async with session(root, [ADD_NOTHING, GOOD_TESTS], {}) as (editor, _):
        uri = editor.open("shop/price.py", broken)
        assert (await editor.run("rolecall.brief.implement", uri=uri, brief="Do it."))["state"] == "finished"
        assert "p1/h1" in editor.hunks("shop/price.py")
        await editor.execute("rolecall.hunk.accept", proposalId="p1", hunkId="h1")
        await until(lambda: editor.text("shop/price.py") == broken.replace("sum(items)", "sum(items, 0)"))
        assert "Rolecall: generate tests for total" in await editor.actions("shop/price.py", 4)
        ended = await editor.run("rolecall.tests.generate", uri=uri)
        assert ended["proposalId"] == "p2"
        assert "p2/h1" in editor.hunks("tests/test_price.py")


# What a model may not do


FORBIDDEN = ["../outside.py", "{absolute}/outside.py", "linked/outside.py", "shop/../../outside.py", "/etc/outside.py"]


@pytest.mark.parametrize("role", ["rolecall.brief.implement", "rolecall.tests.generate"])
@pytest.mark.parametrize("path", FORBIDDEN)
async def test_an_edit_outside_the_workspace_is_refused_told_to_the_model_and_not_made(
    root: Path, role: str, path: str
) -> None:
    (root.parent / "elsewhere").mkdir()
    (root / "linked").symlink_to(root.parent / "elsewhere")
    good = ADD_NOTHING if "implement" in role else GOOD_TESTS
    escape = block(path.format(absolute=root.parent), "", "stolen = True\n")
    async with session(root, [escape, good]) as (editor, chat):
        ended = await editor.run(role, uri=editor.open("shop/price.py"), brief="Do it.")
        assert ended["state"] == "finished", editor.messages
        assert len(chat.asked) == 2
        assert "outside.py" in chat.asked[1]["messages"][-1]["content"]
        shown = value_of(await editor.execute("rolecall.proposal.show", proposalId="p1"), "text")
        assert "stolen" not in shown
        await editor.execute("rolecall.proposal.accept", proposalId="p1")
        await until(lambda: bool(editor.edits))
    assert not list(root.parent.rglob("outside.py"))


@pytest.mark.parametrize("path", ["shop/price.py", "tests/../shop/price.py", "tests/test_link.py", "./shop/price.py"])
async def test_the_qa_engineer_may_not_change_the_code_it_tests_by_any_name(root: Path, path: str) -> None:
    (root / "tests" / "test_link.py").symlink_to(root / "shop" / "price.py")
    sly = block(path, "    return sum(items)\n", "    return 0\n")
    async with session(root, [sly, GOOD_TESTS]) as (editor, chat):
        ended = await editor.run("rolecall.tests.generate", uri=editor.open("shop/price.py"))
        assert ended["state"] == "finished"
        assert "price.py" in chat.asked[1]["messages"][-1]["content"]
        assert not editor.hunks("shop/price.py")
        await editor.execute("rolecall.proposal.accept", proposalId="p1")
        await until(lambda: bool(editor.edits))
        assert editor.text("shop/price.py") == FILES["shop/price.py"]


# Commands


async def test_a_hunk_is_accepted_once_however_often_one_asks(root: Path) -> None:
    two = ADD_NOTHING + block("shop/price.py", "    return price * (1 - rate)\n", "    return price - price * rate\n")
    async with session(root, two) as (editor, _):
        await implement(editor)
        editor.client.messages.clear()
        first = editor.execute("rolecall.hunk.accept", proposalId="p1", hunkId="h1")
        second = editor.execute("rolecall.hunk.accept", proposalId="p1", hunkId="h1")
        await asyncio.gather(first, second)
        await until(lambda: bool(editor.messages))
        reply = await editor.execute("rolecall.hunk.accept", proposalId="p1", hunkId="h1")
        assert value_of(reply, "error") == "NotFound"
        reply = await editor.execute("rolecall.hunk.reject", proposalId="p1", hunkId="h1")
        assert value_of(reply, "error") == "NotFound"
        await settled(editor)
        assert len(editor.edits) == 1
        assert len(editor.messages) == 3
        assert all("h1 of p1 was accepted before" in message for message in editor.messages)
        assert editor.text("shop/price.py") == FILES["shop/price.py"].replace("sum(items)", "sum(items, 0)")


WRONG: list[tuple[str, list[Any], str]] = [
    ("rolecall.hunk.accept", [], "NotFound"),
    ("rolecall.hunk.accept", [{"proposalId": "p1", "hunkId": "h99"}], "NotFound"),
    ("rolecall.hunk.accept", [{"proposalId": "p99", "hunkId": "h1"}], "NotFound"),
    ("rolecall.hunk.accept", [{"proposalId": "../../etc", "hunkId": "h1"}], "NotFound"),
    ("rolecall.hunk.accept", [{"proposalId": 1, "hunkId": "h1"}], "UserMustAct"),
    ("rolecall.hunk.accept", [["p1", "h1"]], "UserMustAct"),
    ("rolecall.hunk.reject", [5], "UserMustAct"),
    ("rolecall.hunk.reject", [{"uri": "file:///x.py", "range": "all of it"}], "NotFound"),
    (
        "rolecall.hunk.reject",
        [{"uri": "file:///x.py", "range": {"start": {"line": 1e400, "character": 0}, "end": {}}}],
        "NotFound",
    ),
    ("rolecall.hunk.reject", [{"uri": ["x"]}], "UserMustAct"),
    ("rolecall.file.accept", [{"proposalId": "p1", "path": "no/such/file.py"}], "NotFound"),
    ("rolecall.file.reject", [{"proposalId": "p1", "uri": "untitled:x"}], "NotFound"),
    ("rolecall.proposal.accept", [{"proposalId": "p7"}], "NotFound"),
    ("rolecall.proposal.show", [{}, {}], "UserMustAct"),
    ("rolecall.proposal.show", [None], "UserMustAct"),
    ("rolecall.run.cancel", [{"runId": "r99"}], "NotFound"),
    ("rolecall.run.cancel", [{"runId": {"id": 1}}], "UserMustAct"),
    ("rolecall.tests.generate", [], "FileRefused"),
    ("rolecall.tests.generate", [{"symbol": "total"}], "FileRefused"),
    ("rolecall.tests.generate", ["shop/price.py"], "UserMustAct"),
    ("rolecall.brief.implement", [{"uri": "file:///x.py", "brief": 5}], "FileRefused"),
    ("rolecall.brief.implement", [{"uri": "{price}", "brief": ["a"]}], "UserMustAct"),
    ("rolecall.brief.implement", [{"uri": "{price}", "brief": "half a \ud800"}], "UserMustAct"),
    ("rolecall.brief.implement", [{"uri": "{price}"}], "BriefMissing"),
]


async def test_commands_with_wrong_arguments_say_what_is_wrong_once(root: Path) -> None:
    async with session(root, ADD_NOTHING) as (editor, chat):
        await implement(editor)
        for command, arguments, error in WRONG:
            editor.client.messages.clear()
            filled = [
                {**each, "uri": (root / "shop/price.py").as_uri()}
                if isinstance(each, dict) and each.get("uri") == "{price}"
                else each
                for each in arguments
            ]
            params = types.ExecuteCommandParams(command, filled)
            reply = await asyncio.wait_for(editor.client.workspace_execute_command_async(params), PATIENCE_S)
            assert value_of(reply, "error") == error, (command, arguments)
            assert editor.messages == [f"Rolecall: {value_of(reply, 'message')}"], (command, arguments)
        assert "p1/h1" in editor.hunks("shop/price.py"), "none of them decided anything"
        assert len(chat.asked) == 1
        assert not editor.edits
