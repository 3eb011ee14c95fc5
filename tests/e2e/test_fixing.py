"""`rolecall.fix` in an editor, and `rolecall fix` in a terminal: a failing test, a traceback, and what comes of it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from support.chat_server import ChatServer
from support.editor import editing
from support.edits import block
from support.workspaces import FILES, environment, write_workspace

ROLECALL = (sys.executable, "-I", "-m", "rolecall_server")
TEST = "tests/test_price.py::test_total_of_nothing"
BROKEN = {**FILES, "shop/price.py": FILES["shop/price.py"].replace("return sum(items)", "return sum(items) + 1")}
FIX = block("shop/price.py", "    return sum(items) + 1\n", "    return sum(items)\n")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_workspace(tmp_path / "work", BROKEN)


async def test_an_editor_has_mended_what_makes_the_test_at_the_cursor_fail(root: Path) -> None:
    with ChatServer([FIX]) as chat:
        async with editing(root, environment(root.parent / "home", chat.base_url), None) as editor:
            editor.open("tests/test_price.py")
            place = types.Range(types.Position(4, 0), types.Position(4, 0))
            action = (await editor.actions("tests/test_price.py", where=place))[
                "Rolecall: mend what makes test_total_of_nothing fail"
            ]
            assert action.command is not None
            assert action.command.arguments
            arguments: Any = action.command.arguments[0]
            assert arguments["tests"] == [TEST]
            await editor.run("rolecall.fix", **arguments)
            shown = await editor.execute("rolecall.proposal.show")
    assert f"Failed before, passes now: {TEST}" in shown["text"]
    assert "assert 1 == 0" in chat.asked[0]["messages"][1]["content"]


def fix(root: Path, *arguments: str, base_url: str = "", typed: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*ROLECALL, "fix", *arguments],
        cwd=root,
        env=environment(root.parent / "home", base_url),
        input=typed,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_a_red_log_is_located_without_a_model_and_mended_with_one(root: Path) -> None:
    log = f"2026-03-01T10:00:00.0000000Z FAILED {TEST} - assert 1 == 0\n"
    located = fix(root, "--traceback", "-", "--locate", "--json", typed=log)
    assert located.returncode == 0, located.stderr
    found = json.loads(located.stdout)
    assert found["failing"] == [{"test": TEST, "message": "AssertionError: assert 1 == 0"}]
    assert [one["name"] for one in found["suspects"]] == ["total"]
    with ChatServer([f"Hypothesis: total adds one.\n\n{FIX}"]) as chat:
        mended = fix(root, TEST, "--yes", base_url=chat.base_url)
    assert mended.returncode == 0, mended.stderr
    assert "1. shop/price.py:4 total (1.00): run by the failing test; the test calls it" in mended.stderr
    assert (root / "shop/price.py").read_text() == FILES["shop/price.py"]


def test_several_tests_are_named_at_once_as_for_pytest(root: Path) -> None:
    more = "tests/test_more.py"
    write_workspace(root, {more: "from shop.price import total\n\n\ndef test_two():\n    assert total([1, 1]) == 2\n"})
    found = json.loads(fix(root, TEST, f"{more}::test_two", TEST, "--locate", "--json").stdout)
    assert [one["test"] for one in found["failing"]] == [TEST, f"{more}::test_two"]


def test_after_an_attempt_that_did_not_help_the_model_is_shown_what_each_line_computed(root: Path) -> None:
    wrong = block("shop/price.py", "    return sum(items) + 1\n", "    return sum(items) + 2\n")
    with ChatServer([f"Hypothesis: it adds too little.\n\n{wrong}", f"Hypothesis: total adds one.\n\n{FIX}"]) as chat:
        mended = fix(root, TEST, "--yes", base_url=chat.base_url)
        first, second = (one["messages"][1]["content"] for one in chat.asked[:2])
    assert mended.returncode == 0, mended.stderr
    assert "What each line of the repository's code computed" not in first
    assert "| return sum(items) + 1    # returns 1\n" in second
    assert (root / "shop/price.py").read_text() == FILES["shop/price.py"]


def test_the_values_of_a_test_are_shown_without_a_model_and_secrets_in_them_are_covered(root: Path) -> None:
    (root / "tests/test_price.py").write_text(
        "from shop.price import total\n"
        "def test_key():\n    token = 'ghp_' + 'aB3dE5fG7h' * 3 + 'x1Y2z3'\n    assert total([1]) == 1\n"
    )
    traced = fix(root, "tests/test_price.py::test_key", "--trace")
    assert traced.returncode == 0, traced.stderr
    assert "| return sum(items) + 1    # returns 2\n" in traced.stdout
    assert "token = " in traced.stdout
    assert "ghp_aB3dE5fG7h" not in traced.stdout


def test_a_test_that_passes_is_not_mended_and_the_next_step_is_said(root: Path) -> None:
    (root / "shop/price.py").write_text(FILES["shop/price.py"])
    ended = fix(root, TEST, "--locate")
    assert ended.returncode == 1
    assert f"NotReproduced: {TEST} does not fail here: it passed." in ended.stderr
    assert "--unreproduced" in ended.stderr
    assert "It is not said what fails." in fix(root, "--locate").stderr
