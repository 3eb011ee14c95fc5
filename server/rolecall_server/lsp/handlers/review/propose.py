"""`rolecall/propose`: an edit that another agent made becomes a proposal under review, checked like a role's own."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Any, cast

from pygls.exceptions import JsonRpcInvalidParams

from rolecall_server.craft.edits.unified_diff import PatchedFiles, apply_diff
from rolecall_server.errors import PatchRefused, RolecallError, UserMustAct
from rolecall_server.lsp.proposals.hunks import reload_proposal, show_hunks
from rolecall_server.lsp.runs.progress import Progress
from rolecall_server.lsp.runs.running import announce_run, repository_of
from rolecall_server.lsp.server import RolecallServer
from rolecall_server.lsp.session import Folder, Session
from rolecall_server.lsp.untyped import fields_of
from rolecall_server.review.proposals.rendering import headline, render_evidence, visible
from rolecall_server.team.foreign import GUEST, ForeignEdit, Proposed, base_text, check_foreign, propose_foreign
from rolecall_server.text_work import beside_the_loop
from rolecall_server.workspace import MAX_FILE_BYTES, Workspace


async def propose(ls: RolecallServer, params: Any) -> dict[str, Any]:
    """Make a proposal of `files`, or of a unified `diff`, by `origin`; the answer says what was checked.

    Nothing is written: the developer decides on it, hunk by hunk. What cannot be one is a `problem`.
    """
    fields = fields_of(params)
    try:
        if ls.session.client.restricted:
            raise UserMustAct("This workspace is not trusted.", "Trust it in your editor, then try again.")
        folder = _folder(ls.session, _text(fields, "root"))
        proposed = await _propose(ls, folder, fields)
    except RolecallError as error:
        return {"proposalId": "", "problem": str(error), "hunks": [], "evidence": []}
    proposal = proposed.proposal
    told = await asyncio.to_thread(proposed.covers.cover, "\n".join(render_evidence(proposal.evidence)))
    return {
        "proposalId": proposal.id,
        "problem": "",
        "title": visible(headline(proposal)),
        "hunks": [{"hunkId": hunk.id, "path": change.path, "symbol": hunk.symbol} for change, hunk in proposal.hunks()],
        "evidence": [visible(line) for line in told.split("\n")],
    }


def _folder(session: Session, root: str) -> Folder:
    """Return the folder whose URI is *root*; the only one where none is named.

    Raises:
        UserMustAct: there is no such folder, or several.
    """
    named = [folder for folder in session.folders.values() if root in ("", folder.root.as_uri())]
    if len(named) != 1:
        raise UserMustAct("It is not clear which opened folder the edit is for.", "Name its URI as `root`.")
    return named[0]


async def _propose(ls: RolecallServer, folder: Folder, fields: Mapping[str, Any]) -> Proposed:
    session, store = ls.session, ls.session.store
    repository = await repository_of(ls, folder)
    changed = await _changed(repository.workspace, fields)
    origin, title, rationale = (_text(fields, name) for name in ("origin", "title", "rationale"))
    given = ForeignEdit(origin, title, rationale, changed.files, changed.renames)
    edit = await asyncio.to_thread(check_foreign, repository, given)
    run_id = store.add_run(folder.root, GUEST, next(iter(edit.files)), edit.title)
    progress = Progress(ls, f"Rolecall: checking what {edit.origin} proposes", run_id)
    if (task := asyncio.current_task()) is not None:
        session.runs[run_id] = task  # ended with the server, and by the button beside its progress
    announce_run(ls, run_id, "started", role=GUEST)
    state, told = "cancelled", {}
    try:
        await progress.begin()
        proposed = await propose_foreign(repository, run_id, edit, progress.report)
        state, told = "finished", {"proposalId": proposed.proposal.id}
        for proposal_id in {*folder.proposals, proposed.proposal.id}:
            reload_proposal(ls, folder, proposal_id)
        show_hunks(ls, folder)
    except RolecallError as error:
        state, told = "failed", {"error": error.code}
        raise
    else:
        return proposed
    finally:
        session.runs.pop(run_id, None)
        store.end_run(run_id, state)
        progress.end(state)
        announce_run(ls, run_id, state, **told)


async def _changed(workspace: Workspace, fields: Mapping[str, Any]) -> PatchedFiles:
    """Return the files as they would be.

    Raises:
        PatchRefused: there is neither a list of files nor a diff that fits.
    """
    diff, files = _text(fields, "diff"), fields.get("files")
    if len(diff) > MAX_FILE_BYTES:
        raise PatchRefused("That is more than anybody can decide on at once.", "Propose it in parts.")
    if diff:
        return await beside_the_loop("Reading the diff", apply_diff, diff, partial(base_text, workspace))
    if not isinstance(files, list) or not files:
        raise PatchRefused("There is no edit.", "Send `files`, each with `path` and `text`, or a unified `diff`.")
    texts: dict[str, str | None] = {}
    for one in cast("list[Any]", files):
        entry = fields_of(one)
        if not isinstance(path := entry.get("path"), str) or not isinstance(entry.get("text"), str | None):
            raise JsonRpcInvalidParams("Each of `files` has a `path` and a `text`, which is null for a file that goes.")
        texts[path] = entry.get("text")
    return PatchedFiles(texts)


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name) or ""
    if not isinstance(value, str):
        raise JsonRpcInvalidParams(f"`{name}` is a text.")
    return value.encode("utf-8", "replace").decode("utf-8")
