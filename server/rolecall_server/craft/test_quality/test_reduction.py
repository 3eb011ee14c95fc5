"""The choice of new tests that are worth keeping: those that reach or notice something that no other test does."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from rolecall_server.craft.test_quality.test_text import function_of
from rolecall_server.review.proposals.evidence import MutantTally, TestWorth
from rolecall_server.sandbox import FileCoverage, Mutant, MutationRun

MAX_SURVIVORS_NAMED = 20
Gain = tuple[str, int, int]
"""A line, a step from one line to another, or a mutant, by its number."""


@dataclass(frozen=True)
class Weighed:
    """The worth of tests together, and of each of them."""

    kept: tuple[TestWorth, ...]
    idle: tuple[str, ...]
    """The tests without which as much is reached and noticed, as ``path::name``."""
    mutants: MutantTally
    killed: tuple[Mutant, ...]
    """The mutants that the tests notice."""
    lived: tuple[Mutant, ...]
    """Those that none of them notices, in the order of the file."""


def weigh(run: MutationRun, new: Collection[str], durations_s: Mapping[str, float]) -> Weighed:
    """Weigh what the tests *new*, named ``path::name``, add to the others by *run*, which looked at each test.

    A test is idle if the others make up for all it reaches and notices; where several could go, those that reach and
    notice least go first. One that reaches a line whose mutants were not tried is never idle: nobody knows.

    Source: the greedy reduction of test suites, M. J. Harrold and others, ACM TOSEM 2(3), 1993, with coverage and
    mutants in place of requirements.
    """
    assert run.coverage is not None
    gains = _gains(run, run.coverage)
    unsure = {line for mutant in run.untried for line in (mutant.line, mutant.statement)}
    before = set[Gain]().union(*(found for test, found in gains.items() if test not in new))
    idle = _idle({test: gains.get(test, set()) for test in new}, before, unsure)
    branching = _branching(run.coverage)
    kept = [
        _worth(test, gains[test] - before, branching, durations_s) for test in gains if test in new and test not in idle
    ]
    noticed = [any(_function(killer) not in idle for killer in killers) for killers in run.killers]
    killed = [mutant for mutant, is_noticed in zip(run.killed, noticed, strict=True) if is_noticed]
    lived = [mutant for mutant, is_noticed in zip(run.killed, noticed, strict=True) if not is_noticed]
    lived = sorted([*lived, *run.survived, *run.unreached], key=lambda mutant: mutant.line)
    tally = MutantTally(
        killed=len(killed),
        total=len(killed) + len(lived),
        survivors=named(lived),
        untried=len(run.untried),
        duration_s=run.duration_s,
    )
    return Weighed(tuple(kept), tuple(sorted(idle)), tally, tuple(killed), tuple(lived))


def named(lived: Sequence[Mutant]) -> tuple[str, ...]:
    """Return the first of *lived* in words, as evidence names them."""
    return tuple(map(str, lived[:MAX_SURVIVORS_NAMED]))


def _gains(run: MutationRun, coverage: FileCoverage) -> dict[str, set[Gain]]:
    found: dict[str, set[Gain]] = {}
    for line, tests in coverage.tests_by_line.items():
        for test in tests:
            found.setdefault(_function(test), set()).add(("line", line, line))
    for test, steps in coverage.steps_by_test.items():
        found.setdefault(_function(test), set()).update(("step", *step) for step in steps)
    for number, tests in enumerate(run.killers):
        for test in tests:
            found.setdefault(_function(test), set()).add(("mutant", number, number))
    return found


def _idle(gains: Mapping[str, set[Gain]], before: set[Gain], unsure: Collection[int]) -> set[str]:
    owners: dict[Gain, int] = dict.fromkeys(before, 1)
    for found in gains.values():
        for gain in found:
            owners[gain] = owners.get(gain, 0) + 1
    idle: set[str] = set()
    for test in sorted(gains, key=lambda test: len(gains[test])):
        found = gains[test]
        is_sure = not any(kind == "line" and line in unsure for kind, line, _ in found)
        if is_sure and all(owners[gain] > 1 for gain in found):
            idle.add(test)
            for gain in found:
                owners[gain] -= 1
    return idle


def _branching(coverage: FileCoverage) -> set[tuple[int, int]]:
    """Return the steps that start at lines from which execution went on in more than one way."""
    # A negative start is coverage's sign for the entry of a function: no line, and so no branch.
    steps = {step for taken in coverage.steps_by_test.values() for step in taken if step[0] > 0}
    ways: dict[int, int] = {}
    for start, _ in steps:
        ways[start] = ways.get(start, 0) + 1
    return {step for step in steps if ways[step[0]] > 1}


def _worth(
    test: str, gained: Collection[Gain], branching: Collection[tuple[int, int]], durations_s: Mapping[str, float]
) -> TestWorth:
    return TestWorth(
        test=test,
        lines=sum(kind == "line" for kind, _, _ in gained),
        branches=sum(kind == "step" and (start, end) in branching for kind, start, end in gained),
        mutants=sum(kind == "mutant" for kind, _, _ in gained),
        cases=sum(_function(test_id) == test for test_id in durations_s),
        duration_s=sum(duration for test_id, duration in durations_s.items() if _function(test_id) == test),
    )


def _function(test_id: str) -> str:
    """``path::name`` of a node id."""
    return f"{test_id.partition('::')[0]}::{function_of(test_id)}"
