"""Candidates that a run refutes: what a rule holds for constant is put in its place, and a test notices."""

from __future__ import annotations

from collections.abc import Sequence

from rolecall_analysis.faults import ConstantClaim
from rolecall_server.craft.code_review.candidates import ReviewCandidate
from rolecall_server.craft.trial import new_failures
from rolecall_server.sandbox import TestResult, TestRun
from rolecall_server.team.request import Desk, Report, Repository
from rolecall_server.team.run import open_bench
from rolecall_server.team.test_quality.trials import Trials
from rolecall_server.workspace import split_lines

_MOST = 8
"""Candidates; each takes a run of the tests that reach its file."""


async def refuted_by_runs(
    repository: Repository, candidates: Sequence[ReviewCandidate], report: Report
) -> tuple[str, ...]:
    """Return the ids of those *candidates* that the repository's own tests refute; none where no tests may run."""
    claimed = [one for one in candidates if one.fault.claim is not None][:_MOST]
    if not claimed or not repository.settings.tests.run:
        return ()
    refuted: list[str] = []
    async with open_bench(repository, report, for_model=False) as bench:
        desk = Desk(repository.workspace, repository.snapshot, repository.settings, None, bench, report)
        for number, one in enumerate(claimed):
            report(f"running the tests as if {one.fault.path} were as a rule says", number / len(claimed))
            if await _is_refuted(desk, one):
                refuted.append(one.id)
    return tuple(refuted)


async def _is_refuted(desk: Desk, candidate: ReviewCandidate) -> bool:
    """Return whether a test that passes fails once the expression is the constant it is held for, twice."""
    fault = candidate.fault
    text = desk.snapshot.text(fault.path)
    if fault.claim is None or text is None:
        return False
    files: dict[str, str | None] = {fault.path: with_claim(text, fault.claim)}
    trials = Trials(desk, ())
    after = await trials.of_change(files)
    failing = new_failures(trials.before, after)
    return bool(failing) and await _fails_again(desk, files, failing[0])


async def _fails_again(desk: Desk, files: dict[str, str | None], test: TestResult) -> bool:
    """Return whether *test* passes without *files* and fails with them once more: one that wavers refutes nothing."""
    before, after = [await desk.bench.run(texts, [test.test_id], ()) for texts in ({}, files)]
    if not isinstance(before, TestRun) or not isinstance(after, TestRun):
        return False
    passed = {one.test_id for one in before.passed}
    return test.test_id in passed and test.test_id in {one.test_id for one in new_failures(before, after)}


def with_claim(text: str, claim: ConstantClaim) -> str:
    """Return *text* with the constant in place of the expression that is held for it."""
    lines = split_lines(text)
    start, end = claim.span.start, claim.span.end
    first, last = lines[start.line], lines[end.line]
    return "".join(
        [
            *lines[: start.line],
            f"{first[: start.column]}({claim.always}){last[end.column :]}",
            *lines[end.line + 1 :],
        ]
    )
