"""`rolecall/review/text`: a file of a proposal as it stands, and as it would stand with what is on offer."""

from __future__ import annotations

from typing import Any

from pygls.exceptions import JsonRpcInvalidParams

from rolecall_server.errors import NotFound
from rolecall_server.lsp.server import RolecallServer
from rolecall_server.lsp.session import Folder, Session
from rolecall_server.lsp.untyped import fields_of
from rolecall_server.review.proposals.proposal_store import Reviewed, load_proposal
from rolecall_server.review.sides import HunkSides


def review_text(ls: RolecallServer, params: Any) -> dict[str, Any]:
    """Return both sides of the file that `path` names in the proposal `proposalId`, and where its hunks are."""
    from rolecall_server.lsp.decisions.saving import sides_at

    proposal_id, path = read_names(params)
    try:
        folder, reviewed = find_in_folders(ls.session, proposal_id)
        sides = sides_at(ls.session, folder, reviewed, path)
    except NotFound as error:
        raise JsonRpcInvalidParams(str(error)) from error
    return {
        "left": sides.left,
        "right": sides.right,
        "leftPath": sides.left_path,
        "rightPath": sides.right_path,
        "version": sides.version,
        "hunks": [_lines(hunk) for hunk in sides.hunks],
    }


def find_in_folders(session: Session, proposal_id: str) -> tuple[Folder, Reviewed]:
    """Return the proposal of that id, decided or not, with the opened folder that it is for.

    Raises:
        NotFound: there is none.
    """
    for folder in session.folders.values():
        if (pending := folder.proposals.get(proposal_id)) is not None:
            return folder, pending
    folder = session.folders.get(session.store.root_of(proposal_id))
    if folder is None:
        raise NotFound(f"There is no proposal {proposal_id} in the opened folders.")
    return folder, load_proposal(session.store, proposal_id)


def read_names(params: Any) -> tuple[str, str]:
    """Return the proposal and the path that *params* name.

    Raises:
        JsonRpcInvalidParams: they name none.
    """
    fields = fields_of(params)
    proposal_id, path = fields.get("proposalId"), fields.get("path")
    if not isinstance(proposal_id, str) or not isinstance(path, str):
        raise JsonRpcInvalidParams("`proposalId` names a proposal and `path` a file of it.")
    return proposal_id, path


def _lines(hunk: HunkSides) -> dict[str, Any]:
    sides = {"left": hunk.left, "right": hunk.right}
    return {"hunkId": hunk.hunk_id, **{side: {"start": at[0], "end": at[1]} for side, at in sides.items()}}
