"""`rolecall review-code` as a person or a program runs it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from support.chat_server import ChatServer
from support.edits import block
from support.patience import PATIENCE_S
from support.workspaces import environment, write_workspace

ROLECALL = (sys.executable, "-I", "-m", "rolecall_server")
FOUND = 4
ROWS = "def find(rows, name):\n    return rows[name]\n\n\ndef count(path):\n    return open(path).read()\n"
SHOP = "from rows import find\n\n\ndef price(rows, name):\n    return find(rows, name).price\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_workspace(tmp_path / "work", {"rows.py": ROWS, "shop.py": SHOP, "empty/notes.txt": "nothing\n"})


def rolecall(root: Path, *arguments: str | Path, base_url: str = "") -> subprocess.CompletedProcess[str]:
    home = environment(root.parent / "home", base_url)
    command = [*ROLECALL, *map(str, arguments)]
    ended = subprocess.run(command, cwd=root, env=home, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert "Traceback" not in ended.stderr, ended.stderr
    return ended


def commit(root: Path) -> None:
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for arguments in (["init", "-q"], ["add", "-A"], [*who, "commit", "-qm", "as it was"]):
        subprocess.run(["git", *arguments], cwd=root, check=True)


def test_a_possible_fault_is_told_with_its_place_its_way_and_what_would_make_it_safe(root: Path) -> None:
    ended = rolecall(root, "review-code", "rows.py", "--no-model")
    assert ended.returncode == FOUND
    assert ended.stdout.splitlines() == [
        "rows.py:6:12: unclosed_resource: `open(path)` is opened for one call, and nothing closes it.",
        "        6  opened",
        "        6  used, and forgotten",
        "    safe if: Every way out of the function closes the resource, or hands it to somebody who does.",
    ]
    assert ended.stderr == (
        "1 possible fault in 1 file, not judged by a model: some may be none. `rolecall tests rows.py --fault 6` has a "
        "test written that shows one.\n"
    )


def test_where_nothing_is_found_the_exit_code_is_0(root: Path) -> None:
    ended = rolecall(root, "review-code", "shop.py", "--json")
    assert ended.returncode == 0
    assert json.loads(ended.stdout) == {"candidates": [], "files": ["shop.py"], "judgedBy": None, "run": None}


def test_a_folder_is_reviewed_with_all_python_in_it(root: Path) -> None:
    told = json.loads(rolecall(root, "review-code", ".", "--json").stdout)
    assert told["files"] == ["rows.py", "shop.py"]
    (found,) = told["candidates"]
    assert (found["id"], found["rule"], found["path"], found["line"], found["column"], found["scope"]) == (
        "c1",
        "unclosed_resource",
        "rows.py",
        6,
        12,
        "count",
    )


def test_of_a_diff_only_what_it_brought_is_told_also_where_it_breaks_a_caller(root: Path) -> None:
    commit(root)
    (root / "rows.py").write_text(f"import sys\n\n\n{ROWS.replace('return rows[name]', 'return rows.get(name)')}")
    assert rolecall(root, "review-code", "--diff", "HEAD").returncode == 0
    maybe = "if name not in rows:\n        return None\n    return rows[name]"
    (root / "rows.py").write_text(f"import sys\n\n\n{ROWS.replace('return rows[name]', maybe)}")
    ended = rolecall(root, "review-code", "--diff", "HEAD", "--json")
    assert ended.returncode == FOUND
    told = json.loads(ended.stdout)
    assert told["files"] == ["rows.py", "shop.py"]
    assert [(one["path"], one["rule"]) for one in told["candidates"]] == [("shop.py", "none_dereferenced")]


def test_a_file_that_git_does_not_know_yet_is_part_of_the_diff(root: Path) -> None:
    commit(root)
    (root / "new.py").write_text("def f(rows=[]):\n    rows.append(1)\n    return rows\n")
    told = json.loads(rolecall(root, "review-code", "--diff", "HEAD", "--json").stdout)
    assert [(one["path"], one["rule"]) for one in told["candidates"]] == [("new.py", "changed_default")]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ([], "It is not said what to review."),
        (["rows.py", "--diff", "HEAD"], "It is not said what to review."),
        (["--diff", "nowhere"], "is in no git repository"),
        (["--diff", "--output=x"], "expected one argument"),
        (["empty"], "empty has no Python"),
        (["gone.py"], "gone.py has no Python"),
    ],
)
def test_what_cannot_be_reviewed_is_refused_with_what_to_do(root: Path, arguments: list[str], why: str) -> None:
    ended = rolecall(root, "review-code", *arguments)
    assert ended.returncode in (1, 2)
    assert why in ended.stderr


def test_a_commit_that_git_does_not_know_is_told_with_what_to_name(root: Path) -> None:
    subprocess.run(["git", "init", "--quiet", str(root)], check=True)
    ended = rolecall(root, "review-code", "--diff", "nowhere")
    assert "git knows no commit nowhere" in ended.stderr
    assert "Name a commit, a branch or a tag" in ended.stderr


CART = "import re\n\n\ndef number(text):\n    found = re.match('[0-9]+', text)\n    return int(found.group())\n"
SHOWN = block(
    "tests/test_cart.py",
    "",
    "from cart import number\n\n\ndef test_a_text_without_a_number_is_zero():\n    assert number('') == 0\n",
)


def test_a_test_that_shows_a_fault_is_written_on_demand_and_fails_until_it_is_mended(root: Path) -> None:
    write_workspace(root, {"cart.py": CART, "conftest.py": ""})
    said = (
        f"Finding: cart.py::number: raises for '', it should give 0. Shown by {'test_a_text_without_a_number_is_zero'}."
    )
    with ChatServer([f"{said}\n\n{SHOWN}"]) as chat:
        ended = rolecall(root, "tests", "cart.py", "--fault", "6", "--json", base_url=chat.base_url)
    assert ended.returncode == 0, ended.stderr
    asked = chat.asked[0]["messages"][-1]["content"]
    assert "A review says of cart.py, line 6: " in asked
    assert "line 5: `re.match('[0-9]+', text)` gives None where nothing matches" in asked
    evidence = json.loads(ended.stdout)["proposal"]["evidence"]
    (defect,) = evidence["defects"]
    assert (defect["path"], defect["symbol"]) == ("cart.py", "number")
    assert "test_a_text_without_a_number_is_zero" in defect["offered"]


def test_of_a_line_without_a_fault_no_test_is_written(root: Path) -> None:
    ended = rolecall(root, "tests", "rows.py", "--fault", "2")
    assert ended.returncode == 1
    assert "A review tells of no fault in rows.py, line 2." in ended.stderr
    assert "`rolecall review-code rows.py --no-model` lists those" in ended.stderr


def judged(root: Path, verdict: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A review of a file with one candidate, judged by a model that says *verdict* and stays with it."""
    with ChatServer([f"c1: {verdict}\nbecause: the file stays open"] * 2) as chat:
        return rolecall(root, "review-code", "rows.py", "--rules-only", *arguments, base_url=chat.base_url)


