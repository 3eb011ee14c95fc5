"""Unified diffs that others wrote: applied whole, or refused with the hunk that does not fit."""

from __future__ import annotations

import difflib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolecall_server.craft.edits.unified_diff import PatchedFiles, apply_diff
from rolecall_server.errors import PatchRefused

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
        ("diff --git a/x.png b/x.png\nBinary files differ\n", "does not name"),
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
