"""Trying a change: the tests that concern it, run on a shadow of the workspace, compared with a run without it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from rolecall_analysis import Snapshot, is_test_path, tests_of
from rolecall_server.review.evidence import CoverageChange, Evidence, Failure, Tally
from rolecall_server.sandbox import FileCoverage, Interpreter, NotRun, Shadow, TestOutcome, TestRun, run_tests


@dataclass(frozen=True)
class Bench:
    """Where changes are tried; without a shadow or an interpreter nothing is run, and *reason* says why."""

    shadow: Shadow | NotRun
    interpreter: Interpreter | NotRun
    timeout_s: float

    async def run(self, files: Mapping[str, str], targets: Sequence[str], measure: Sequence[str]) -> TestRun | NotRun:
        """The tests in *targets* (all where empty) with *files* laid over the workspace."""
        if isinstance(self.shadow, NotRun):
            return self.shadow
        if isinstance(self.interpreter, NotRun):
            return self.interpreter
        self.shadow.write({**files})
        return await run_tests(self.shadow, self.interpreter, targets, measure, timeout_s=self.timeout_s)


def affected_tests(snapshot: Snapshot, files: Collection[str]) -> tuple[str, ...]:
    """The test files that a change of *files* concerns: those that import them, and those it changes itself."""
    found = dict.fromkeys(path for path in files if is_test_path(path))
    for path in files:
        found |= dict.fromkeys(tests_of(snapshot, path))
    return tuple(found)


def bad_outcomes(run: TestRun | NotRun | None) -> tuple[TestOutcome, ...]:
    """The tests of *run* that failed or broke."""
    return run.failed if isinstance(run, TestRun) else ()


def new_failures(before: TestRun | NotRun | None, after: TestRun | NotRun | None) -> tuple[TestOutcome, ...]:
    """The tests that fail in *after* and did not in *before*."""
    known = {outcome.test_id for outcome in bad_outcomes(before)}
    return tuple(outcome for outcome in bad_outcomes(after) if outcome.test_id not in known)


def breaks_the_run(before: TestRun | NotRun | None, after: TestRun | NotRun) -> bool:
    """Whether *after* did not come to its end because of the change.

    What happened without the change too, or before any test began, is the environment's doing: nothing that a
    model could mend.
    """
    if isinstance(after, NotRun) or after.status not in ("crashed", "timed out"):
        return False
    return bool(after.outcomes) and not (isinstance(before, TestRun) and before.status == after.status)


def evidence(
    before: TestRun | NotRun | None, after: TestRun | NotRun, *, problems: Sequence[str], repairs: int, model: str
) -> Evidence:
    """What the two runs show, in the words of a review."""
    if isinstance(after, NotRun) or after.status in ("not run", "no tests"):
        reason = str(after) if isinstance(after, NotRun) else after.reason
        return Evidence(ran=False, reason=reason, problems=tuple(problems), repairs=repairs, model=model)
    known = {outcome.test_id for outcome in bad_outcomes(before)}
    return Evidence(
        ran=after.status == "ran",
        reason=after.reason,
        before=_tally(before) if isinstance(before, TestRun) and before.status == "ran" else None,
        after=_tally(after),
        failures=tuple(Failure(bad.test_id, bad.message, bad.test_id in known) for bad in bad_outcomes(after)),
        coverage=_coverage(before, after),
        coverage_reason=after.coverage_reason,
        problems=tuple(problems),
        repairs=repairs,
        confinement=after.confinement,
        model=model,
    )


def _tally(run: TestRun) -> Tally:
    return Tally(len(run.passed), len(run.failed), len(run.skipped))


def _coverage(before: TestRun | NotRun | None, after: TestRun) -> tuple[CoverageChange, ...]:
    earlier: Mapping[str, FileCoverage] = before.coverage if isinstance(before, TestRun) else {}
    return tuple(
        CoverageChange(path, earlier[path].ratio if path in earlier else None, measured.ratio)
        for path, measured in after.coverage.items()
    )
