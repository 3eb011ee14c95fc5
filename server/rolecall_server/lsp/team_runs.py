"""Runs of the whole team as an editor sees them: begun, paused, taken up again; questions; what was published."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from rolecall_server.errors import NotFound, RolecallError, UserMustAct
from rolecall_server.lsp.asking import choose
from rolecall_server.lsp.editor_model import editor_offer
from rolecall_server.lsp.folders import begin_scan
from rolecall_server.lsp.hunks import reload_proposal, show_hunks
from rolecall_server.lsp.progress import Progress
from rolecall_server.lsp.runs import announce_run, repository_of
from rolecall_server.lsp.server import RolecallServer
from rolecall_server.lsp.session import Folder, Session
from rolecall_server.model import ModelClient, find_model
from rolecall_server.review.rendering import headline
from rolecall_server.review.shelf import load_proposal
from rolecall_server.store.messages import MessageRow
from rolecall_server.team.control import Control
from rolecall_server.team.declared import Role, confirm_roles, known_roles, roles_to_confirm
from rolecall_server.team.documents import Kind, Question
from rolecall_server.team.documents.understanding import understand
from rolecall_server.team.known import known_model
from rolecall_server.team.operation import Developer, Ended, carry_out_run
from rolecall_server.team.planning import Brief, Plan, begin_run
from rolecall_server.team.pool import TEAM, as_draft, load_pool, publish
from rolecall_server.team.telling import describe_message, describe_pool, messages_json

MESSAGES_REQUEST = "rolecall/messages"
MESSAGE_NOTIFICATION = "rolecall/message"


async def start_team_run(ls: RolecallServer, folder: Folder, brief: Brief, plan: Plan) -> str:
    """The id of a run of the team that goes on by itself.

    Raises:
        NoModelConfigured: nobody could answer.
    """
    client = await _model(ls)
    begin_scan(ls.session, folder)
    run_id = begin_run(ls.session.store, folder.root, brief, plan)
    _go_on(ls, folder, run_id, client, with_understanding=not plan.is_lean)
    return run_id


async def resume_team_run(ls: RolecallServer, folder: Folder, run_id: str) -> None:
    """Have a run go on that does not.

    Raises:
        UserMustAct: it is being worked on.
        NoModelConfigured: nobody could answer.
    """
    if run_id in ls.session.runs or ls.session.store.run(run_id).state == "running":
        raise UserMustAct(f"{run_id} is being worked on.", "Pause or cancel it first.")
    client = await _model(ls)
    begin_scan(ls.session, folder)
    ls.session.store.resume_run(run_id)
    _go_on(ls, folder, run_id, client, with_understanding=False)


def pause_team_run(session: Session, run_id: str) -> None:
    """Have a run begin nothing more; what is being done is finished.

    Raises:
        NotFound: no such run of the team is running.
    """
    control = session.controls.get(run_id)
    if control is None:
        raise NotFound(f"No run {run_id} of the team is running.", "It may have ended already.")
    control.pause()


def heed_edit(ls: RolecallServer, run_id: str) -> None:
    """Have those who read a document work again, now that the developer has edited it."""
    if (control := ls.session.controls.get(run_id)) is not None:
        control.look_again()
    elif load_pool(ls.session.store, run_id).latest("plan") is not None:
        ls.tell(f"saved. The command rolecall.run.resume has those who read it work again ({run_id}).")


async def roles_for(ls: RolecallServer, folder: Folder) -> dict[str, Role]:
    """The roles there are; those of the repository once the developer has confirmed them."""
    workspace, store = ls.session.workspace(folder), ls.session.store
    found = roles_to_confirm(workspace, store)
    if found is not None:
        files = ", ".join(found.files)
        question = f"This repository brings roles of its own ({files}). What they say is told to your model. Use them?"
        if await choose(ls, question, ["Use them", "Do not"]) == "Use them":
            confirm_roles(workspace, store, found)
    return known_roles(workspace, store)


def describe_run(session: Session, run_id: str) -> dict[str, Any]:
    """A run and its messages, for `rolecall/messages`.

    Raises:
        NotFound: there is none of that id in the opened folders.
    """
    folder_of_run(session, run_id)
    row, pool = session.store.run(run_id), load_pool(session.store, run_id)
    return {"runId": run_id, "state": row.state, "error": row.error, "messages": messages_json(pool)}


def render_run(session: Session, run_id: str) -> str:
    """The same as a page to read.

    Raises:
        NotFound: there is none of that id in the opened folders.
    """
    folder_of_run(session, run_id)
    row, pool = session.store.run(run_id), load_pool(session.store, run_id)
    head = [f"{run_id}: {row.state}", *([row.error] if row.error else []), "", row.brief.strip(), ""]
    return "\n".join([*head, *describe_pool(pool), ""])


def folder_of_run(session: Session, run_id: str) -> Folder:
    """The open folder that a run is for.

    Raises:
        NotFound: none is.
    """
    for folder in session.folders.values():
        if any(run.id == run_id for run in session.store.runs(folder.root)):
            return folder
    raise NotFound(f"There is no run {run_id} in the opened folders.", "Open its folder, or look at the log.")


async def _model(ls: RolecallServer) -> ModelClient:
    session = ls.session
    offer = editor_offer(ls)
    return known_model(
        await find_model(session.settings.model, os.environ, offer=offer, store=session.store), session.store
    )


def _go_on(ls: RolecallServer, folder: Folder, run_id: str, client: ModelClient, *, with_understanding: bool) -> None:
    session = ls.session
    control = session.controls[run_id] = Control()
    work = _work(ls, folder, run_id, client, control, with_understanding=with_understanding)
    task = session.runs[run_id] = asyncio.get_running_loop().create_task(work)

    def forget(_: object) -> None:
        session.runs.pop(run_id, None)
        session.controls.pop(run_id, None)

    task.add_done_callback(forget)


async def _work(
    ls: RolecallServer, folder: Folder, run_id: str, client: ModelClient, control: Control, *, with_understanding: bool
) -> None:
    progress = Progress(ls, "Rolecall team", run_id)
    store = ls.session.store
    announce_run(ls, run_id, "started", role=TEAM)
    try:
        await progress.begin()
        progress.report("reading the repository", None)
        repository = await repository_of(ls, folder)
        if with_understanding:
            understood = await asyncio.to_thread(understand, repository.snapshot, repository.workspace)
            publish(store, run_id, TEAM, as_draft(Kind.UNDERSTANDING, understood))
        developer = Developer(progress.report, partial(_ask, ls), partial(_tell, ls, run_id), control)
        ended = await carry_out_run(run_id, repository, client, developer)
    except asyncio.CancelledError:
        store.end_run(run_id, "cancelled")
        progress.end("cancelled")
        announce_run(ls, run_id, "cancelled")
        raise
    except Exception as error:  # noqa: BLE001 - the boundary of a run: whatever it was, it is told once
        store.end_run(run_id, "failed", str(error))
        progress.end("failed")
        ls.tell_error(error)
        announce_run(ls, run_id, "failed", error=error.code if isinstance(error, RolecallError) else "Exception")
    else:
        progress.end(ended.state)
        _show_end(ls, folder, run_id, ended)
    finally:
        await client.aclose()


def _show_end(ls: RolecallServer, folder: Folder, run_id: str, ended: Ended) -> None:
    if ended.proposal_id:
        for proposal_id in {*folder.proposals, ended.proposal_id}:
            reload_proposal(ls, folder, proposal_id)
        show_hunks(ls, folder)
        ls.tell(headline(load_proposal(ls.session.store, ended.proposal_id).proposal))
    for error in ended.errors:
        ls.tell_error(error)
    if ended.state == "waiting":
        ls.tell(f"{run_id} waits for your decisions; rolecall.run.resume then goes on with the next sprint.")
    told = {"proposalId": ended.proposal_id} if ended.proposal_id else {}
    failed = {"error": ended.error.code} if ended.error is not None else {}
    announce_run(ls, run_id, ended.state, **told, **failed)


async def _ask(ls: RolecallServer, questions: Sequence[Question]) -> Mapping[str, str]:
    """The developer's answers; a question that nobody answers in time stays as it is recommended."""
    given: dict[str, str] = {}
    for question in questions:
        options = [question.recommended, *(one for one in question.options if one != question.recommended)]
        text = f"{question.title} (recommended: {question.recommended})"
        try:
            async with asyncio.timeout(ls.session.settings.team.question_seconds):
                said = await choose(ls, text, options)
        except TimeoutError:
            said = ""
        if not said:
            ls.tell(
                f"nobody answered, so what was recommended holds: {question.recommended}. What you save in the "
                "documents of the run is heeded."
            )
            break
        given[question.id] = said
    return given


def _tell(ls: RolecallServer, run_id: str, message: MessageRow) -> None:
    ls.notify_client(
        MESSAGE_NOTIFICATION,
        {"runId": run_id, "message": message.code, "kind": message.kind, "text": describe_message(message)},
    )
