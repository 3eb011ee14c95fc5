"""Runs as an editor sees them: an id at once, progress that can be cancelled, a word at the end."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from functools import partial

from lsprotocol import types

from rolecall_server.errors import NoModelConfigured, NotFound, RolecallError
from rolecall_server.lsp.asking import choose
from rolecall_server.lsp.editor_model import editor_offer
from rolecall_server.lsp.folders import begin_scan, current_snapshot
from rolecall_server.lsp.hunks import reload_proposal, show_hunks
from rolecall_server.lsp.progress import Progress
from rolecall_server.lsp.server import RolecallServer
from rolecall_server.lsp.session import Folder, Session
from rolecall_server.model import ModelClient
from rolecall_server.review.rendering import headline
from rolecall_server.sandbox.trust import Unconfirmed
from rolecall_server.team.request import TITLES, RunRequest
from rolecall_server.team.run import Finished, Repository, carry_out, whom_to_ask

RUN_NOTIFICATION = "rolecall/run"


async def start_run(ls: RolecallServer, folder: Folder, request: RunRequest) -> str:
    """The id of a run that goes on by itself.

    Raises:
        NoModelConfigured: nobody could answer.
    """
    client = await whom_to_ask(request, ls.session.settings, os.environ, offer=editor_offer(ls), store=ls.session.store)
    begin_scan(ls.session, folder)
    run_id = ls.session.store.add_run(folder.root, request.role, request.path, request.brief)
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


async def _run(
    ls: RolecallServer, folder: Folder, request: RunRequest, run_id: str, client: ModelClient | NoModelConfigured
) -> None:
    progress = Progress(ls, f"Rolecall {TITLES[request.role]}", run_id)
    announce_run(ls, run_id, "started", role=request.role.value)
    try:
        await progress.begin()
        progress.report("reading the repository", None)
        repository = await repository_of(ls, folder)
        finished = await carry_out(run_id, request, repository, client, progress.report)
    except asyncio.CancelledError:
        ls.session.store.end_run(run_id, "cancelled")  # it may not have come as far as `carry_out`, which says it too
        progress.end("cancelled")
        announce_run(ls, run_id, "cancelled")
        raise
    except Exception as error:  # noqa: BLE001 - the boundary of a run: whatever it was, it is told once
        ls.session.store.end_run(run_id, "failed", str(error))
        progress.end("failed")
        ls.tell_error(error)
        announce_run(
            ls, run_id, "failed", error=error.code if isinstance(error, RolecallError) else type(error).__name__
        )
    else:
        progress.end("done")
        _show_finished(ls, folder, run_id, finished)
    finally:
        if not isinstance(client, NoModelConfigured):
            await client.aclose()


async def repository_of(ls: RolecallServer, folder: Folder) -> Repository:
    """The folder as it is now, unsaved text included, once it has been read for the first time."""
    snapshot = await current_snapshot(ls.session, folder)
    session = ls.session
    ask_for_more, ask_trust = partial(_ask_for_more, ls), partial(_ask_trust, ls)
    workspace = session.workspace(folder)
    return Repository(workspace, snapshot, session.store, session.settings, os.environ, ask_for_more, ask_trust)


async def _ask_for_more(ls: RolecallServer, what: str) -> bool:
    return (
        await choose(ls, f"{what} Go on, with as much again?", ["Go on", "Stop"], types.MessageType.Warning) == "Go on"
    )


async def _ask_trust(ls: RolecallServer, unconfirmed: Unconfirmed) -> bool:
    """Return whether the developer, or the editor for them, says that a Python of the workspace may be used.

    Who does not answer in the time that a question waits is asked again by the next run; who says no is not, in this
    session.
    """
    session, fingerprint = ls.session, unconfirmed.fingerprint
    if session.client.trusted or fingerprint in session.distrusted:
        return session.client.trusted
    answer = ""
    with suppress(TimeoutError):
        async with asyncio.timeout(session.settings.team.question_seconds):
            answer = await choose(ls, unconfirmed.question, ["Use it", "Do not use it"], types.MessageType.Warning)
    if answer == "Do not use it":
        session.distrusted.add(fingerprint)
    return answer == "Use it"


def _show_finished(ls: RolecallServer, folder: Folder, run_id: str, finished: Finished) -> None:
    proposal = finished.proposal
    for proposal_id in {*folder.proposals, proposal.id}:
        reload_proposal(ls, folder, proposal_id)  # the new one took the place of earlier ones for the same thing
    show_hunks(ls, folder)
    if finished.error is not None:
        ls.tell_error(finished.error)
    ls.tell(headline(proposal))
    announce_run(ls, run_id, "failed" if finished.error else "finished", proposalId=proposal.id)


def announce_run(ls: RolecallServer, run_id: str, state: str, **details: object) -> None:
    """Tell the client that a run began or ended."""
    ls.notify_client(RUN_NOTIFICATION, {"runId": run_id, "state": state, **details})
