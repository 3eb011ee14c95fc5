"""Both sides of a file of a proposal, and what becomes of the hunks when somebody edits the right one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolecall_server.errors import FileRefused
from rolecall_server.review.proposals.evidence import Evidence
from rolecall_server.review.proposals.hunks import file_change, number_hunks
from rolecall_server.review.proposals.proposal import FileChange, Hunk, HunkKind, HunkState, Proposal
from rolecall_server.review.proposals.proposal_store import Reviewed
from rolecall_server.review.sides import Sides, sides_of, texts_from
from rolecall_server.workspace import BOM, TextFile, sha256, split_lines

FILLER = "".join(f"line {n}\n" for n in range(10))
BEFORE = f"first\n{FILLER}second\n{FILLER}third\n"
AFTER = f"FIRST\n{FILLER}second\nnew\n{FILLER}"
"""h1 changes a line, h2 adds one, h3 removes one."""


def change_of(before: str | None, after: str) -> FileChange:
    (change,) = number_hunks([file_change("a.txt", TextFile("a.txt", before) if before is not None else None, after)])
    return change


def reviewed(change: FileChange, **states: HunkState) -> Reviewed:
    proposal = Proposal("p1", "r1", "Engineer", "a change", "", "", (change,), Evidence(ran=False))
    return Reviewed(proposal, {hunk.id: states.get(hunk.id, HunkState.PENDING) for hunk in change.hunks})


def sides(before: str | None, after: str, now: str | None = None, **states: HunkState) -> Sides:
    change = change_of(before, after)
    return sides_of(reviewed(change, **states), change, before if now is None else now)


def shown(found: Sides) -> dict[str, tuple[str, str]]:
    """What stands in the lines of each hunk on the left and on the right."""
    left, right = split_lines(found.left or ""), split_lines(found.right or "")
    return {h.hunk_id: ("".join(left[slice(*h.left)]), "".join(right[slice(*h.right)])) for h in found.hunks}


def test_the_left_side_is_the_text_as_it_stands_and_the_right_one_has_all_hunks_on_offer() -> None:
    found = sides(BEFORE, AFTER)
    assert (found.left, found.right) == (BEFORE, AFTER)
    assert shown(found) == {"h1": ("first\n", "FIRST\n"), "h2": ("", "new\n"), "h3": ("third\n", "")}


def test_a_decided_hunk_is_no_difference_any_more() -> None:
    now = BEFORE.replace("first", "FIRST")
    found = sides(BEFORE, AFTER, now, h1=HunkState.ACCEPTED, h3=HunkState.REJECTED)
    assert found.left == now
    assert found.right == now.replace("second\n", "second\nnew\n")
    assert shown(found) == {"h2": ("", "new\n")}


def test_what_somebody_typed_is_on_both_sides_and_a_hunk_that_lost_its_place_on_none() -> None:
    now = "typed\n" + BEFORE.replace("third", "somebody's")
    change = change_of(BEFORE, AFTER)
    found = sides_of(reviewed(change, h3=HunkState.STALE), change, now)
    assert found.right == "typed\n" + AFTER + "somebody's\n"
    assert shown(found) == {"h1": ("first\n", "FIRST\n"), "h2": ("", "new\n")}


def test_a_new_file_has_nothing_on_the_left_and_one_that_goes_nothing_on_the_right() -> None:
    new = sides(None, "one\n\n\ndef two():\n    pass\n")
    assert (new.left, new.right) == (None, "one\n\n\ndef two():\n    pass\n")
    whole = Hunk("h1", 0, 1, (), kind=HunkKind.DELETE)
    change = FileChange("a.txt", "one\n", sha256("one\n"), (whole,))
    gone = sides_of(reviewed(change), change, "one\n")
    assert (gone.left, gone.right, gone.hunks[0].left) == ("one\n", None, (0, 1))


def test_a_renamed_file_is_shown_under_both_names_and_only_its_lines_can_be_edited() -> None:
    text = Hunk("h2", 0, 1, ("ONE\n",))
    change = FileChange("a.txt", "one\n", sha256("one\n"), (Hunk("h1", 0, 0, (), kind=HunkKind.RENAME), text), "b.txt")
    found = sides_of(reviewed(change), change, "one\n")
    assert (found.left_path, found.right_path, found.right) == ("a.txt", "b.txt", "ONE\n")
    assert texts_from(found, "Two\n") == {"h2": "Two\n"}
    only_renamed = sides_of(reviewed(change, h2=HunkState.REJECTED), change, "one\n")
    with pytest.raises(FileRefused):
        texts_from(only_renamed, "two\none\n")


def test_the_byte_order_mark_is_part_of_no_side() -> None:
    change = change_of("one\n", "two\n")
    found = sides_of(reviewed(change), change, f"{BOM}one\n")
    assert (found.left, found.right) == ("one\n", "two\n")


def test_an_edit_of_the_right_side_is_an_edit_of_the_hunk_that_it_is_in() -> None:
    found = sides(BEFORE, AFTER)
    assert texts_from(found, AFTER) == {}
    assert texts_from(found, AFTER.replace("new\n", "newer\nand more\n")) == {"h2": "newer\nand more\n"}
    both = AFTER.replace("FIRST", "First").replace("new\n", "")
    assert texts_from(found, both) == {"h1": "First\n", "h2": ""}
    assert texts_from(found, AFTER + "instead\n") == {"h3": "instead\n"}


def test_lines_that_are_added_at_the_edge_of_a_hunk_belong_to_it() -> None:
    found = sides("a\n\nb\n", "a\n\nnew\n\nb\n")
    longer = "a\n\nnew\n\nmore\n\nb\n"
    assert "".join(texts_from(found, longer).values()).replace("\n", "") == "newmore"


def test_a_change_of_lines_of_no_hunk_is_refused_with_the_line_and_nothing_is_taken_of_it() -> None:
    found = sides(BEFORE, AFTER)
    with pytest.raises(FileRefused, match=r"Line 3 of a\.txt .* belongs to no hunk.*in the file itself"):
        texts_from(found, AFTER.replace("FIRST", "First").replace("line 1\n", "line one\n", 1))


def test_what_an_editor_does_to_white_space_on_saving_is_no_change_of_lines_of_no_hunk() -> None:
    before = "keep  \nold\nend"
    found = sides(before, "keep  \nnew\nend")
    assert texts_from(found, "keep\nnew\nend\n") == {}
    assert texts_from(found, "keep\r\nnewer\r\nend\r\n") == {next(iter(shown(found))): "newer\r\n"}


LINES = st.lists(st.sampled_from(["a\n", "b\n", "\n", "def f():\n", "    pass\n", "x = 1\n"]), max_size=14).map("".join)


@given(LINES, LINES, st.data())
def test_any_texts_of_the_hunks_are_read_off_the_right_side_that_they_make(
    before: str, after: str, data: st.DataObject
) -> None:
    change = file_change("a.py", TextFile("a.py", before), after)
    if not change.hunks:
        return
    (change,) = number_hunks([change])
    found = sides_of(reviewed(change), change, before)
    assert found.right == after
    right, written, done = split_lines(after), "", 0
    for hunk in found.hunks:
        written += "".join(right[done : hunk.right[0]]) + data.draw(LINES)
        done = hunk.right[1]
    written += "".join(right[done:])
    try:
        texts = texts_from(found, written)
    except FileRefused:
        return  # it may read as a change of the lines between two hunks
    made, done = "", 0
    for hunk in found.hunks:
        made += "".join(right[done : hunk.right[0]]) + texts.get(hunk.hunk_id, "".join(right[slice(*hunk.right)]))
        done = hunk.right[1]
    assert made + "".join(right[done:]) == written
