"""Which tests are worth keeping, by what each reaches and notices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hypothesis import given
from hypothesis import strategies as st

from rolecall_server.craft.test_quality.test_reduction import weigh
from rolecall_server.sandbox import FileCoverage, Mutant, MutationRun

NO_LINES: frozenset[int] = frozenset()


def mutant(line: int) -> Mutant:
    return Mutant(line, "comparison", 0, 1, "<=", "<", line, at_import=False)


def run(
    reached: Mapping[str, set[int]],
    noticed: Mapping[int, set[str]],
    *,
    survived: Iterable[int] = (),
    untried: Iterable[int] = (),
) -> MutationRun:
    """A run in which tests of ``t.py`` reach lines and notice the mutants on lines."""
    by_line = {
        line: frozenset(f"t.py::{test}" for test in reached if line in reached[test])
        for line in sorted(set[int]().union(*reached.values()))
    }
    steps = {f"t.py::{test}": frozenset((line, line + 1) for line in lines) for test, lines in reached.items()}
    return MutationRun(
        killed=tuple(map(mutant, noticed)),
        survived=tuple(map(mutant, sorted(survived))),
        unreached=(),
        untried=tuple(map(mutant, sorted(untried))),
        duration_s=1.0,
        killers=tuple(frozenset(f"t.py::{test}" for test in tests) for tests in noticed.values()),
        coverage=FileCoverage("a.py", NO_LINES, NO_LINES, 0, 0, by_line, steps),
    )


def idle(found: MutationRun, *new: str) -> set[str]:
    return {test.removeprefix("t.py::") for test in weigh(found, {f"t.py::{test}" for test in new}, {}).idle}


def test_a_test_that_alone_reaches_a_line_stays() -> None:
    assert idle(run({"old": {1}, "new": {1, 2}}, {}), "new") == set()


def test_a_test_that_alone_notices_a_fault_stays() -> None:
    assert idle(run({"old": {1}, "new": {1}}, {1: {"new"}}), "new") == set()


def test_a_test_that_does_what_the_earlier_ones_do_goes() -> None:
    assert idle(run({"old": {1}, "new": {1}}, {1: {"old", "new"}}), "new") == {"new"}


def test_of_two_that_do_the_same_one_stays() -> None:
    assert len(idle(run({"a": {1}, "b": {1}}, {1: {"a", "b"}}), "a", "b")) == 1


def test_the_smaller_ones_go_where_a_larger_one_makes_up_for_them() -> None:
    assert idle(run({"a": {1}, "both": {1, 2}, "b": {2}}, {}), "a", "both", "b") == {"a", "b"}


def test_the_cases_of_a_test_count_together() -> None:
    assert idle(run({"old": {1}, "new[1]": {1}, "new[2]": {2}}, {}), "new") == set()


def test_where_faults_were_not_tried_nobody_knows() -> None:
    assert idle(run({"old": {1}, "new": {1}}, {}, untried={1}), "new") == set()


def test_what_each_adds_is_counted_against_the_earlier_tests() -> None:
    found = run({"old": {1}, "a[1]": {1, 2}, "a[2]": {3}}, {1: {"old", "a[1]"}, 3: {"a[2]"}})
    weighed = weigh(found, {"t.py::a"}, {"t.py::a[1]": 0.5, "t.py::a[2]": 0.25, "t.py::old": 9.0})
    (worth,) = weighed.kept
    assert (worth.test, worth.lines, worth.mutants, worth.cases, worth.duration_s) == ("t.py::a", 2, 1, 2, 0.75)


def test_survivors_are_named_in_the_order_of_the_file() -> None:
    told = weigh(run({"a": {1}}, {5: {"a"}}, survived={9, 2}, untried={7}), {"t.py::a"}, {}).mutants
    assert (told.killed, told.total, told.untried) == (1, 3, 1)
    assert told.survivors == ("line 2: '<' became '<='", "line 9: '<' became '<='")


@given(
    st.dictionaries(st.sampled_from("abcdef"), st.sets(st.integers(1, 5)), min_size=1),
    st.dictionaries(st.integers(1, 9), st.sets(st.sampled_from("abcdef")), max_size=5),
    st.sets(st.sampled_from("abcdef")),
)
def test_what_is_left_reaches_and_notices_all_and_no_test_of_it_could_go(
    reached: dict[str, set[int]], noticed: dict[int, set[str]], new: set[str]
) -> None:
    known = {line: tests & reached.keys() for line, tests in noticed.items()}
    known = {line: tests for line, tests in known.items() if tests}
    found = run(reached, known)
    gone = idle(found, *new)
    assert gone <= new

    def does(tests: set[str]) -> tuple[set[int], set[int]]:
        lines = set[int]().union(*(reached[test] for test in tests))
        return lines, {line for line, killers in known.items() if killers & tests}

    left = reached.keys() - gone
    assert does(set(left)) == does(set(reached))
    assert all(does(set(left) - {test}) != does(set(left)) for test in left & new)
