"""The main job on a real library, over stdio."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.chat_server import ChatServer
from support.editor import Editor, editing, until, value_of
from support.library import unpack_library
from support.workspaces import contents, environment

MODULE, TESTS = "inflection/__init__.py", "test_inflection.py"
REPLY = """\
I cover numbers that are given as integers, and separators that `parameterize` must quote.

FILE: test_inflection.py
<<<<<<< SEARCH
=======
@pytest.mark.parametrize(("number", "ordinalized"), [(0, "0th"), (-11, "-11th"), (1002, "1002nd")])
def test_ordinalize_takes_integers(number, ordinalized):
    assert ordinalized == inflection.ordinalize(number)


def test_parameterize_quotes_its_separator():
    assert "a.b" == inflection.parameterize("a   b", ".")
>>>>>>> REPLACE
"""
ORDINALS = """\


@pytest.mark.parametrize(("number", "ordinalized"), [(0, "0th"), (-11, "-11th"), (1002, "1002nd")])
def test_ordinalize_takes_integers(number, ordinalized):
    assert ordinalized == inflection.ordinalize(number)
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return unpack_library(tmp_path)


async def propose(editor: Editor) -> None:
    """Have tests written for the module; two hunks are offered then."""
    uri = editor.open(MODULE)
    editor.open(TESTS)
    ended = await editor.run("rolecall.tests.generate", uri=uri)
    assert ended["state"] == "finished", editor.messages
    assert list(editor.hunks(TESTS)) == ["p1/h1", "p1/h2"]


async def test_one_of_two_generated_tests_is_accepted_exactly(root: Path, tmp_path: Path) -> None:
    before = contents(root)
    with ChatServer(REPLY) as chat:
        async with editing(root, environment(tmp_path / "home", chat.base_url)) as editor:
            await propose(editor)
            hunks = editor.hunks(TESTS)
            assert "459 passed, 0 failed (before: 455 passed, 0 failed)" in hunks["p1/h1"].message
            assert "coverage of inflection/__init__.py 98% -> 98%" in hunks["p1/h1"].message
            asked = chat.asked[0]["messages"][1]["content"]
            assert "## inflection/__init__.py (the file to work on)" in asked
            assert re.search(r"do not reach these lines of inflection/__init__\.py:\s.*\b306\b", asked)
            actions = await editor.actions(TESTS, hunks["p1/h1"].range.start.line)
            title = next(title for title in actions if title.startswith("Rolecall: accept h1"))
            await editor.choose(actions[title])
            await until(lambda: list(editor.hunks(TESTS)) == ["p1/h2"])
            assert editor.text(TESTS) == before[TESTS].decode() + ORDINALS
            assert editor.text(MODULE) == before[MODULE].decode()
    assert contents(root) == before, "the editor saves, not the server"


async def test_rejecting_leaves_every_byte(root: Path, tmp_path: Path) -> None:
    before = contents(root)
    with ChatServer(REPLY) as chat:
        async with editing(root, environment(tmp_path / "home", chat.base_url)) as editor:
            await propose(editor)
            await editor.execute("rolecall.proposal.reject", proposalId="p1")
            await until(lambda: not editor.hunks(TESTS))
            assert not editor.edits
            assert editor.text(TESTS) == before[TESTS].decode()
    assert contents(root) == before


async def test_a_change_under_the_proposal_makes_it_stale_and_is_never_overwritten(root: Path, tmp_path: Path) -> None:
    with ChatServer(REPLY) as chat:
        async with editing(root, environment(tmp_path / "home", chat.base_url)) as editor:
            await propose(editor)
            original = editor.text(TESTS)
            typed = original.removesuffix("    assert inflection.tableize(string) == tableized\n") + "    pass\n"
            assert typed != original
            editor.replace_text(TESTS, typed)
            await until(lambda: not editor.hunks(TESTS))
            reply = await editor.execute("rolecall.hunk.accept", proposalId="p1", hunkId="h1")
            assert value_of(reply, "error") is None
            await until(lambda: any("changed since it was proposed" in message for message in editor.messages))
            assert not editor.edits
            assert editor.text(TESTS) == typed