def test_a_model_says_which_candidates_are_real_and_the_run_is_in_the_log(root: Path) -> None:
    ended = judged(root, "real")
    assert ended.returncode == FOUND
    assert ended.stdout.splitlines()[-1] == "    real: the file stays open"
    assert "1 possible fault in 1 file: 1 real, 0 not real, 0 unsure; judged by scripted-model" in ended.stderr
    assert "Review rows.py" in rolecall(root, "log").stdout


def test_what_a_model_turns_down_is_not_told_but_for_programs(root: Path) -> None:
    ended = judged(root, "not real", "--json")
    assert ended.returncode == 0
    (found,) = json.loads(ended.stdout)["candidates"]
    assert found["verdict"] == {
        "judgement": "not real",
        "reason": "the file stays open",
        "votes": ["not real", "not real"],
    }
    assert judged(root, "not real").stdout == ""


def test_without_a_model_the_review_says_why_nobody_judged_it(root: Path) -> None:
    ended = rolecall(root, "review-code", "rows.py")
    assert ended.returncode == FOUND
    assert "not judged by a model: some may be none. No language model is configured." in ended.stderr


SHORTEN = '''\
def shorten(text, limit=0):
    """Return the first words of *text*, at most *limit* of them; 0 means all."""
    return " ".join(text.split()[:limit])
'''
SHOWS = 'from shorten import shorten\n\n\ndef test_all():\n    assert shorten("a b") == "a b"\n'
NAMED = f"p1, line 3: the docstring says that 0 means all\nbecause: it gives nothing\n```python\n{SHOWS}```\n"


def test_a_promise_that_is_not_kept_is_told_with_the_test_that_shows_it_and_is_shown_or_mended_on_demand(
    root: Path,
) -> None:
    write_workspace(root, {"shorten.py": SHORTEN, "conftest.py": ""})
    with ChatServer([NAMED, "p1: real\nbecause: 0 means all, and the text is lost"]) as chat:
        ended = rolecall(root, "review-code", "shorten.py", base_url=chat.base_url)
    assert ended.returncode == FOUND, ended.stderr
    assert ended.stdout.splitlines() == [
        "shorten.py:3:1: broken_promise: the docstring says that 0 means all",
        "    real: 0 means all, and the text is lost",
        *(f"    | {line}".rstrip() for line in SHOWS.splitlines()),
    ]
    assert "1 possible fault in 1 file: 1 real, 0 not real, 0 unsure; judged by scripted-model" in ended.stderr
    assert "`rolecall tests shorten.py --fault 3`" in ended.stderr
    assert not (root / "tests").exists()
    reply = block("tests/test_shorten.py", "", SHOWS)
    finding = "Finding: shorten.py::shorten: gives nothing for 0. Shown by test_all."
    with ChatServer([f"{finding}\n\n{reply}"]) as chat:
        shown = rolecall(root, "tests", "shorten.py", "--fault", "3", "--json", base_url=chat.base_url)
    assert shown.returncode == 0, shown.stderr
    assert SHOWS in chat.asked[0]["messages"][-1]["content"]


def test_a_promise_that_a_run_shows_to_be_kept_is_not_told(root: Path) -> None:
    write_workspace(root, {"shorten.py": SHORTEN.replace("[:limit]", "[: limit or None]"), "conftest.py": ""})
    with ChatServer([NAMED]) as chat:
        ended = rolecall(root, "review-code", "shorten.py", base_url=chat.base_url)
    assert (ended.returncode, ended.stdout) == (0, "")
    assert "1 refuted by a run" in ended.stderr
