"""Unified diffs that others wrote: applied whole, or refused with the hunk that does not fit."""

from __future__ import annotations

import difflib
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rolecall_server import text_work
from rolecall_server.craft.edits.unified_diff import PatchedFiles, apply_diff
from rolecall_server.errors import PatchRefused, TextTooHard

FILES = {"a.py": "one\ntwo\nthree\nfour\n", "b.py": "x = 1\n\n\ndef f():\n    return x\n"}


def applied(diff: str) -> PatchedFiles:
    return apply_diff(diff, FILES.get)


def test_a_hunk_goes_where_its_old_lines_stand_whatever_line_it_names() -> None:
    assert applied("--- a/a.py\n+++ b/a.py\n@@ -40,9 +40,9 @@\n two\n-three\n+3\n").files == {
        "a.py": "one\ntwo\n3\nfour\n"
    }


def test_where_the_old_lines_stand_twice_the_line_decides_and_without_it_nothing_does() -> None:
    twice = {"a.py": "x\ny\nx\ny\n"}
    diff = "--- a/a.py\n+++ b/a.py\n@@ -{},1 +{},1 @@\n-x\n+z\n"
    assert apply_diff(diff.format(3, 3), twice.get).files == {"a.py": "x\ny\nz\ny\n"}
    with pytest.raises(PatchRefused, match="stand there 2 times"):
        apply_diff(diff.format(9, 9), twice.get)


def test_files_are_made_deleted_and_renamed() -> None:
    made = applied("--- /dev/null\n+++ b/new.py\n@@ -0,0 +1,2 @@\n+a\n+b\n")
    assert made.files == {"new.py": "a\nb\n"}
    gone = applied("--- a/a.py\n+++ /dev/null\n@@ -1,4 +0,0 @@\n-one\n-two\n-three\n-four\n")
    assert gone.files == {"a.py": None}
    moved = applied(
        "diff --git a/a.py b/c.py\nsimilarity index 90%\nrename from a.py\nrename to c.py\n"
        "--- a/a.py\n+++ b/c.py\n@@ -1,2 +1,2 @@\n-one\n+1\n two\n"
    )
    assert moved.files == {"c.py": "1\ntwo\nthree\nfour\n", "a.py": None}
    assert moved.renames == {"a.py": "c.py"}


def test_a_file_that_ends_without_a_line_end_may_get_one_and_lose_it() -> None:
    diff = "--- a/a.py\n+++ b/a.py\n@@ -4,1 +4,1 @@\n-four\n+4\n\\ No newline at end of file\n"
    assert applied(diff).files == {"a.py": "one\ntwo\nthree\n4"}
    back = "--- a/a.py\n+++ b/a.py\n@@ -1,1 +1,1 @@\n-one\n\\ No newline at end of file\n+1\n"
    assert apply_diff(back, {"a.py": "one"}.get).files == {"a.py": "1\n"}


def test_empty_lines_of_context_may_have_lost_their_space() -> None:
    diff = "--- a/b.py\n+++ b/b.py\n@@ -1,5 +1,5 @@\n x = 1\n\n\n def f():\n-    return x\n+    return x + 1\n\n"
    assert applied(diff).files == {"b.py": "x = 1\n\n\ndef f():\n    return x + 1\n"}


@pytest.mark.parametrize(
    ("diff", "says"),
    [
        ("--- a/no.py\n+++ b/no.py\n@@ -1 +1 @@\n-a\n+b\n", "no.py, which does not exist"),
        ("@@ -1 +1 @@\n-a\n+b\n", "below no file name"),
        ("--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-five\n+5\n", "hunk 1 of a.py stand nowhere"),
        ("--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-five\n+three\n", "Hunk 1 of a.py is in the file already"),
        ("diff --git a/x.png b/x.png\nindex 1..2 100644\nBinary files a/x.png and b/x.png differ\n", "x.png .* binary"),
        ("diff --git a/a.py b/a.py\nold mode 100644\nnew mode 100755\n", "no line of a.py"),
    ],
)
def test_what_does_not_fit_is_refused_as_a_whole(diff: str, says: str) -> None:
    with pytest.raises(PatchRefused, match=says):
        applied(diff)


LINES = st.lists(st.sampled_from(["a", "b", "c", "", "  d", "- e", "+ f", "@@", "-- g"]), max_size=12)


@given(LINES, LINES, st.integers(0, 3))
def test_a_diff_that_a_tool_made_gives_the_text_it_was_made_for(old: list[str], new: list[str], context: int) -> None:
    before, after = ("".join(f"{line}\n" for line in lines) for lines in (old, new))
    made = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), "a/t.txt", "b/t.txt", n=context
    )
    diff = "".join(made)
    if diff:
        assert apply_diff(diff, {"t.txt": before}.get).files == {"t.txt": after}


NAMES = st.sampled_from(["a.py", "a/b.py", "b/ü n.py", "é.txt", 'q"t.txt', "t\tb.txt", "back\\slash", "  x  y", "-- a"])
TREES = st.dictionaries(NAMES, st.lists(st.sampled_from(["x", "y", "", "-z", "+z"]), max_size=4).map("\n".join))


@given(TREES, TREES)
@settings(max_examples=25)
def test_what_git_writes_of_two_trees_gives_the_second(before: dict[str, str], after: dict[str, str]) -> None:
    with TemporaryDirectory() as folder:
        for tree, texts in (("old", before), ("new", after)):
            (Path(folder) / tree).mkdir()
            for name, text in texts.items():
                path = Path(folder, tree, name)
                path.parent.mkdir(exist_ok=True)
                path.write_text(text)
            git(folder, "--work-tree", tree, "add", "--all") if tree == "new" else start(folder)
        diff = git(folder, "--work-tree", "new", "diff", "--cached", "--find-renames")
    if before != after:
        changed = apply_diff(diff, before.get)
        assert {name: text for name, text in {**before, **changed.files}.items() if text is not None} == after
        assert all(changed.files[old] is None and new in after for old, new in changed.renames.items())


def start(folder: str) -> None:
    """Make a repository in which the tree ``old`` is committed."""
    git(folder, "init", "--quiet")
    git(folder, "--work-tree", "old", "add", "--all")
    git(folder, "--work-tree", "old", "commit", "--quiet", "--allow-empty", "--message", "old")


def git(folder: str, *arguments: str) -> str:
    who = ("-c", "user.name=x", "-c", "user.email=x@x", "-c", "core.autocrlf=false")
    command = ["git", *who, "--git-dir", ".git", *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


async def test_a_diff_of_hunks_by_the_thousand_for_a_long_file_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_work, "MOST_SECONDS", 0.5)
    diff = "--- a/a.py\n+++ b/a.py\n" + "@@ -0,0 +1 @@\n+x\n" * 3_000
    with pytest.raises(TextTooHard):
        await text_work.beside_the_loop("Reading the diff", apply_diff, diff, {"a.py": "é = 1\n" * 40_000}.get)
