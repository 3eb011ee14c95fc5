"""Runs as an editor sees them: begun, paused, taken up again; progress, questions, a word at the end."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from lsprotocol import types

from rolecall_server.errors import NoModelConfigured, NotFound, RolecallError, UserMustAct
from rolecall_server.lsp.asking import ask_role_question, choose
from rolecall_server.lsp.folders import begin_scan, current_snapshot
from rolecall_server.lsp.proposals.faults import mark_verdicts
from rolecall_server.lsp.proposals.hunks import reload_proposal, show_hunks
from rolecall_server.lsp.runs.editor_model import editor_offer
from rolecall_server.lsp.runs.progress import Progress
from rolecall_server.lsp.server import RolecallServer
from rolecall_server.lsp.session import Folder, Session
from rolecall_server.model import Chosen
from rolecall_server.review.proposals.proposal_store import load_proposal
from rolecall_server.review.proposals.rendering import headline
from rolecall_server.sandbox.python.trust import Unconfirmed
from rolecall_server.store import RunRow
from rolecall_server.store.messages import MessageRow, messages_of
from rolecall_server.team.code_review.verdicts import judged_in
from rolecall_server.team.control import Control
from rolecall_server.team.documents import Question
from rolecall_server.team.engine.scheduler import Ended, carry_out_run
from rolecall_server.team.messages.board import TEAM, load_pool
from rolecall_server.team.messages.rendering import describe_message, describe_pool, messages_json
from rolecall_server.team.plan.planning import Plan, begin_run, request_of
from rolecall_server.team.plan.steps import Step
from rolecall_server.team.request import Repository, RoleName, RunRequest, title_of
from rolecall_server.team.roles.declarations import Role, confirm_roles, known_roles, roles_to_confirm
from rolecall_server.team.room import Developer
from rolecall_server.team.run import find_model_for

RUN_NOTIFICATION = "rolecall/run"
MESSAGE_NOTIFICATION = "rolecall/message"


async def start_run(ls: RolecallServer, folder: Folder, request: RunRequest, plan: Plan | None = None) -> str:
    """Start a run and return its id; it goes on by itself. Without a *plan*, one role does what *request* asks for.

    Raises:
        NoModelConfigured: nobody could answer.
    """
    # First: a run that nobody could answer is not stored.
    model = await _model(ls, request if plan is None else None)
    return _go_on(ls, folder, begin_run(ls.session.store, folder.root, request, plan), model)


async def resume_run(ls: RolecallServer, folder: Folder, run_id: str) -> None:
    """Have a run go on that does not.

    Raises:
        UserMustAct: it is being worked on.
        DocumentUnusable: an earlier Rolecall began it, and stored too little of it.
        NoModelConfigured: nobody could answer.
    """
    check_stopped(ls.session, run_id)
    model = await _model(ls, request_of(load_pool(ls.session.store, run_id)))
    try:
        ls.session.store.resume_run(run_id)
    except UserMustAct:
        await _close(model)
        raise
    _go_on(ls, folder, run_id, model)


def check_stopped(session: Session, run_id: str) -> None:
    """Pass where nobody works on a run.

    Raises:
        UserMustAct: somebody does.
    """
    if run_id in session.runs or session.store.run(run_id).state == "running":
        raise UserMustAct(f"{run_id} is being worked on.", "Pause or cancel it first.")


def may_be_meant(session: Session, run: RunRow) -> bool:
    """Return whether who names no run to go on with may mean *run*: one of the team, or another that stopped before its
    end.
    """
    stopped = run.state in ("paused", "interrupted", "cancelled")
    return run.role == TEAM or (stopped and any(one.kind == "plan" for one in messages_of(session.store, run.id)))


def pause_run(session: Session, run_id: str) -> None:
    """Have a run begin nothing more.

    Raises:
        NotFound: no such run is running.
    """
    control = session.controls.get(run_id)
    if control is None:
        raise NotFound(f"No run {run_id} is running.", "It may have ended already.")
    control.pause()


def cancel_run(session: Session, run_id: str) -> None:
    """Stop a run; it cleans up after itself.

    Raises:
        NotFound: no such run is running.
    """
    task = session.runs.get(run_id)
    if task is None:
        raise NotFound(f"No run {run_id} is running.", "It may have ended already.")
    task.cancel()


def heed_edit(ls: RolecallServer, run_id: str) -> None:
    """Have those who read a document work again, now that the developer has edited it."""
    if (control := ls.session.controls.get(run_id)) is not None:
        control.look_again()
    elif load_pool(ls.session.store, run_id).latest("plan") is not None:
        ls.tell(f"saved. The command rolecall.run.resume has those who read it work again ({run_id}).")


async def roles_for(ls: RolecallServer, folder: Folder) -> dict[str, Role]:
    """Ask about roles that the repository brings and that are not confirmed yet; return the roles that may be used."""
    workspace, store = ls.session.workspace(folder), ls.session.store
    found = roles_to_confirm(workspace, store)
    if found is not None:
        files = ", ".join(found.files)
        question = f"This repository brings roles of its own ({files}). What they say is told to your model. Use them?"
        if await choose(ls, question, ["Use them", "Do not"]) == "Use them":
            confirm_roles(workspace, store, found)
    return known_roles(workspace, store)


def describe_run(session: Session, run_id: str) -> dict[str, Any]:
    """Return a run and its messages, for `rolecall/messages`.

    Raises:
        NotFound: there is none of that id in the opened folders.
    """
    folder_of_run(session, run_id)
    row, pool = session.store.run(run_id), load_pool(session.store, run_id)
    return {"runId": run_id, "state": row.state, "error": row.error, "messages": messages_json(pool)}


def render_run(session: Session, run_id: str) -> str:
    """Return a run and its messages as a page to read.

    Raises:
        NotFound: there is none of that id in the opened folders.
    """
    folder_of_run(session, run_id)
    row, pool = session.store.run(run_id), load_pool(session.store, run_id)
    head = [f"{run_id}: {row.state}", *([row.error] if row.error else []), "", row.brief.strip(), ""]
    return "\n".join([*head, *describe_pool(pool), ""])


def folder_of_run(session: Session, run_id: str) -> Folder:
    """Return the open folder that a run is for.

    Raises:
        NotFound: none is.
    """
    for folder in session.folders.values():
        if any(run.id == run_id for run in session.store.runs(folder.root)):
            return folder
    raise NotFound(f"There is no run {run_id} in the opened folders.", "Open its folder, or look at the log.")


async def repository_of(ls: RolecallServer, folder: Folder) -> Repository:
    """Return the folder as it is now, with unsaved text, after waiting for its first scan."""
    snapshot = await current_snapshot(ls.session, folder)
    session = ls.session
    ask_for_more, ask_trust = partial(_ask_for_more, ls), partial(_ask_trust, ls)
    workspace = session.workspace(folder)
    return Repository(workspace, snapshot, session.store, session.settings, session.environ, ask_for_more, ask_trust)


def announce_run(ls: RolecallServer, run_id: str, state: str, **details: object) -> None:
    """Tell the client that a run began or ended."""
    ls.notify_client(RUN_NOTIFICATION, {"runId": run_id, "state": state, **details})


async def _model(ls: RolecallServer, request: RunRequest | None) -> Chosen | NoModelConfigured:
    session = ls.session
    return await find_model_for(request, session.settings, session.environ, offer=editor_offer(ls), store=session.store)


def _go_on(ls: RolecallServer, folder: Folder, run_id: str, model: Chosen | NoModelConfigured) -> str:
    """Have a task work on a run, and return the id of the run."""
    session = ls.session
    begin_scan(session, folder)
    session.controls[run_id] = Control()
    task = session.runs[run_id] = asyncio.get_running_loop().create_task(_work(ls, folder, run_id, model))

    def forget(_: object) -> None:
        session.runs.pop(run_id, None)
        session.controls.pop(run_id, None)
        session.under_way.pop(run_id, None)
        ls.activity_changed()

    task.add_done_callback(forget)
    return run_id


async def _work(ls: RolecallServer, folder: Folder, run_id: str, model: Chosen | NoModelConfigured) -> None:
    store, control = ls.session.store, ls.session.controls[run_id]
    role = store.run(run_id).role
    progress = Progress(ls, "Rolecall team" if role == TEAM else f"Rolecall {title_of(role)}", run_id)
    announce_run(ls, run_id, "started", role=role)

    def end(state: str, **told: object) -> None:
        progress.end(state)
        announce_run(ls, run_id, state, **told)

    try:
        await progress.begin()
        progress.report("reading the repository", None)
        repository = await repository_of(ls, folder)
        note = partial(_note_steps, ls, run_id)
        developer = Developer(progress.report, partial(_ask, ls), partial(_tell, ls, run_id), control, note)
        ended = await carry_out_run(run_id, repository, model, developer)
    except asyncio.CancelledError:
        store.end_run(run_id, "cancelled")  # it may not have come as far as `carry_out_run`, which says it too
        end("cancelled")
        raise
    except Exception as error:  # noqa: BLE001 - the boundary of a run: whatever it was, it is told once
        store.end_run(run_id, "failed", str(error))
        ls.tell_error(error)
        end("failed", error=error.code if isinstance(error, RolecallError) else type(error).__name__)
    else:
        progress.end(ended.state)
        _show_end(ls, folder, run_id, ended)
    finally:
        await _close(model)


async def _close(model: Chosen | NoModelConfigured) -> None:
    if isinstance(model, Chosen):
        await model.client.aclose()


def _show_end(ls: RolecallServer, folder: Folder, run_id: str, ended: Ended) -> None:
    if ended.proposal_id:
        # All of them: a new proposal puts earlier ones for the same thing aside.
        for proposal_id in {*folder.proposals, ended.proposal_id}:
            reload_proposal(ls, folder, proposal_id)
        show_hunks(ls, folder)
        if not ls.session.client.review:
            ls.tell(headline(load_proposal(ls.session.store, ended.proposal_id).proposal))
    elif ls.session.store.run(run_id).role == RoleName.REVIEWER and ended.error is None:
        judged = judged_in(ls.session.store, run_id)
        mark_verdicts(ls.session, folder, run_id, judged)
        show_hunks(ls, folder)
        ls.tell(judged.in_short)
    for error in ended.errors:
        ls.tell_error(error)
    if ended.state == "waiting":
        ls.tell(f"{run_id} waits for your decisions; rolecall.run.resume then goes on with the next sprint.")
    told = {"proposalId": ended.proposal_id} if ended.proposal_id else {}
    failed = {"error": ended.error.code} if ended.error is not None else {}
    announce_run(ls, run_id, ended.state, **told, **failed)


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


async def _ask(ls: RolecallServer, questions: Sequence[Question]) -> Mapping[str, str]:
    """Ask the developer and return the answers; a question that nobody answers in time gets its recommended answer."""
    given: dict[str, str] = {}
    for question in questions:
        options = [question.recommended, *(one for one in question.options if one != question.recommended)]
        said = await ask_role_question(ls, question.title, options)
        if not said:
            ls.tell(
                f"nobody answered, so what was recommended holds: {question.recommended}. What you save in the "
                "documents of the run is heeded."
            )
            break
        given[question.id] = said
    return given


def _note_steps(ls: RolecallServer, run_id: str, steps: Sequence[Step]) -> None:
    ls.session.under_way[run_id] = tuple(steps)
    ls.activity_changed()


def _tell(ls: RolecallServer, run_id: str, message: MessageRow) -> None:
    ls.notify_client(
        MESSAGE_NOTIFICATION,
        {"runId": run_id, "message": message.code, "kind": message.kind, "text": describe_message(message)},
    )
