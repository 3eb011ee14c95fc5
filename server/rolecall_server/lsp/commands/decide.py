"""Decide: accept, reject, undo and edit; a hunk, a file's hunks, a proposal's hunks, everything.

An acceptance replies at once and is made afterwards: an editor need not answer `workspace/applyEdit` while it waits
for a command of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from rolecall_server.errors import FileRefused, NotFound, UserMustAct
from rolecall_server.lsp.arguments import find_decided, find_hunk, find_proposal, read_text_argument
from rolecall_server.lsp.decisions import accept_hunks, reject_hunks, replace_hunk_text, undo_decisions
from rolecall_server.lsp.server import RolecallServer
from rolecall_server.lsp.session import Folder
from rolecall_server.lsp.writing import ask_in_box, ask_in_document, suffix_of
from rolecall_server.review.proposal import HunkKind
from rolecall_server.review.rendering import describe_hunk, hunk_diff
from rolecall_server.review.shelf import Reviewed


def accept_hunk(ls: RolecallServer, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Accept one hunk, and the pending ones it needs."""
    folder, reviewed, hunk_id = find_hunk(ls.session, arguments)
    return _accept(ls, folder, reviewed, [hunk_id])


async def reject_hunk(ls: RolecallServer, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Reject one hunk; with `ask`, once the developer has said why."""
    folder, reviewed, hunk_id = find_hunk(ls.session, arguments)
    if not arguments.get("ask") or read_text_argument(arguments, "reason"):
        return _reject(ls, folder, reviewed, [hunk_id], arguments)
    what = f"{hunk_id} of {reviewed.proposal.id}"
    reason = await ask_in_box(ls, f"Why is {what} rejected?")
    if reason:
        return _reject(ls, folder, reviewed, [hunk_id], {"reason": reason})
    nothing_yet: dict[str, Any] = {"proposalId": reviewed.proposal.id, "hunkIds": []}
    if reason is not None:
        return nothing_yet

    async def submit(text: str) -> None:
        reject_hunks(ls, folder, reviewed.proposal.id, [hunk_id], text.strip())

    guidance = (
        f"Say above why {what} is rejected, then save: that rejects it.",
        f"The next run of the {reviewed.proposal.role} on this file is told.",
        "Left empty, nothing is decided.",
        "",
        *_lines_of(reviewed, hunk_id),
    )
    return {**nothing_yet, "document": ask_in_document(ls, f"why-reject-{hunk_id}.txt", guidance, submit)}


def accept_file(ls: RolecallServer, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Accept the hunks of one file that can still be placed; one that is off until chosen is left."""
    folder, reviewed = find_proposal(ls.session, arguments)
    in_file = _in_file(ls, folder, reviewed, arguments)
    return _accept(ls, folder, reviewed, in_file & reviewed.taken_together)


def reject_file(ls: RolecallServer, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Reject the undecided hunks of one file."""
    folder, reviewed = find_proposal(ls.session, arguments)
    return _reject(ls, folder, reviewed, _in_file(ls, folder, reviewed, arguments) & reviewed.undecided, arguments)


def accept_proposal(ls: RolecallServer, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Accept every hunk that can still be placed; one that is off until chosen is left."""
    folder, reviewed = find_proposal(ls.session, arguments)
    return _accept(ls, folder, reviewed, reviewed.taken_together)


def reject_proposal(ls: RolecallServer, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Reject everything undecided, what is stale included."""
    folder, reviewed = find_proposal(ls.session, arguments)
    return _reject(ls, folder, reviewed, reviewed.undecided, arguments)


def accept_all(ls: RolecallServer, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Accept every hunk of every proposal that can still be placed, one proposal after the other."""
    waiting = [(folder, reviewed) for folder in ls.session.folders.values() for reviewed in folder.proposals.values()]
    waiting = [(folder, reviewed) for folder, reviewed in waiting if reviewed.taken_together]
    if not waiting:
        raise NotFound("There is nothing left to decide.")

    async def accept_each() -> None:
        for folder, reviewed in waiting:
            await accept_hunks(ls, folder, reviewed.proposal.id, reviewed.taken_together)

    ls.later(accept_each())
    return {"proposalIds": [reviewed.proposal.id for _, reviewed in waiting]}


def reject_all(ls: RolecallServer, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Reject everything undecided of every proposal."""
    waiting = [(folder, reviewed) for folder in ls.session.folders.values() for reviewed in folder.proposals.values()]
    for folder, reviewed in waiting:
        _reject(ls, folder, reviewed, reviewed.undecided, arguments)
    return {"proposalIds": [reviewed.proposal.id for _, reviewed in waiting]}


def undo_decision(ls: RolecallServer, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Take back the decision on the hunk named, or what was decided last."""
    folder, reviewed, hunk_ids = find_decided(ls.session, arguments)
    ls.later(undo_decisions(ls, folder, reviewed.proposal.id, hunk_ids))
    return {"proposalId": reviewed.proposal.id, "hunkIds": sorted(hunk_ids)}


def edit_hunk(ls: RolecallServer, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Put the developer's text in place of what a hunk brings in, or ask for it; the hunk stays to be decided."""
    folder, reviewed, hunk_id = find_hunk(ls.session, arguments)
    text = arguments.get("text")
    if text is None:
        return _edit_in_document(ls, folder, reviewed, hunk_id)
    if not isinstance(text, str):
        raise UserMustAct("'text' must be the text that the hunk shall bring in.", "See docs/protocol.md.")
    replace_hunk_text(ls, folder, reviewed.proposal.id, hunk_id, text)
    return {"proposalId": reviewed.proposal.id, "hunkIds": [hunk_id]}


def _edit_in_document(ls: RolecallServer, folder: Folder, reviewed: Reviewed, hunk_id: str) -> dict[str, Any]:
    """Have the developer write what the hunk shall bring in; every save counts."""
    proposal_id = reviewed.proposal.id
    change, hunk = next((c, h) for c, h in reviewed.proposal.hunks() if h.id == hunk_id)
    if hunk.kind is not HunkKind.TEXT:
        raise FileRefused(f"{hunk_id} has no text: it is about {change.path} as a whole.", "Accept or reject it.")

    async def submit(text: str) -> None:
        replace_hunk_text(ls, folder, proposal_id, hunk_id, text)

    guidance = (
        f"Above is what {hunk_id} of {proposal_id} brings into {change.path}. Change it as you like, then save.",
        "It stays to be decided, with your text. Left empty, or as it is, nothing changes.",
    )
    name, offered = f"edit-{hunk_id}{suffix_of(change.path)}", "".join(hunk.new_lines)
    document = ask_in_document(ls, name, guidance, submit, offered=offered, once=False)
    return {"proposalId": proposal_id, "hunkIds": [], "document": document}


def _lines_of(reviewed: Reviewed, hunk_id: str) -> list[str]:
    """The hunk as a diff, for whoever has to say something about it."""
    return [
        line
        for change, hunk in reviewed.proposal.hunks()
        if hunk.id == hunk_id
        for line in (describe_hunk(change, hunk), *hunk_diff(change, hunk))
    ]


def _accept(ls: RolecallServer, folder: Folder, reviewed: Reviewed, hunk_ids: Collection[str]) -> dict[str, Any]:
    _check_some(hunk_ids, off=reviewed.offered - reviewed.taken_together)
    ls.later(accept_hunks(ls, folder, reviewed.proposal.id, hunk_ids))
    return {"proposalId": reviewed.proposal.id, "hunkIds": sorted(hunk_ids)}


def _reject(
    ls: RolecallServer,
    folder: Folder,
    reviewed: Reviewed,
    hunk_ids: Collection[str],
    arguments: Mapping[str, Any],
) -> dict[str, Any]:
    _check_some(hunk_ids)
    reject_hunks(ls, folder, reviewed.proposal.id, hunk_ids, read_text_argument(arguments, "reason"))
    return {"proposalId": reviewed.proposal.id, "hunkIds": sorted(hunk_ids)}


def _check_some(hunk_ids: Collection[str], off: Collection[str] = ()) -> None:
    if not hunk_ids and off:
        raise NotFound(f"What is left shows findings, and is off: {', '.join(sorted(off))}.", "Accept it by itself.")
    if not hunk_ids:
        raise NotFound("There is nothing left to decide here.")


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
