"""What looks wrong in tested code: a warning on its symbol, first in every rendering, gone when it is dealt with."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.chat_server import ChatServer, Script
from support.editor import Editor, editing, rich_capabilities, until, value_of
from support.edits import block
from support.workspaces import FILES, GOOD_TESTS, environment, write_workspace

FINDS = (
    "I test `discount`.\n\n"
    "Finding: shop/price.py::discount: A negative rate raises the price. Shown by test_no_negative_rate.\n\n"
    + block(
        "tests/test_price.py",
        "from shop.price import total\n",
        "import pytest\n\nfrom shop.price import discount, total\n",
    )
    + block(
        "tests/test_price.py",
        "",
        "def test_a_tenth():\n    assert discount(10) == 9\n\n\n"
        "def test_no_negative_rate():\n    with pytest.raises(ValueError):\n        discount(10, -1)\n",
    )
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_workspace(tmp_path / "work")


@contextlib.asynccontextmanager
async def session(root: Path, script: Script) -> AsyncIterator[tuple[Editor, ChatServer]]:
    with ChatServer(script) as chat:
        environ = environment(root.parent / "home", chat.base_url)
        async with editing(root, environ, {"review": {"testLens": True}}, rich_capabilities()) as editor:
            yield editor, chat


async def test_a_finding_is_a_warning_on_its_symbol_until_that_is_changed(root: Path) -> None:
    async with session(root, FINDS) as (editor, _):
        uri = editor.open("shop/price.py")
        await editor.run("rolecall.tests.generate", uri=uri)
        await until(lambda: bool(editor.findings("shop/price.py")))
        (warning,) = editor.findings("shop/price.py")
        assert (warning.code, warning.range.start.line) == ("p1", 8)
        assert warning.message.startswith("Finding: shop/price.py, line 9, discount: A negative rate raises the price.")
        assert "\n  discount(10, -1)\n" in warning.message
        assert "\n  gave: no exception\n  promised: ValueError\n" in warning.message
        assert "test_no_negative_rate, which fails as it is marked to: off until" in warning.message

        editor.replace_text("shop/price.py", "# Prices of a shop.\n" + FILES["shop/price.py"])
        await until(lambda: [one.range.start.line for one in editor.findings("shop/price.py")] == [9])
        editor.replace_text("shop/price.py", FILES["shop/price.py"].replace("rate > 1", "not 0 <= rate <= 1"))
        await until(lambda: not editor.findings("shop/price.py"))


async def test_a_finding_offers_a_fix_that_the_engineer_proposes(root: Path) -> None:
    mends = "I refuse it.\n\n" + block("shop/price.py", "if rate > 1:\n", "if not 0 <= rate <= 1:\n")
    async with session(root, [FINDS, mends]) as (editor, chat):
        await editor.run("rolecall.tests.generate", uri=editor.open("shop/price.py"))
        await until(lambda: bool(editor.findings("shop/price.py")))
        offered = await editor.actions("shop/price.py", line=8)
        title = "Rolecall: propose a fix of “A negative rate raises the price.”"
        assert not [one for one in await editor.actions("shop/price.py", line=3) if "a fix of" in one]
        assert [one.code for one in offered[title].diagnostics or ()] == ["p1"]
        reply = await editor.choose(await editor.client.code_action_resolve_async(offered[title]))
        await until(lambda: value_of(reply, "runId") in editor.ended_runs)
        assert "A negative rate raises the price." in chat.asked[-1]["messages"][-1]["content"]
        assert "p2/h1" in editor.hunks("shop/price.py")


async def test_a_finding_goes_with_its_proposal(root: Path) -> None:
    async with session(root, FINDS) as (editor, _):
        await editor.run("rolecall.tests.generate", uri=editor.open("shop/price.py"))
        await until(lambda: bool(editor.findings("shop/price.py")))
        shown = value_of(await editor.execute("rolecall.proposal.show", proposalId="p1"), "text")
        assert shown.splitlines()[2].startswith("# Finding: shop/price.py, line 9, discount: A negative rate")
        await editor.execute("rolecall.proposal.reject", proposalId="p1")
        await until(lambda: not editor.findings("shop/price.py"))


async def test_tests_are_written_anew_as_the_developer_says_and_take_the_place_of_the_first(root: Path) -> None:
    async with session(root, GOOD_TESTS) as (editor, chat):
        uri = editor.open("shop/price.py")
        await editor.run("rolecall.tests.generate", uri=uri)
        await editor.run("rolecall.tests.generate", uri=uri, brief="Use a fixture for the prices.")
        asked = chat.asked[1]["messages"][-1]["content"]
        task = asked.partition("# Your task")[2]
        assert "def test_discount_takes_a_tenth():" in task
        assert task.index("write all of them anew") < task.index("The developer adds: Use a fixture")
        assert {code.partition("/")[0] for code in editor.hunks("tests/test_price.py")} <= {"p2"}


async def test_a_lens_offers_tests_above_what_no_test_calls(root: Path) -> None:
    async with session(root, GOOD_TESTS) as (editor, _):
        editor.open("shop/price.py")
        lenses = await editor.lenses("shop/price.py")
        titles = [(lens.range.start.line, lens.command.title) for lens in lenses if lens.command]
        assert titles == [(8, "Rolecall: generate tests")]


def test_findings_stand_first_in_a_terminal_and_are_there_for_programs(root: Path) -> None:
    with ChatServer(FINDS) as chat:
        environ = environment(root.parent / "home", chat.base_url)
        command = [sys.executable, "-I", "-m", "rolecall_server", "tests", "shop/price.py"]
        shown = subprocess.run(command, cwd=root, env=environ, capture_output=True, text=True, check=True).stdout
        told = subprocess.run([*command, "--json"], cwd=root, env=environ, capture_output=True, text=True, check=True)
    assert "\n\nFinding: shop/price.py, line 9, discount: A negative rate" in shown, "the first line of evidence"
    (defect,) = json.loads(told.stdout)["proposal"]["evidence"]["defects"]
    assert (defect["symbol"], defect["call"]) == ("discount", "discount(10, -1)")


def test_accepting_all_on_the_command_line_leaves_the_test_of_a_finding_off(root: Path) -> None:
    test_file = root / "tests/test_price.py"
    with ChatServer(FINDS) as chat:
        environ = environment(root.parent / "home", chat.base_url)
        for command in (["tests", "shop/price.py"], ["review", "p1", "--accept", "all"]):
            told = [sys.executable, "-I", "-m", "rolecall_server", *command]
            shown = subprocess.run(told, cwd=root, env=environ, capture_output=True, text=True, check=True).stdout
    assert "def test_a_tenth" in test_file.read_text()
    assert "test_no_negative_rate" not in test_file.read_text()
    (left,) = re.findall(r"Undecided: (h\d+)\.", shown)
    command = [sys.executable, "-I", "-m", "rolecall_server", "review", "p1", "--accept", left]
    subprocess.run(command, cwd=root, env=environ, capture_output=True, check=True)
    assert "@pytest.mark.xfail(strict=True" in test_file.read_text(), "by its own id it is taken"


async def test_accepting_a_proposal_in_an_editor_leaves_the_test_of_a_finding_off(root: Path) -> None:
    async with session(root, FINDS) as (editor, _):
        await editor.run("rolecall.tests.generate", uri=editor.open("shop/price.py"))
        editor.open("tests/test_price.py")
        await until(lambda: bool(editor.hunks("tests/test_price.py")))
        await editor.execute("rolecall.proposal.accept", proposalId="p1")
        await until(lambda: "def test_a_tenth" in editor.text("tests/test_price.py"))
        assert "test_no_negative_rate" not in editor.text("tests/test_price.py")
        await until(lambda: len(editor.hunks("tests/test_price.py")) == 1)
        (left,) = editor.hunks("tests/test_price.py")
        proposal_id, _, hunk_id = left.partition("/")
        await editor.execute("rolecall.hunk.accept", proposalId=proposal_id, hunkId=hunk_id)
        await until(lambda: "@pytest.mark.xfail(strict=True" in editor.text("tests/test_price.py"))
