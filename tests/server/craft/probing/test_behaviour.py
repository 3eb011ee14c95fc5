"""Calls grouped by what they do, and the few that show what all show."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rolecall_server.craft.characterization import CandidateCall, Observation, cluster, disagreements
from rolecall_server.craft.characterization.selection import assertable, choose, stable

ARCS = st.frozensets(st.tuples(st.integers(1, 9), st.integers(1, 9)), max_size=8)


def call(argument: object, origin: int = 9) -> CandidateCall:
    return CandidateCall("f", "f({0})", (repr(argument),), ("x",), origin)


def gives(literal: str, *arcs: tuple[int, int]) -> Observation:
    return Observation("value", type(eval(literal)).__name__, (("{}", literal),), arcs=frozenset(arcs))


def test_calls_are_alike_that_go_the_same_way_to_the_same_kind_of_end() -> None:
    seen = {
        call(10): gives("'many'", (1, 2)),
        call(3): gives("'few'", (1, 2)),
        call(0): gives("'none'", (1, 3)),
        call(-1): Observation("raises", "ValueError", arcs=frozenset({(1, 2)})),
    }
    groups = {one.representative: set(one.calls) for one in cluster(seen)}
    assert groups == {call(3): {call(3), call(10)}, call(0): {call(0)}, call(-1): {call(-1)}}


def test_an_example_somebody_wrote_stands_for_those_that_were_made_up() -> None:
    seen = {call(1): gives("1"), call(123456, origin=0): gives("2")}
    assert cluster(seen)[0].representative == call(123456)


def test_implementations_part_where_they_do_not_end_alike() -> None:
    one = {call(1): gives("1"), call(2): gives("4"), call(3): gives("9")}
    other = {call(1): gives("1"), call(2): gives("5"), call(3): Observation("raises", "ValueError")}
    third = {call(1): gives("1"), call(2): gives("4")}
    assert disagreements([one, other]) == {call(2): ((0,), (1,)), call(3): ((0,), (1,))}
    assert disagreements([one, other, third]) == {call(2): ((0, 2), (1,))}
    assert disagreements([]) == {}


@given(st.dictionaries(st.integers(0, 99), ARCS, max_size=12))
def test_the_chosen_go_every_way_and_each_of_them_is_needed(ways: dict[int, frozenset[tuple[int, int]]]) -> None:
    seen = {call(number): gives("1", *arcs) for number, arcs in ways.items()}
    chosen = choose(seen)
    reached = [seen[one].arcs for one in chosen]
    assert frozenset().union(*reached) == frozenset().union(*(one.arcs for one in seen.values()))
    for left_out in range(len(chosen)):
        others = frozenset().union(*(arcs for place, arcs in enumerate(reached) if place != left_out))
        assert len(chosen) == 1 or not reached[left_out] <= others


def test_a_way_that_tests_go_already_needs_no_call() -> None:
    seen = {call(1): gives("1", (1, 2)), call(2): gives("2", (3, 4))}
    assert call(1) not in choose(seen, known={(1, 2)}) or call(2) in choose(seen, known={(1, 2)})
    assert len(choose(seen, known={(1, 2), (3, 4)})) == 1, "one for the kind of outcome"


def test_what_differs_from_run_to_run_is_dropped_and_a_message_that_differs_emptied() -> None:
    first = {call(1): gives("1"), call(2): gives("2"), call(3): Observation("raises", "E", message="at 10:00")}
    second = {call(1): gives("1"), call(2): gives("3"), call(3): Observation("raises", "E", message="at 10:01")}
    assert stable([first, second]) == {call(1): gives("1"), call(3): Observation("raises", "E")}


def test_only_what_can_be_held_to_is_asserted() -> None:
    assert assertable(gives("1"))
    assert assertable(Observation("raises", "ValueError", deliberate=True))
    assert not assertable(Observation("raises", "IndexError"))
    assert not assertable(Observation("value", "object"))
    assert not assertable(Observation("value", "int", (("{}", "1"),), pollutes=True))
    assert not assertable(Observation("value", "int", (("{}", "1"),), by_chance=True))
    assert not assertable(Observation("slow"))
