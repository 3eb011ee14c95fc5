"""Which lines two texts have in common."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rolecall_server.review.proposals.difference import changed_ranges, matching_runs

LINES = st.lists(st.sampled_from(["a", "b", "c", "d", "", "}"]), max_size=20)


@given(LINES, LINES)
def test_replacing_the_ranges_turns_the_old_lines_into_the_new(old: list[str], new: list[str]) -> None:
    lines: list[str] = []
    done = 0
    for start, end, new_start, new_end in changed_ranges(old, new):
        assert start >= done
        assert (start, new_start) != (end, new_end)
        lines += old[done:start] + new[new_start:new_end]
        done = end
    assert lines + old[done:] == new


@given(LINES, LINES)
def test_the_runs_are_in_both_in_order_and_as_long_as_they_can_be(old: list[str], new: list[str]) -> None:
    at_old = at_new = 0
    for start, new_start, size in matching_runs(old, new):
        assert size
        assert start >= at_old
        assert new_start >= at_new
        assert old[start : start + size] == new[new_start : new_start + size]
        assert (start, new_start) != (at_old, at_new) or not at_old
        at_old, at_new = start + size, new_start + size
    assert old[at_old : at_old + 1] != new[at_new : at_new + 1] or at_old == len(old) or at_new == len(new)


@given(LINES)
def test_a_text_differs_from_itself_nowhere(lines: list[str]) -> None:
    assert list(changed_ranges(lines, lines)) == []


def test_a_function_between_others_is_one_range() -> None:
    old = ["def a():", "    x", "", "def c():", "    x", ""]
    assert list(changed_ranges(old, [*old[:3], "def b():", "    x", "", *old[3:]])) == [(3, 3, 3, 6)]
    assert list(changed_ranges(old, [])) == [(0, 6, 0, 0)]
    assert list(changed_ranges([], old)) == [(0, 0, 0, 6)]


def test_lines_that_occur_once_hold_the_rest_together() -> None:
    old = ["{", "first", "}", "{", "second", "}"]
    new = ["{", "zeroth", "}", "{", "first", "}", "{", "second", "}"]
    assert [size for *_, size in matching_runs(old, new)] in ([6], [1, 5], [5, 1], [3, 3])
