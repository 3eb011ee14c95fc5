"""The tests that run before new ones are written, and how far the new ones go beyond them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rolecall_analysis import is_test
from rolecall_server.sandbox import FileCoverage, Mutant, MutationRun, NotRun, TestRun, run_mutants
from rolecall_server.team.request import Desk
from rolecall_server.team.test_quality.trials import Trials

SUITE_S = 20.0
"""After so long no test of the rest of the suite begins, where it runs for what it reaches."""
_LONGEST_S = 40.0
"""So long that run may take, its last test included; else those that use the file run alone."""
_NOTICING_S = 10.0
"""So long may it take to see which faults the tests notice."""
_MOST_FAULTS = 700
_ENOUGH_FAULTS = 3
"""Of fewer that are noticed nobody can tell how much the tests show."""
_MAX_NAMED = 3


async def run_beforehand(desk: Desk, path: str, tests: Sequence[str], *, whole: bool) -> Trials:
    """Run the test files *tests*, and of the *whole* suite what there is time for, to see what they reach of *path*."""
    bench = desk.bench
    rest_s, why = min(SUITE_S, bench.suite_s), ""
    if whole and rest_s > 0 and any(is_test(desk.snapshot, one) for one in desk.snapshot.files):
        bounded = replace(bench, suite_s=rest_s, timeout_s=min(_LONGEST_S, bench.timeout_s))
        trials = Trials(replace(desk, bench=bounded), (path,))
        await trials.without_change(tests, whole=True)
        if isinstance(trials.before, TestRun) and trials.before.status == "ran":
            return replace(trials, desk=desk)
        why = _reason(trials.before)
    trials = Trials(desk, (path,))
    await trials.without_change(tests)
    if trials.before is None and why:
        trials.before = NotRun(why)
    return trials


async def noticed_before(
    desk: Desk, path: str, tests: Sequence[str], before: TestRun | NotRun | None
) -> frozenset[Mutant]:
    """Return the faults put into *path* that the tests run *before* notice; where these took long, those of the files
    *tests*. None where they notice too few to go by.
    """
    shadow, interpreter = desk.bench.shadow, desk.bench.interpreter
    if isinstance(shadow, NotRun) or isinstance(interpreter, NotRun) or not isinstance(before, TestRun):
        return frozenset()
    if path not in before.coverage or not before.coverage[path].executed_lines:
        return frozenset()
    passing = dict.fromkeys(outcome.test_id.partition("::")[0] for outcome in before.passed)
    files = list(passing) if before.duration_s <= _NOTICING_S else [one for one in tests if one in passing]
    if not files:
        return frozenset()
    desk.report("trying which faults the tests there are notice", None)
    lines = before.coverage[path].executed_lines
    run = await run_mutants(shadow, interpreter, path, lines, files, timeout_s=_NOTICING_S, at_most=_MOST_FAULTS)
    killed = frozenset[Mutant](run.killed) if isinstance(run, MutationRun) else frozenset[Mutant]()
    return killed if len(killed) >= _ENOUGH_FAULTS else frozenset()


def with_those_before(before: TestRun | NotRun | None, run: TestRun | NotRun) -> TestRun | NotRun:
    """Return *run*, in which not all tests of *before* ran once more, with their outcomes and all that both reach."""
    if not isinstance(before, TestRun) or not isinstance(run, TestRun) or run.status != "ran":
        return run
    again = {outcome.test_id for outcome in run.outcomes}
    others = [outcome for outcome in before.outcomes if outcome.test_id not in again]
    coverage = {path: _union(before.coverage.get(path), now) for path, now in run.coverage.items()}
    return replace(run, outcomes=(*others, *run.outcomes), coverage=coverage)


def _union(then: FileCoverage | None, now: FileCoverage) -> FileCoverage:
    if then is None:
        return now
    branches = now.branches | then.branches
    return replace(
        now,
        executed_lines=now.executed_lines | then.executed_lines,
        missing_lines=now.missing_lines & then.missing_lines,
        branches=branches,
        # Where it is not told which ones they are: at least so many.
        branches_covered=max(now.branches_covered, then.branches_covered, len(branches)),
    )


@dataclass(frozen=True)
class Gain:
    """The lines and branches of a file that new tests reach, and that those run before did not."""

    lines: int
    branches: int
    all_lines: int
    all_branches: int


def gain_of(path: str, before: TestRun | NotRun | None, after: TestRun | NotRun) -> Gain | None:
    """Return what *after*, with new tests, reaches of *path* and *before* did not; ``None`` where it is not known."""
    if not isinstance(after, TestRun) or path not in after.coverage:
        return None
    now = after.coverage[path]
    then = before.coverage.get(path) if isinstance(before, TestRun) else None
    return Gain(
        len(now.executed_lines - then.executed_lines) if then else len(now.executed_lines),
        now.branches_covered - then.branches_covered if then else now.branches_covered,
        len(now.executed_lines) + len(now.missing_lines),
        now.branches_total,
    )


def beyond(before: TestRun | NotRun | None) -> str:
    """Return in words whom it goes beyond: ``that no test reaches without them``; empty where no test ran."""
    if not isinstance(before, TestRun) or not before.has_run_any:
        return ""
    if not any(_gaps(before)):
        return "that no test reaches without them"
    n = _number_run(before)
    return (
        "that the one test run beforehand does not reach"
        if n == 1
        else f"that none of the {n:,} tests run beforehand reaches"
    )


def not_run_before(before: TestRun | NotRun | None) -> str:
    """Return which tests did not run beforehand and why, in whole sentences; empty where all of the suite did."""
    if not isinstance(before, TestRun) or not before.has_run_any:
        why = _reason(before)
        return f"No test ran to its end beforehand{f': {why}' if why else ''}."
    return " ".join(_gaps(before))


def _reason(before: TestRun | NotRun | None) -> str:
    return "" if before is None else before.reason.rstrip(".")


def _number_run(before: TestRun) -> int:
    return sum("::" in outcome.test_id for outcome in before.outcomes)


def _gaps(before: TestRun) -> Iterator[str]:
    """Yield a sentence for each part of the suite of which *before* does not tell."""
    if before.status != "ran":
        yield f"The tests did not come to their end beforehand: {_reason(before)}."
    late = before.collected - _number_run(before)
    if late > 0:
        yield f"Of the {before.collected:,} tests of the suite {late:,} did not run beforehand, for want of time."
    if not before.collected:
        yield "The rest of the suite did not run beforehand, and may reach them too."
    unread = [outcome.test_id for outcome in before.failed if "::" not in outcome.test_id]
    if unread:
        more = f" and {len(unread) - _MAX_NAMED} more" if len(unread) > _MAX_NAMED else ""
        yield f"pytest could not read {', '.join(unread[:_MAX_NAMED])}{more} beforehand."
    yield from (f"{path} did not run beforehand: {why}." for path, why in before.uncollected.items())
    yield from (f"{str(gap).rstrip('.')}." for gap in before.without)
