"""Runs as an editor sees them: an id at once, progress that can be cancelled, a word at the end."""

from __future__ import annotations

import asyncio
import os
import uuid

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from rolecall_server.errors import NotFound, RolecallError
from rolecall_server.lsp.folders import begin_scan, current_snapshot
from rolecall_server.lsp.hunks import reload_proposal, show_hunks
from rolecall_server.lsp.server import RolecallServer
from rolecall_server.lsp.session import Folder, Session
from rolecall_server.model import ModelClient, choose_model
from rolecall_server.review.rendering import headline
from rolecall_server.team.request import Report, RunRequest
from rolecall_server.team.run import Finished, Repository, begin_run, carry_out

RUN_NOTIFICATION = "rolecall/run"
_CREATE_TIMEOUT_S = 5.0


def start_run(ls: RolecallServer, folder: Folder, request: RunRequest) -> str:
    """The id of a run that goes on by itself.

    Raises:
        NoModelConfigured: nobody could answer.
    """
    client = choose_model(ls.session.settings.model, os.environ)
    begin_scan(ls.session, folder)
    run_id = begin_run(ls.session.store, folder.root, request)
    task = asyncio.get_running_loop().create_task(_run(ls, folder, request, run_id, client))
    ls.session.runs[run_id] = task
    task.add_done_callback(lambda _: ls.session.runs.pop(run_id, None))
    return run_id


def cancel_run(session: Session, run_id: str) -> None:
    """Stop a run; it cleans up after itself.

    Raises:
        NotFound: no such run is running.
    """
    task = session.runs.get(run_id)
    if task is None:
        raise NotFound(f"No run {run_id} is running.", "It may have ended already.")
    task.cancel()


async def stop_runs(session: Session) -> None:
    """Cancel all runs and wait until they have cleaned up after themselves."""
    tasks = list(session.runs.values())
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _run(ls: RolecallServer, folder: Folder, request: RunRequest, run_id: str, client: ModelClient) -> None:
    progress = _Progress(ls, run_id, f"Rolecall {request.role.title}")
    _announce(ls, run_id, "started", role=request.role.value)
    try:
        await progress.begin()
        finished = await _work(ls, folder, request, run_id, client, progress.report)
    except asyncio.CancelledError:
        progress.end("cancelled")
        _announce(ls, run_id, "cancelled")
        raise
    except Exception as error:  # noqa: BLE001 - the boundary of a run: whatever it was, it is told once
        progress.end("failed")
        ls.tell_error(error)
        _announce(ls, run_id, "failed", error=error.code if isinstance(error, RolecallError) else type(error).__name__)
    else:
        progress.end("done")
        _show_finished(ls, folder, run_id, finished)
    finally:
        await client.aclose()


async def _work(
    ls: RolecallServer, folder: Folder, request: RunRequest, run_id: str, client: ModelClient, report: Report
) -> Finished:
    report("reading the repository", None)
    snapshot = await current_snapshot(folder)
    workspace = ls.session.workspace(folder)
    repository = Repository(workspace, snapshot, ls.session.store, ls.session.settings, os.environ)
    return await carry_out(run_id, request, repository, client, report)


def _show_finished(ls: RolecallServer, folder: Folder, run_id: str, finished: Finished) -> None:
    proposal = finished.proposal
    reload_proposal(ls, folder, proposal.id)
    show_hunks(ls, folder)
    if finished.error is not None:
        ls.tell_error(finished.error)
    ls.tell(headline(proposal))
    _announce(ls, run_id, "failed" if finished.error else "finished", proposalId=proposal.id)


def _announce(ls: RolecallServer, run_id: str, state: str, **details: object) -> None:
    ls.notify_client(RUN_NOTIFICATION, {"runId": run_id, "state": state, **details})


class _Progress:
    """Work-done progress of one run, where the client shows any."""

    def __init__(self, ls: RolecallServer, run_id: str, title: str) -> None:
        self._ls, self._run_id, self._title = ls, run_id, title
        self._token = f"rolecall-{run_id}-{uuid.uuid4().hex[:8]}"
        self._shown = False

    async def begin(self) -> None:
        if not self._ls.session.client.progress:
            return
        try:
            await asyncio.wait_for(self._ls.work_done_progress.create_async(self._token), _CREATE_TIMEOUT_S)
        except (TimeoutError, JsonRpcException):
            return  # a client that cannot after all: the run goes on without
        self._ls.work_done_progress.tokens[self._token].add_done_callback(self._on_cancel)
        self._ls.work_done_progress.begin(self._token, types.WorkDoneProgressBegin(self._title, cancellable=True))
        self._shown = True

    def report(self, message: str, fraction: float | None) -> None:
        if self._shown:
            percentage = None if fraction is None else round(100 * fraction)
            value = types.WorkDoneProgressReport(message=message, percentage=percentage, cancellable=True)
            self._ls.work_done_progress.report(self._token, value)

    def end(self, message: str) -> None:
        if self._shown:
            self._shown = False
            self._ls.work_done_progress.tokens.pop(self._token, None)
            self._ls.work_done_progress.end(self._token, types.WorkDoneProgressEnd(message=message))

    def _on_cancel(self, future: object) -> None:
        task = self._ls.session.runs.get(self._run_id)
        if task is not None:
            task.cancel()
