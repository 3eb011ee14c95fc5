"""One role's work on one request, from the command to a stored proposal."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from rolecall_analysis import Snapshot
from rolecall_server.craft.attempts import Outcome, work_out
from rolecall_server.craft.trial import Bench, evidence
from rolecall_server.errors import RolecallError
from rolecall_server.model import ModelClient
from rolecall_server.review.hunks import file_change, number_hunks
from rolecall_server.review.proposal import FileChange, Proposal
from rolecall_server.review.shelf import save_proposal, supersede_earlier
from rolecall_server.sandbox import NotRun, find_interpreter, shadow_workspace
from rolecall_server.settings import Settings
from rolecall_server.store import Store
from rolecall_server.team.calls import StoredCalls
from rolecall_server.team.request import TITLES, Desk, Report, RoleName, RunRequest
from rolecall_server.team.roles import implement, write_tests
from rolecall_server.workspace import Workspace, file_exists, read_text_file

_WORK = {RoleName.QA_ENGINEER: write_tests, RoleName.ENGINEER: implement}


@dataclass(frozen=True)
class Repository:
    """The repository a run works on, as it was when the command came."""

    workspace: Workspace
    snapshot: Snapshot
    store: Store
    settings: Settings
    environ: Mapping[str, str]


@dataclass(frozen=True)
class Finished:
    """What a run came to."""

    proposal: Proposal
    error: RolecallError | None = None
    """What ended it early; the proposal is the best of what there was."""


async def carry_out(
    run_id: str, request: RunRequest, repository: Repository, client: ModelClient, report: Report
) -> Finished:
    """The stored proposal that *request* leads to; how the run ended is stored in every case.

    Raises:
        RolecallError: nothing came of it; the error says who acts next.
    """
    store = repository.store
    try:
        finished = await _work(run_id, request, repository, client, report)
    except asyncio.CancelledError:
        store.end_run(run_id, "cancelled")
        raise
    except BaseException as error:
        store.end_run(run_id, "failed", str(error))
        raise
    store.end_run(run_id, "failed" if finished.error else "finished", str(finished.error or ""))
    return finished


async def _work(
    run_id: str, request: RunRequest, repository: Repository, client: ModelClient, report: Report
) -> Finished:
    workspace, store = repository.workspace, repository.store
    if request.path:
        read_text_file(workspace, request.path)  # refused before anything is copied or asked
    async with _bench(repository, report) as bench:
        calls = StoredCalls(client, store, run_id)
        desk = Desk(workspace, repository.snapshot, repository.settings, calls, bench, report)
        work, trials = await _WORK[request.role](request, desk)
        outcome = await work_out(work, calls, report)
    shown = evidence(
        trials.before, outcome.attempt.run, problems=_problems(outcome), repairs=outcome.repairs, model=client.label
    )
    proposal = Proposal(
        id=store.reserve_proposal(run_id),
        run_id=run_id,
        role=TITLES[request.role],
        title=_title(request),
        rationale=outcome.rationale,
        origin=request.path,
        files=_changes(workspace, outcome.attempt.files),
        evidence=shown,
    )
    save_proposal(store, proposal)
    if outcome.interrupted is None:
        supersede_earlier(store, workspace.root, proposal)
    return Finished(proposal, outcome.interrupted)


@asynccontextmanager
async def _bench(repository: Repository, report: Report) -> AsyncGenerator[Bench]:
    """Where changes are tried; one that runs nothing, and says why, where the settings or the machine forbid it."""
    tests = repository.settings.tests
    if not tests.run:
        off = NotRun("rolecall.tests.run is off.")
        yield Bench(off, off, tests.timeout_seconds)
        return
    interpreter = find_interpreter(repository.workspace.root, tests.interpreter, repository.environ)
    if isinstance(interpreter, NotRun):
        yield Bench(interpreter, interpreter, tests.timeout_seconds)
        return
    report("copying the workspace", None)
    async with shadow_workspace(repository.workspace) as shadow:
        yield Bench(shadow, interpreter, tests.timeout_seconds)


def _changes(workspace: Workspace, files: Mapping[str, str]) -> tuple[FileChange, ...]:
    """*files* as numbered hunks on the workspace's texts."""
    changes: list[FileChange] = []
    for path, text in files.items():
        base = read_text_file(workspace, path) if file_exists(workspace, path) else None
        changes.append(file_change(path, base, text))
    return number_hunks(changes)


def _problems(outcome: Outcome) -> tuple[str, ...]:
    stopped = (f"The work was cut short: {outcome.interrupted.what}",) if outcome.interrupted else ()
    return (*outcome.attempt.syntax_errors, *outcome.problems, *stopped)


def _title(request: RunRequest) -> str:
    if request.role is RoleName.QA_ENGINEER:
        return f"Tests for {request.symbol or request.path}"
    first_line = request.brief.strip().splitlines()[0]
    return first_line if len(first_line) <= 80 else first_line[:79] + "…"
