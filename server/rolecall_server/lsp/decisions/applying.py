"""Having the editor make edits, all or none, and seeing what came of it.

Nobody's word is taken: what the editor tells of its documents, and what lies on the disk, says what was made.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import Future
from functools import partial

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from rolecall_server.errors import EditRefused
from rolecall_server.lsp.folders import files_changed
from rolecall_server.lsp.server import RolecallServer
from rolecall_server.lsp.session import Folder, kind_of_file
from rolecall_server.lsp.to_lsp import to_workspace_edit
from rolecall_server.review.acceptance import FileEdit, inverse_edit, same_lines

_SYNC_POLL_S = 0.02


async def make_edits(ls: RolecallServer, folder: Folder, edits: Sequence[FileEdit], label: str) -> None:
    """Have the editor make *edits*, all or none.

    Raises:
        EditRefused: it did not; what it had made of them is put back.
    """
    if not any(edit.edits or edit.creates or edit.deletes or edit.moved_to for edit in edits):
        return
    reason = await _send(ls, folder, to_workspace_edit(ls.session, folder, edits, label), label)
    if reason is not None:
        left = await _put_back(ls, folder, edits)
        still = f" {', '.join(left)} may have changed: look at it." if left else ""
        raise EditRefused(f"The editor did not apply the change: {reason}{still}", "Nothing was decided.")


async def _send(ls: RolecallServer, folder: Folder, edit: types.WorkspaceEdit, label: str) -> str | None:
    """Send the edit to the editor; return the reason why it was not made, or ``None`` when it was."""
    folder.edits.told_texts.clear()
    reply = ls.workspace_apply_edit(types.ApplyWorkspaceEditParams(edit, label))
    reply.add_done_callback(partial(_keep_last_texts, folder))  # called before any message after the reply is read
    asked = asyncio.ensure_future(asyncio.wrap_future(reply))
    # Not `wait_for`, which would cancel the question: an answer that comes late is still to be heard.
    done, _ = await asyncio.wait([asked], timeout=ls.session.patience.answer_s)
    if not done:
        return "it gave no answer. If it makes the change later, that counts as accepted."
    try:
        result = asked.result()
    except JsonRpcException as error:
        return f"{error}."
    if result.applied:
        return None
    return f"{(result.failure_reason or 'it gave no reason').rstrip('.')}."


def _keep_last_texts(folder: Folder, _: Future[types.ApplyWorkspaceEditResult]) -> None:
    """Forget what the editor told on the way: the texts as they are when it answers are what it made of the edit."""
    folder.edits.told_texts = {path: texts[-1:] for path, texts in folder.edits.told_texts.items()}


async def _put_back(ls: RolecallServer, folder: Folder, edits: Sequence[FileEdit]) -> list[str]:
    """Undo what an editor that refused had made of *edits* already; the files where that was not possible."""
    await _stand_still(ls, folder, edits)
    made = [edit for edit in edits if _is_made(ls, folder, edit)]
    await make_possible(ls, folder, [inverse_edit(edit) for edit in made], "Rolecall: undo")
    return [edit.path for edit in edits if ls.session.read_text(folder, edit.path) != edit.current]


async def _stand_still(ls: RolecallServer, folder: Folder, edits: Sequence[FileEdit]) -> None:
    """Wait until the editor tells of no further change in these files, for it tells of each by itself."""
    patience = ls.session.patience
    until = asyncio.get_running_loop().time() + patience.sync_s
    seen: list[str | None] = []
    while asyncio.get_running_loop().time() < until:
        await asyncio.sleep(patience.quiet_s)
        now = [ls.session.read_text(folder, path) for edit in edits for path in (edit.path, edit.path_after)]
        if now == seen:
            return
        seen = now


def _is_made(ls: RolecallServer, folder: Folder, edit: FileEdit) -> bool:
    """Return whether the text is the one that was meant, and was another before."""
    read = ls.session.read_text
    moved = bool(edit.moved_to) and read(folder, edit.path) is None
    return (moved or edit.current != edit.result) and read(folder, edit.path_after) == edit.result


async def differing_edits(ls: RolecallServer, folder: Folder, edits: Sequence[FileEdit]) -> list[FileEdit]:
    """Return the edits whose result in the editor is another text than was meant.

    A text that was as it was meant at some moment after the editor answered, and is another by now, was typed in.

    The editor may tell of the change, or write it, a moment after it says that it was made, or much later; of a file
    that it keeps in memory unsaved it may tell nothing. It is trusted in that where all that can be seen is as it was
    meant, and where it never told of an open file of that kind.
    """
    session = ls.session
    deadline = asyncio.get_running_loop().time() + session.patience.sync_s
    pending = list(edits)
    while pending:
        pending = [e for e in pending if not _was_as_meant(ls, folder, e)]
        is_late = asyncio.get_running_loop().time() > deadline
        if not pending or is_late or all(_will_be_told(ls, folder, edit) for edit in pending):
            break
        await asyncio.sleep(_SYNC_POLL_S)
    unopened = [edit for edit in edits if session.document_at(folder, edit.path_after) is None]
    files_changed(session, folder, [edit.path for edit in unopened])
    untold = [
        e
        for e in pending
        if e in unopened and text_after(ls, folder, e) in (None, "", e.current) and not _tells_of(ls, e.path_after)
    ]
    if all(edit in untold or _will_be_told(ls, folder, edit) for edit in pending):
        folder.edits.in_memory.update(edit.path_after for edit in pending)
        return []
    return pending


def _was_as_meant(ls: RolecallServer, folder: Folder, edit: FileEdit) -> bool:
    """Return whether the text is the one that was meant, or was it at some moment since the editor answered."""
    texts = [text_after(ls, folder, edit), *folder.edits.told_texts.get(edit.path_after, ())]
    return any(same_lines(text, edit.result) for text in texts)


def _tells_of(ls: RolecallServer, path: str) -> bool:
    """Return whether the editor tells of open files of that kind; then every such file that it holds in memory is open
    here too.
    """
    return not ls.session.client.tells_when_idle and kind_of_file(path) in ls.session.told_kinds


def _will_be_told(ls: RolecallServer, folder: Folder, edit: FileEdit) -> bool:
    """Return whether the editor, which waits until somebody presses a key, has not yet told of the change to an open
    file.
    """
    document = ls.session.document_at(folder, edit.path_after)
    return document is not None and ls.session.client.tells_when_idle and same_lines(document.text, edit.current or "")


def text_after(ls: RolecallServer, folder: Folder, edit: FileEdit) -> str | None:
    """Return the text that is now in the file that *edit* was meant for."""
    return ls.session.read_text(folder, edit.path_after)


async def make_possible(ls: RolecallServer, folder: Folder, edits: Sequence[FileEdit], label: str) -> str | None:
    """Have the editor make those of *edits* that it is able to; why it did not, or ``None`` when it did."""
    possible = [edit for edit in edits if not edit.deletes or ls.session.client.delete_files]
    if not possible:
        return None
    reason = await _send(ls, folder, to_workspace_edit(ls.session, folder, possible), label)
    if reason is None:
        await differing_edits(ls, folder, possible)
    return reason
