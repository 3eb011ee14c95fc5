"""The right side of a file of a proposal, saved by somebody who edited it: what changed becomes edits of its hunks."""

from __future__ import annotations

from rolecall_server.errors import NotFound, UserMustAct
from rolecall_server.lsp.decisions.deciding import check_at_rest
from rolecall_server.lsp.proposals.hunks import look_again, reload_proposal
from rolecall_server.lsp.runs.selection_trials import try_what_is_left
from rolecall_server.lsp.server import RolecallServer
from rolecall_server.lsp.session import Folder, Session
from rolecall_server.review.proposals.anchor import path_now
from rolecall_server.review.proposals.proposal_store import Reviewed, edit_hunk, is_taken_back, put_aside
from rolecall_server.review.sides import Sides, sides_of, texts_from


def sides_at(session: Session, folder: Folder, reviewed: Reviewed, path: str) -> Sides:
    """Return both sides of the file at *path* as they are now.

    Raises:
        NotFound: the proposal does not touch it.
    """
    change = reviewed.proposal.change_of(path)
    if change is None:
        raise NotFound(f"{reviewed.proposal.id} does not touch {path}.")
    return sides_of(reviewed, change, session.read_text(folder, path_now(change, reviewed.accepted)))


def save_right_side(
    ls: RolecallServer, folder: Folder, proposal_id: str, path: str, *, version: str, text: str
) -> tuple[str, ...]:
    """Take *text* for the right side that was known by *version*; the hunks that this changes.

    One that is taken back to what stands in the file is rejected by that.

    Raises:
        NotFound: there is no such proposal or file.
        FileRefused: lines of no hunk were changed; nothing is stored.
        UserMustAct: the right side is another by now; nothing is stored.
    """
    reviewed = reload_proposal(ls, folder, proposal_id)
    sides = sides_at(ls.session, folder, reviewed, path)
    if sides.version != version:
        raise UserMustAct(
            f"{path} of {proposal_id} is another since you began to edit it.", "Compare, then save again."
        )
    texts = texts_from(sides, text)
    check_at_rest(folder, proposal_id, texts)
    store = ls.session.store
    with store.together():
        taken_back = [hunk_id for hunk_id, new in texts.items() if is_taken_back(reviewed, hunk_id, new)]
        for hunk_id in texts.keys() - {*taken_back}:
            edit_hunk(store, reviewed, hunk_id, texts[hunk_id], store.add_act(folder.root, "edit"))
        if taken_back:
            put_aside(store, reviewed, taken_back, "", store.add_act(folder.root, "reject"))
    reload_proposal(ls, folder, proposal_id)
    look_again(ls, folder, ())
    if texts:
        try_what_is_left(ls, folder, proposal_id)
    return tuple(texts)
