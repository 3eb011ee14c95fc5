"""The evidence of tests that are written without a model."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rolecall_server.sandbox import FileCoverage, NotRun, TestResult, TestRun
from rolecall_server.team.test_quality.beforehand import (
    Gain,
    beyond,
    gain_of,
    not_run_before,
    with_those_before,
)


def run(name: str, executed: set[int], missing: set[int], n_branches: int) -> TestRun:
    reached = FileCoverage("a.py", frozenset(executed), frozenset(missing), 4, n_branches)
    return TestRun("ran", outcomes=(TestResult(f"test_a.py::{name}", "passed"),), coverage={"a.py": reached})


def test_where_the_existing_tests_do_not_run_again_what_they_reached_counts() -> None:
    joined = with_those_before(run("test_old", {1, 2}, {3, 4}, 2), run("test_new", {1, 3}, {2, 4}, 1))
    assert isinstance(joined, TestRun)
    assert [outcome.test_id for outcome in joined.outcomes] == ["test_a.py::test_old", "test_a.py::test_new"]
    reached = joined.coverage["a.py"]
    assert (reached.executed_lines, reached.missing_lines) == ({1, 2, 3}, {4})
    assert reached.branches_covered == 2


def test_a_run_that_did_not_come_to_its_end_stays_as_it_is() -> None:
    stopped = NotRun("There was no time.")
    assert with_those_before(run("test_old", {1}, set(), 0), stopped) is stopped


def test_where_the_branches_are_told_those_that_only_one_of_the_runs_reached_count_once() -> None:
    def reaching(*branches: tuple[int, int]) -> TestRun:
        reached = FileCoverage("a.py", frozenset({1}), frozenset(), 6, len(branches), branches=frozenset(branches))
        return TestRun("ran", coverage={"a.py": reached})

    before = reaching((1, 2), (1, 3))
    joined = with_those_before(before, reaching((1, 3), (4, 5)))
    assert gain_of("a.py", before, joined) == Gain(lines=0, branches=1, all_lines=1, all_branches=6)


def test_a_test_that_ran_again_has_its_last_end_alone() -> None:
    before, again = run("test_old", {1}, {2}, 0), run("test_old", {1, 2}, set(), 0)
    joined = with_those_before(before, again)
    assert isinstance(joined, TestRun)
    assert joined.outcomes == again.outcomes


ONE = TestResult("test_a.py::test_one", "passed")
ALL = TestRun("ran", outcomes=(ONE, TestResult("test_b.py::test_two", "passed")), collected=2)
LATE = TestRun("ran", outcomes=(ONE,), collected=3)
UNREAD = TestRun("ran", outcomes=(*ALL.outcomes, TestResult("test_c.py", "error")), collected=2)
ALONE = replace(ALL, collected=0)


@pytest.mark.parametrize(
    ("before", "beyond_them", "not_run"),
    [
        (ALL, "that no test reaches without them", ""),
        (
            LATE,
            "that the one test run beforehand does not reach",
            "Of the 3 tests of the suite 2 did not run beforehand, for want of time.",
        ),
        (UNREAD, "that none of the 2 tests run beforehand reaches", "pytest could not read test_c.py beforehand."),
        (
            ALONE,
            "that none of the 2 tests run beforehand reaches",
            "The rest of the suite did not run beforehand, and may reach them too.",
        ),
        (None, "", "No test ran to its end beforehand."),
        (NotRun("There is no pytest."), "", "No test ran to its end beforehand: There is no pytest."),
    ],
    ids=["all", "for want of time", "unread", "alone", "none", "not run"],
)
def test_that_no_test_reaches_a_line_is_said_only_where_all_of_the_suite_ran(
    before: TestRun | NotRun | None, beyond_them: str, not_run: str
) -> None:
    assert (beyond(before), not_run_before(before)) == (beyond_them, not_run)
