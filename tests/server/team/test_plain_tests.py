"""The evidence of tests that are written without a model."""

from __future__ import annotations

from rolecall_server.sandbox import FileCoverage, NotRun, TestResult, TestRun
from rolecall_server.team.roles.characterization import with_those_before


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
