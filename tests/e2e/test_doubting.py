"""A brief that is open, at a terminal and in an editor: the input and the answers, and what comes of the one chosen."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from support.chat_server import ChatServer
from support.editor import editing
from support.edits import block
from support.patience import PATIENCE_S
from support.terminal import in_terminal
from support.workspaces import environment, write_workspace

ROLECALL = (sys.executable, "-I", "-m", "rolecall_server")
PATH = "shop/names.py"
SLUG = 'def slug(text: str) -> str:\n    return text.lower().replace(" ", "-")\n'
TEST = 'from shop.names import slug\n\n\ndef test_slug():\n    assert slug("Red wine") == "red-wine"\n'
FILES = {
    "pyproject.toml": '[project]\nname = "shop"\nversion = "1"\n',
    "shop/__init__.py": "",
    PATH: SLUG,
    "tests/test_names.py": TEST,
}
BRIEF = "Let slug take limit: the result is no longer than so many characters."
ASKED = "The brief leaves open what `slug('Red wine', limit=5)` shall do. Which do you want?"


def limited(body: str) -> str:
    return block(PATH, SLUG, f"def slug(text: str, limit: int = 80) -> str:\n{body}")


CUT = limited('    return text.lower().replace(" ", "-")[:limit]\n')
WHOLE = limited(
    '    name = text.lower().replace(" ", "-")\n'
    '    return name if len(name) <= limit else name[: limit + 1].rpartition("-")[0]\n'
)
HELD = "held"
"""While this file is there, a solution does not come to its end."""
HANGS = limited(f'    import os\n    while os.path.exists("{HELD}"):\n        pass\n    return text[:limit]\n')
SOLUTIONS = (
    f'## Solution 1: words are cut\nCall: slug("Red wine", limit=5)\n\n{CUT}\n\n'
    f'## Solution 2: only whole words\nCall: slug("Red wine", limit=5)\n\n{WHOLE}'
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_workspace(tmp_path / "work", FILES)


def test_at_a_terminal_the_answers_stand_side_by_side_and_the_one_chosen_is_told_to_the_engineer(root: Path) -> None:
    command = [*ROLECALL, "implement", BRIEF, "--in", PATH, "--set", "team.doubt=true", "--yes"]
    with ChatServer([SOLUTIONS, WHOLE]) as chat:
        environ = environment(root.parent / "home", chat.base_url)
        with in_terminal(command, root, environ, columns=200) as terminal:
            terminal.wait_for(ASKED)
            terminal.wait_for("1. `'red-w'` (words are cut)  (recommended)")
            terminal.wait_for("2. `'red'` (only whole words)")
            terminal.wait_for("or Enter: ")
            terminal.type("2\n")
            assert terminal.wait_for_end() == 0, terminal.shown
        told = chat.asked[1]["messages"][-1]["content"]
    assert "- `slug('Red wine', limit=5)`: `'red'`" in told
    assert "rpartition" in (root / PATH).read_text()
    shown = subprocess.run([*ROLECALL, "log", "r1"], cwd=root, env=environ, capture_output=True, text=True, check=True)
    assert f"engineer: doubt v1, because of m2; read by engineer: {ASKED} `'red'`" in shown.stdout


def test_where_nobody_can_be_asked_the_likeliest_holds_and_a_line_says_so(root: Path) -> None:
    command = [*ROLECALL, "implement", BRIEF, "--in", PATH, "--set", "team.doubt=true", "--yes"]
    with ChatServer([SOLUTIONS, CUT]) as chat:
        environ = environment(root.parent / "home", chat.base_url)
        ended = subprocess.run(
            command, cwd=root, env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
    assert ended.returncode == 0, ended.stderr
    assert "Nobody answered, so the likeliest holds: `'red-w'` (words are cut)" in " ".join(ended.stderr.split())


def test_ctrl_c_ends_it_while_solutions_are_tried_and_what_was_said_is_not_paid_again(root: Path) -> None:
    hanging = f"## Solution 1: a\n{HANGS}\n\n## Solution 2: b\n\n{HANGS}"
    (root / HELD).touch()
    command = [*ROLECALL, "implement", BRIEF, "--in", PATH, "--set", "team.doubt=true", "--yes"]
    with ChatServer([hanging]) as chat:
        environ = environment(root.parent / "home", chat.base_url)
        with in_terminal(command, root, environ, columns=200) as terminal:
            terminal.wait_for("trying solution 1 of 2")
            terminal.type("\x03")
            assert terminal.wait_for_end() == 130, terminal.shown
    (root / HELD).unlink()
    with ChatServer([CUT]) as chat:
        environ = environment(root.parent / "home", chat.base_url)
        ended = subprocess.run(
            [*ROLECALL, "resume", "r1", "--yes", "--set", "team.doubt=true"],
            cwd=root,
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_S,
        )
        assert (ended.returncode, len(chat.asked)) == (0, 1), ended.stderr
    assert "2 solutions of the brief do the same wherever they were tried." in " ".join(ended.stderr.split())


async def test_in_an_editor_the_answers_are_offered_the_likeliest_first(root: Path) -> None:
    with ChatServer([SOLUTIONS, WHOLE]) as chat:
        environ = environment(root.parent / "home", chat.base_url)
        async with editing(root, environ, {"team": {"doubt": True}}) as editor:
            editor.answer_to_question = lambda question: "`'red'` (only whole words)"
            ended = await editor.run("rolecall.brief.implement", uri=editor.open(PATH), brief=BRIEF)
            assert ended["state"] == "finished"
            (question,) = editor.questions
            assert f"{ASKED} (recommended: `'red-w'` (words are cut))" in question
        assert "- `slug('Red wine', limit=5)`: `'red'`" in chat.asked[1]["messages"][-1]["content"]
