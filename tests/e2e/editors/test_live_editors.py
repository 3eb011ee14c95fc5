"""The main job in editors that people use: a command, hunks, one accepted, one rejected, and the file on disk."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.chat_server import ChatServer, Script
from support.edits import block
from support.live_editor import (
    COMMENT,
    PRICE,
    LiveEditor,
    Program,
    files,
    running,
    setup_of,
    several_files,
    write_commented,
)
from support.workspaces import FILES, GOOD_TESTS, environment

TESTS = "tests/test_price.py"
TAX = block(PRICE, "    return sum(items)\n", "    return sum(items) * 1.2\n")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_commented(tmp_path / "work")


@contextlib.contextmanager
def editing(program: Program, root: Path, script: Script, setup: str | None = None) -> Iterator[LiveEditor]:
    with (
        ChatServer(script) as chat,
        running(program, root, environment(root.parent / "home", chat.base_url), setup) as editor,
    ):
        yield editor


def test_one_hunk_is_accepted_one_rejected_and_the_saved_file_has_exactly_the_accepted_one(
    program: Program, root: Path
) -> None:
    before = files(root)
    with editing(program, root, GOOD_TESTS) as editor:
        editor.open(root / PRICE)
        editor.open(root / TESTS)
        editor.choose(root / PRICE, 3, "Rolecall: generate tests for this file")
        hunks = editor.wait_for_hunks(root / TESTS, "p1/h1", "p1/h2", "p1/h3", "p1/h4")
        assert "4 passed, 0 failed" in hunks["p1/h2"]["message"]
        assert files(root) == before

        editor.choose(root / TESTS, hunks["p1/h2"]["line"], "Rolecall: accept h2")
        editor.wait_for_hunks(root / TESTS, "p1/h1", "p1/h3", "p1/h4")
        editor.choose(root / TESTS, editor.hunks(root / TESTS)["p1/h3"]["line"], "Rolecall: reject h3")
        editor.wait_for_hunks(root / TESTS, "p1/h1", "p1/h4")
        assert files(root) == before, "nothing is saved that the developer did not save"
        editor.ask("save_all")
    accepted = FILES[TESTS] + "\n\ndef test_total_adds():\n    assert total([1, 2]) == 3\n"
    assert files(root) == {**before, TESTS: accepted.encode()}


def ask_for(editor: LiveEditor, path: Path, line: int = 0) -> None:
    """Have the `ROLECALL:` comment on a line implemented."""
    editor.choose(path, line, "Rolecall: implement")


def test_typing_above_a_hunk_moves_it_and_the_acceptance_lands_where_it_belongs(program: Program, root: Path) -> None:
    text = (root / PRICE).read_text()
    with editing(program, root, TAX) as editor:
        editor.open(root / PRICE)
        ask_for(editor, root / PRICE)
        line = editor.wait_for_hunks(root / PRICE, "p1/h1")["p1/h1"]["line"]
        editor.ask("type", str(root / PRICE), '"""Prices."""', "typed = '𝄞 é'\n")
        editor.choose(root / PRICE, line + 1, "Rolecall: accept h1")
        editor.wait_for_hunks(root / PRICE)
        editor.ask("save_all")
    expected = text.replace('"""Prices."""', "typed = '𝄞 é'\n" + '"""Prices."""').replace(
        "sum(items)\n", "sum(items) * 1.2\n"
    )
    assert (root / PRICE).read_bytes() == expected.encode()


def test_a_file_with_a_byte_order_mark_crlf_and_astral_characters_keeps_every_other_byte(
    program: Program, root: Path
) -> None:
    odd = root / "shop" / "odd.py"
    text = "\ufeff" + COMMENT + 'NAME = "𝄞é"\nx = "😀"; y = 1  # 😀\nTAIL = "ünï"\n'
    odd.write_bytes(text.replace("\n", "\r\n").encode())
    changed = block("shop/odd.py", 'x = "😀"; y = 1  # 😀\n', 'x = "😀"; y = "𝄞"  # 😀\nz = "é"\n')
    with editing(program, root, changed) as editor:
        editor.open(odd)
        ask_for(editor, odd)
        line = editor.wait_for_hunks(odd, "p1/h1")["p1/h1"]["line"]
        editor.ask("type", str(odd), "é", "😀")
        editor.choose(odd, line, "Rolecall: accept h1")
        editor.wait_for_hunks(odd)
        editor.ask("save_all")
    expected = text.replace("é", "😀é").replace("y = 1  # 😀\n", 'y = "𝄞"  # 😀\nz = "é"\n')
    assert odd.read_bytes() == expected.replace("\n", "\r\n").encode()


def test_what_was_decided_holds_when_a_file_is_closed_and_opened_again(program: Program, root: Path) -> None:
    odd = root / "shop" / "odd.py"
    between = "".join(f"b{number} = 2\n" for number in range(8))  # so that the changes are two hunks
    text = f"{COMMENT}a = 1\n{between}d = 4\n"
    odd.write_bytes(text.replace("\n", "\r\n").encode())
    proposal = "\n".join([block("shop/odd.py", "a = 1\n", "a = 10\n"), block("shop/odd.py", "d = 4\n", "d = 40\n")])
    with editing(program, root, proposal) as editor:
        editor.open(odd)
        ask_for(editor, odd)
        hunks = editor.wait_for_hunks(odd, "p1/h1", "p1/h2")
        editor.choose(odd, hunks["p1/h1"]["line"], "Rolecall: accept h1")
        editor.wait_for_hunks(odd, "p1/h2")
        editor.ask("save_all")
        editor.ask("close", str(odd))
        editor.open(odd)
        line = editor.wait_for_hunks(odd, "p1/h2")["p1/h2"]["line"]
        editor.choose(odd, line, "Rolecall: accept h2")
        editor.wait_for_hunks(odd)
        editor.ask("save_all")
    expected = text.replace("a = 1\n", "a = 10\n").replace("d = 4\n", "d = 40\n")
    assert odd.read_bytes() == expected.replace("\n", "\r\n").encode()


def test_a_proposal_of_several_files_is_accepted_whole_and_nothing_else_is_shown(program: Program, root: Path) -> None:
    proposal, expected = several_files(root)
    before = files(root)
    with editing(program, root, proposal) as editor:
        editor.open(root / PRICE)
        ask_for(editor, root / PRICE)
        editor.until(lambda: "p1/h1" in editor.hunks(root / PRICE))
        hunks = editor.hunks(root / PRICE)
        editor.choose(root / PRICE, hunks["p1/h1"]["line"], "Rolecall: accept all of p1")
        if program.asks_about_unopened:
            assert "shop/cart.py" in editor.answer("y")
        editor.wait_for_hunks(root / PRICE)
        assert editor.ask("shown") == str(root / PRICE)
        assert files(root) == before
        editor.ask("save_all")
    assert files(root) == expected


def test_undo_in_the_editor_takes_an_acceptance_back_and_the_hunk_is_offered_again(
    program: Program, root: Path
) -> None:
    text = (root / PRICE).read_text()
    with editing(program, root, TAX) as editor:
        editor.open(root / PRICE)
        ask_for(editor, root / PRICE)
        line = editor.wait_for_hunks(root / PRICE, "p1/h1")["p1/h1"]["line"]
        for _ in range(2):
            editor.choose(root / PRICE, line, "Rolecall: accept h1")
            editor.wait_for_hunks(root / PRICE)
            assert "sum(items) * 1.2" in editor.text(root / PRICE)
            editor.ask("undo", str(root / PRICE))
            assert editor.text(root / PRICE).rstrip("\n") == text.rstrip("\n")
            editor.wait_for_hunks(root / PRICE, "p1/h1")


def test_hunks_wait_for_the_next_session_and_rejecting_them_leaves_every_byte(program: Program, root: Path) -> None:
    before = files(root)
    with editing(program, root, GOOD_TESTS) as editor:
        editor.open(root / PRICE)
        editor.choose(root / PRICE, 3, "Rolecall: generate tests for this file")
        editor.open(root / TESTS)
        editor.wait_for_hunks(root / TESTS, "p1/h1", "p1/h2", "p1/h3", "p1/h4")
    with editing(program, root, []) as editor:
        editor.open(root / TESTS)
        hunks = editor.wait_for_hunks(root / TESTS, "p1/h1", "p1/h2", "p1/h3", "p1/h4")
        editor.choose(root / TESTS, hunks["p1/h2"]["line"], "Rolecall: reject all of p1 in tests/test_price.py")
        editor.wait_for_hunks(root / TESTS)
        editor.ask("save_all")
    assert files(root) == before


def test_an_editor_that_asks_first_is_waited_for_and_a_no_decides_nothing(root: Path, emacs: Program) -> None:
    asking = setup_of(emacs.section).replace("(setq eglot-confirm-server-initiated-edits nil)", "")
    with editing(emacs, root, TAX, asking) as editor:
        editor.open(root / PRICE)
        ask_for(editor, root / PRICE)
        line = editor.wait_for_hunks(root / PRICE, "p1/h1")["p1/h1"]["line"]
        editor.choose(root / PRICE, line, "Rolecall: accept h1")
        assert PRICE in editor.answer("n")
        editor.until(lambda: "did not apply the change" in editor.ask("messages"))
        assert "p1/h1" in editor.hunks(root / PRICE)
        editor.choose(root / PRICE, line, "Rolecall: accept h1")
        editor.answer("y")
        editor.wait_for_hunks(root / PRICE)
        assert "sum(items) * 1.2" in editor.text(root / PRICE)


def test_decisions_are_taken_back_by_a_command_and_a_diff_is_shown(program: Program, root: Path) -> None:
    text = (root / PRICE).read_text()
    with editing(program, root, TAX) as editor:
        editor.open(root / PRICE)
        ask_for(editor, root / PRICE)
        line = editor.wait_for_hunks(root / PRICE, "p1/h1")["p1/h1"]["line"]
        for decision in ("accept", "reject"):
            editor.choose(root / PRICE, line, f"Rolecall: {decision} h1")
            editor.wait_for_hunks(root / PRICE)
            assert ("1.2" in editor.text(root / PRICE)) == (decision == "accept")
            editor.ask("command", "decision.undo")
            editor.wait_for_hunks(root / PRICE, "p1/h1")
            assert editor.text(root / PRICE).rstrip("\n") == text.rstrip("\n")
        editor.choose(root / PRICE, line, "Rolecall: show p1 as a diff")
        if program.opens_documents:
            editor.until(lambda: editor.ask("shown").endswith("p1.diff"))
        else:
            editor.until(lambda: "p1.diff" in editor.ask("messages"))
            editor.until(
                lambda: editor.ask("shown") == str(root / PRICE)
            )  # a prompt goes when it is answered, not at once


def test_a_guarded_file_is_asked_about_by_name_before_it_changes(program: Program, root: Path) -> None:
    proposal = block(PRICE, "    return sum(items)\n", "    return sum(items) * 1.2\n")
    proposal += "\n" + block("conftest.py", "", "collect_ignore = []\n")
    with editing(program, root, proposal) as editor:
        editor.open(root / PRICE)
        ask_for(editor, root / PRICE)
        hunks = editor.wait_for_hunks(root / PRICE, "p1/h1", "p1/h2")
        editor.ask("reply_next", "Leave it")
        editor.choose(root / PRICE, hunks["p1/h2"]["line"], "Rolecall: accept h2")
        editor.until(lambda: "conftest.py" in editor.ask("question"))
        editor.ask("reply_next", "Change it")
        editor.choose(root / PRICE, hunks["p1/h1"]["line"], "Rolecall: accept h1")
        editor.wait_for_hunks(root / PRICE, "p1/h2")
        assert not editor.ask("question"), "the other file is not guarded"
        editor.choose(root / PRICE, hunks["p1/h2"]["line"], "Rolecall: accept h2")
        editor.until(lambda: "conftest.py" in editor.ask("question"))
        if program.asks_about_unopened:
            editor.answer("y")
        editor.wait_for_hunks(root / PRICE)
        editor.ask("save_all")
    assert (root / "conftest.py").read_bytes() == b"collect_ignore = []\n"
