"""The Engineer on a failure: it happens here first, its cause is looked for rung by rung, and the tests stay as they
are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from rolecall_analysis import is_test
from rolecall_server.craft.attempt import Attempt, AttemptWork, Ladder, Rung, Try
from rolecall_server.craft.repair.kept_tests import why_kept, why_weakened
from rolecall_server.review.guards.edit_paths import why_not_changed
from rolecall_server.sandbox import NotRun, TestResult, TestRun
from rolecall_server.team.repair.reproducing import reproduce, still_failing
from rolecall_server.team.repair.rungs import Climb, first_rung, next_rung
from rolecall_server.team.request import Desk, FailureToMend, RunRequest
from rolecall_server.team.test_quality.trials import Trials
from rolecall_server.workspace import read_for_model

_ON_FAILURE = "They fail since your change. Correct it, and leave the tests as they are."


async def mend(request: RunRequest, desk: Desk) -> tuple[AttemptWork, Trials]:
    """Prepare the work of mending the failure of *request*.

    Raises:
        NotReproduced: it does not happen here.
        UserMustAct: it cannot be made to happen; the error says why.
    """
    assert request.mends is not None
    failure = request.mends
    found = await reproduce(desk, failure)
    if found.text:
        desk.tell(found.text)
    climb = Climb(found, failure)
    work = AttemptWork(
        opening=await first_rung(desk, climb),
        read_text=lambda path: read_for_model(desk.workspace, path),
        refusal=partial(_refusal, desk, failure),
        try_out=found.trials.of_change,
        before=lambda: _without(found.trials.before, found.failing),
        on_failure=_ON_FAILURE,
        chosen=found.text,
        objection=partial(_objection, desk, failure),
        still_failing=partial(still_failing, found.failing),
        looks_up=not found.suspects,
        ladder=_ladder(desk, climb) if found.failing else None,
    )
    return work, found.trials


def _ladder(desk: Desk, climb: Climb) -> Ladder:
    async def go_on(tries: Sequence[Try], best: Attempt) -> Rung:
        return await next_rung(desk, climb, tries, best)

    before = climb.found.trials.before
    assert before is not None
    return Ladder(Attempt({}, before, failures=climb.found.failing), go_on)


def _refusal(desk: Desk, failure: FailureToMend, path: str) -> str | None:
    """Return the reason why *path* may not be changed, or ``None``."""
    kept = None if failure.changes_tests else why_kept(desk.snapshot, path)
    return kept or why_not_changed(desk.workspace, path)


def _objection(desk: Desk, failure: FailureToMend, path: str, text: str) -> str | None:
    """Return the reason why *path* may not become *text*, or ``None``."""
    if failure.changes_tests or not is_test(desk.snapshot, path):
        return None
    return why_weakened(path, read_for_model(desk.workspace, path), text)


def _without(run: TestRun | NotRun | None, failing: Sequence[TestResult]) -> TestRun | NotRun | None:
    """Return *run* without the tests that are to pass, so that nothing says of them that they failed before."""
    if not isinstance(run, TestRun):
        return run
    gone = {one.test_id for one in failing}
    return replace(run, outcomes=tuple(one for one in run.outcomes if one.test_id not in gone))
