"""How sure a share is, and what can be said of a part that was switched off."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolecall_server.team.ablation.arms import AS_IT_IS, TaskResult
from rolecall_server.team.ablation.measures import interval_of_difference, interval_of_share, measure


@pytest.mark.parametrize(
    ("n_solved", "n_tasks", "low", "high"),
    [(8, 10, 0.490, 0.943), (0, 10, 0.0, 0.278), (10, 10, 0.722, 1.0), (50, 100, 0.404, 0.596), (0, 0, 0.0, 1.0)],
)
def test_the_interval_of_a_share_is_wilsons(n_solved: int, n_tasks: int, low: float, high: float) -> None:
    assert interval_of_share(n_solved, n_tasks) == pytest.approx((low, high), abs=0.001)


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_a_share_lies_in_its_interval_and_more_tasks_narrow_it(counts: tuple[int, int]) -> None:
    n_solved, n_tasks = counts
    low, high = interval_of_share(n_solved, n_tasks)
    narrower = interval_of_share(4 * n_solved, 4 * n_tasks)
    assert 0 <= low <= n_solved / n_tasks <= high <= 1
    assert narrower[1] - narrower[0] < high - low


@given(st.tuples(st.integers(0, 50), st.integers(0, 50), st.integers(0, 50)))
def test_a_difference_turned_round_is_its_opposite(counts: tuple[int, int, int]) -> None:
    n_won, n_lost, n_same = counts
    n_tasks = n_won + n_lost + n_same
    low, high = interval_of_difference(n_won, n_lost, n_tasks)
    assert -1 <= low <= high <= 1
    assert interval_of_difference(n_lost, n_won, n_tasks) == pytest.approx((-high, -low))


def results(arm: str, solved: Sequence[bool], tokens: int) -> list[TaskResult]:
    fixed = {"strategy": "standard", "arm": arm, "model": "m", "calls": 2, "seconds": 3.0, "said": ""}
    rows = ({"task": f"t{n}", "solved": one, "tokens": tokens} for n, one in enumerate(solved))
    return [TaskResult.model_validate(fixed | row) for row in rows]


@pytest.mark.parametrize(
    ("without", "says"),
    [
        ([True] * 20, "too few tasks to tell"),
        ([True] * 17 + [False] * 3, "too few tasks to tell"),
        ([False] * 10 + [True] * 10, "the part helps"),
    ],
)
def test_a_part_helps_where_the_whole_interval_says_so(without: list[bool], says: str) -> None:
    whole, other = measure([*results("without doubt", without, 50), *results(AS_IT_IS, [True] * 20, 100)])
    assert (whole.arm, whole.says, whole.n_solved) == (AS_IT_IS, "", 20)
    assert (other.says, other.token_ratio, other.n_lost) == (says, 0.5, without.count(False))


def test_a_part_without_which_more_is_solved_does_harm() -> None:
    _, other = measure([*results(AS_IT_IS, [False] * 20, 100), *results("without doubt", [True] * 20, 100)])
    assert other.says == "the part does harm"


def test_arms_are_compared_on_the_tasks_that_both_have() -> None:
    some = results("without doubt", [True] * 3, 100)[1:]
    _, other = measure([*results(AS_IT_IS, [True, False], 100), *some])
    assert (other.n_tasks, other.n_won, other.n_lost) == (2, 1, 0)


def test_nothing_is_said_before_anything_was_run() -> None:
    assert measure([]) == ()
