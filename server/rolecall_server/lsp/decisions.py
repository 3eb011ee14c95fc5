"""Accepting and rejecting from an editor: the server plans the edit, the editor makes it, the store remembers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Sequence

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from rolecall_server.lsp.folders import files_changed
from rolecall_server.lsp.hunks import refresh_hunks, reload_proposal, show_hunks
from rolecall_server.lsp.server import RolecallServer
from rolecall_server.lsp.session import Folder
from rolecall_server.lsp.to_lsp import to_workspace_edit
from rolecall_server.review.acceptance import FileEdit, plan_acceptance, with_needs
from rolecall_server.review.proposal import HunkState
from rolecall_server.review.shelf import check_undecided, decide
from rolecall_server.workspace import absolute_path

logger = logging.getLogger(__name__)

_SYNC_TIMEOUT_S = 2.0
_SYNC_POLL_S = 0.02


async def accept_hunks(ls: RolecallServer, folder: Folder, proposal_id: str, hunk_ids: Collection[str]) -> None:
    """Have the editor make the edit of *hunk_ids* and of the pending hunks they need.

    Raises:
        HunkStale: one of them can no longer be placed; nothing is changed.
        NotFound: one of them does not exist or was decided before.
    """
    try:
        async with folder.deciding:
            await _accept(ls, folder, proposal_id, hunk_ids)
    finally:
        refresh_hunks(ls, folder, list(folder.proposals))


async def _accept(ls: RolecallServer, folder: Folder, proposal_id: str, hunk_ids: Collection[str]) -> None:
    session = ls.session
    reviewed = reload_proposal(ls, folder, proposal_id)
    check_undecided(reviewed, hunk_ids)
    wanted = with_needs(reviewed.proposal, reviewed.states, hunk_ids)
    edits: list[FileEdit] = []
    for change in reviewed.proposal.files:
        in_file = [hunk.id for hunk in change.hunks if hunk.id in wanted]
        if in_file:
            absolute_path(session.workspace(folder), change.path)  # still inside, whatever happened since
            edits.append(plan_acceptance(change, reviewed.accepted, in_file, session.read_text(folder, change.path)))
    reason = await _apply(ls, folder, edits, f"Rolecall: {reviewed.proposal.title}")
    if reason is not None:
        ls.tell(f"the editor did not apply the change: {reason} Nothing was decided.", types.MessageType.Warning)
        return
    decide(session.store, reviewed, wanted, HunkState.ACCEPTED)
    await _compare(ls, folder, edits)
    reload_proposal(ls, folder, proposal_id)


def reject_hunks(ls: RolecallServer, folder: Folder, proposal_id: str, hunk_ids: Collection[str]) -> None:
    """Put *hunk_ids* aside; no text changes.

    Raises:
        NotFound: one of them does not exist or was decided before.
    """
    reviewed = reload_proposal(ls, folder, proposal_id)
    decide(ls.session.store, reviewed, hunk_ids, HunkState.REJECTED)
    reload_proposal(ls, folder, proposal_id)
    show_hunks(ls, folder)


async def _apply(ls: RolecallServer, folder: Folder, edits: Sequence[FileEdit], label: str) -> str | None:
    """Why the editor did not make the edit, or ``None`` when it did."""
    params = types.ApplyWorkspaceEditParams(to_workspace_edit(ls.session, folder, edits), label)
    try:
        result = await ls.workspace_apply_edit_async(params)
    except JsonRpcException as error:
        return f"{error}."
    if result.applied:
        return None
    return f"{(result.failure_reason or 'it gave no reason').rstrip('.')}."


async def _compare(ls: RolecallServer, folder: Folder, edits: Sequence[FileEdit]) -> None:
    """Warn where the text that came out is not the one that was meant.

    The editor may tell of the change a moment after it says that it was made.
    """
    deadline = asyncio.get_running_loop().time() + _SYNC_TIMEOUT_S
    pending = list(edits)
    while pending and asyncio.get_running_loop().time() < deadline:
        pending = [edit for edit in pending if ls.session.read_text(folder, edit.path) != edit.result]
        if pending:
            await asyncio.sleep(_SYNC_POLL_S)
    for edit in pending:
        text = ls.session.read_text(folder, edit.path)
        unsaved_elsewhere = ls.session.document_at(folder, edit.path) is None and text in (None, "", edit.current)
        if not unsaved_elsewhere:
            ls.tell(
                f"{edit.path} differs from what was accepted; undo in the editor if it is wrong.",
                types.MessageType.Warning,
            )
    files_changed(ls.session, folder, [e.path for e in edits if ls.session.document_at(folder, e.path) is None])
