"""Solutions are clustered by what they do; the calls that tell the clusters apart are few and simple."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial

from rolecall_server.craft.characterization import CandidateCall, Observation, Stage, Subject
from rolecall_server.craft.doubt.disagreement import Behaviour, Outcomes, Trial, behaviours_of, compare
from support.patience import PATIENCE_S

StageOf = Callable[..., Awaitable[Stage]]
REFUSED = Observation("raises", "ValueError", deliberate=True, inside=True)
CRASHED = Observation("raises", "TypeError", inside=True)


def call(argument: object) -> CandidateCall:
    return CandidateCall("f", "f({0})", (repr(argument),), ("x",), 2)


def gives(literal: str) -> Observation:
    return Observation("value", "str", (("{}", literal),))


def clusters(*outcomes: Mapping[int, Observation]) -> tuple[Behaviour, ...]:
    return behaviours_of([{call(argument): seen for argument, seen in each.items()} for each in outcomes])


def test_solutions_that_do_the_same_are_one_behaviour_without_a_call() -> None:
    assert clusters({1: gives("'a'")}, {1: gives("'a'")}) == (Behaviour((0, 1), {}),)


def test_the_behaviour_of_most_solutions_comes_first_and_else_the_one_given_first() -> None:
    first, second = clusters({1: gives("'a'")}, {1: gives("'b'")}, {1: gives("'b'")})
    assert (first.solutions, second.solutions) == ((1, 2), (0,))
    assert [each.solutions for each in clusters({1: gives("'a'")}, {1: gives("'b'")})] == [(0,), (1,)]


def test_one_call_is_told_where_it_tells_all_behaviours_apart() -> None:
    both = {1: gives("'a'"), 2: gives("'a'")}
    found = clusters(both, {1: gives("'b'"), 2: gives("'a'")}, {1: gives("'c'"), 2: gives("'b'")})
    assert [each.told for each in found] == [{call(1): gives(f"'{letter}'")} for letter in "abc"]


def test_more_calls_are_told_where_no_single_one_does() -> None:
    found = clusters(
        {1: gives("'a'"), 2: gives("'a'")}, {1: gives("'b'"), 2: gives("'a'")}, {1: gives("'a'"), 2: gives("'b'")}
    )
    assert len(found) == 3
    assert all({*each.told} == {call(1), call(2)} for each in found)


def test_a_value_on_all_sides_is_told_rather_than_an_error_on_one() -> None:
    found = clusters({1: gives("'a'"), 22222: gives("'a'")}, {1: REFUSED, 22222: gives("'b'")})
    assert [*found[0].told] == [call(22222)]


def test_an_error_raised_on_purpose_is_a_behaviour_and_one_by_wrong_use_is_none() -> None:
    assert len(clusters({1: gives("'a'")}, {1: REFUSED})) == 2
    assert len(clusters({1: gives("'a'")}, {1: CRASHED})) == 1


def test_what_cannot_be_shown_or_depends_on_chance_parts_nobody() -> None:
    assert len(clusters({1: gives("'a'")}, {1: Observation("value", "Thing")})) == 1
    by_chance = Observation("value", "int", (("{}", "4"),), by_chance=True)
    assert len(clusters({1: gives("'a'")}, {1: by_chance})) == 1
    assert len(clusters({1: gives("'a'")}, {1: Observation("slow")})) == 1


def test_a_call_that_one_solution_was_not_asked_parts_nobody() -> None:
    assert len(clusters({1: gives("'a'"), 2: gives("'a'")}, {1: gives("'a'")})) == 1


SLUG = '''
def slug(text: str, limit: int) -> str:
    """A short name.

    >>> slug("Ab cd", 4)
    """
    name = text.lower().replace(" ", "-")
    return {}
'''
CUT = SLUG.format("name[:limit]")
WHOLE = SLUG.format('name if len(name) <= limit else name[:limit].rpartition("-")[0]')
ALSO_CUT = SLUG.format('"".join(name[place] for place in range(len(name)))[0:limit]')


async def compared(stage_of: StageOf, *texts: str) -> tuple[Behaviour, ...]:
    stage = await stage_of("")
    trials = [
        Trial(partial(stage.shadow.write, {"thing.py": text}), stage, Subject(text, ("slug",), budget_s=PATIENCE_S))
        for text in texts
    ]
    found = await compare(trials, lambda text, fraction: None)
    assert isinstance(found, tuple), found
    return found


async def test_solutions_are_run_behind_the_walls_and_part_on_an_input(stage_of: StageOf) -> None:
    cut, whole = await compared(stage_of, CUT, WHOLE, ALSO_CUT)
    assert (cut.solutions, whole.solutions) == ((0, 2), (1,))
    (shown,) = cut.told
    assert shown.target == "slug"
    assert cut.told[shown].outcome != whole.told[shown].outcome


async def test_solutions_that_are_written_otherwise_and_do_the_same_part_nowhere(stage_of: StageOf) -> None:
    assert await compared(stage_of, CUT, ALSO_CUT) == (Behaviour((0, 1), {}),)


def test_outcomes_are_compared_call_by_call() -> None:
    outcomes: list[Outcomes] = [{call(1): gives("'a'")}, {}]
    assert len(behaviours_of(outcomes)) == 1
