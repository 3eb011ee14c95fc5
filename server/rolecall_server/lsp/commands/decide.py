"""Accept and reject: a hunk, a file's hunks, a proposal's hunks.

An acceptance replies at once and is made afterwards: an editor need not answer `workspace/applyEdit` while it waits
for a command of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from rolecall_server.errors import NotFound
from rolecall_server.lsp.arguments import find_hunk, find_proposal, read_text_argument
from rolecall_server.lsp.decisions import accept_hunks, reject_hunks
from rolecall_server.lsp.server import RolecallServer
from rolecall_server.lsp.session import Folder
from rolecall_server.review.proposal import HunkState
from rolecall_server.review.shelf import Reviewed


def accept_hunk(ls: RolecallServer, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Accept one hunk, and the pending ones it needs."""
    folder, reviewed, hunk_id = find_hunk(ls.session, arguments)
    return _accept(ls, folder, reviewed, [hunk_id])


def reject_hunk(ls: RolecallServer, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Reject one hunk."""
    folder, reviewed, hunk_id = find_hunk(ls.session, arguments)
    return _reject(ls, folder, reviewed, [hunk_id])


def accept_file(ls: RolecallServer, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Accept the hunks of one file that can still be placed."""
    folder, reviewed = find_proposal(ls.session, arguments)
    in_file = _in_file(ls, folder, reviewed, arguments)
    return _accept(ls, folder, reviewed, in_file & _pending(reviewed))


def reject_file(ls: RolecallServer, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Reject the undecided hunks of one file."""
    folder, reviewed = find_proposal(ls.session, arguments)
    return _reject(ls, folder, reviewed, _in_file(ls, folder, reviewed, arguments) & reviewed.undecided)


def accept_proposal(ls: RolecallServer, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Accept every hunk that can still be placed."""
    folder, reviewed = find_proposal(ls.session, arguments)
    return _accept(ls, folder, reviewed, _pending(reviewed))


def reject_proposal(ls: RolecallServer, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Reject everything undecided, what is stale included."""
    folder, reviewed = find_proposal(ls.session, arguments)
    return _reject(ls, folder, reviewed, reviewed.undecided)


def _accept(ls: RolecallServer, folder: Folder, reviewed: Reviewed, hunk_ids: Collection[str]) -> dict[str, Any]:
    _check_some(hunk_ids)
    ls.later(accept_hunks(ls, folder, reviewed.proposal.id, hunk_ids))
    return {"proposalId": reviewed.proposal.id, "hunkIds": sorted(hunk_ids)}


def _reject(ls: RolecallServer, folder: Folder, reviewed: Reviewed, hunk_ids: Collection[str]) -> dict[str, Any]:
    _check_some(hunk_ids)
    reject_hunks(ls, folder, reviewed.proposal.id, hunk_ids)
    return {"proposalId": reviewed.proposal.id, "hunkIds": sorted(hunk_ids)}


def _check_some(hunk_ids: Collection[str]) -> None:
    if not hunk_ids:
        raise NotFound("There is nothing left to decide here.")


def _pending(reviewed: Reviewed) -> frozenset[str]:
    return frozenset(hunk_id for hunk_id, state in reviewed.states.items() if state is HunkState.PENDING)


def _in_file(ls: RolecallServer, folder: Folder, reviewed: Reviewed, arguments: Mapping[str, Any]) -> frozenset[str]:
    """The hunks of the file the arguments name, by path or by URI.

    Raises:
        NotFound: the proposal does not touch it.
    """
    path = read_text_argument(arguments, "path")
    if not path and (uri := read_text_argument(arguments, "uri")):
        path = ls.session.path_in(folder, uri) or ""
    for change in reviewed.proposal.files:
        if change.path == path:
            return frozenset(hunk.id for hunk in change.hunks)
    raise NotFound(f"{reviewed.proposal.id} does not touch {path or 'this file'}.")
