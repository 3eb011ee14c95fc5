"""Decide: accept, reject, undo and edit; a hunk, a file's hunks, a proposal's hunks, everything.

An acceptance replies at once and is made afterwards: an editor need not answer `workspace/applyEdit` while it waits
for a command of its own.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from rolecall_server.errors import FileRefused, NotFound, UserMustAct
from rolecall_server.lsp.arguments import (
    Chosen,
    find_decided,
    find_hunk,
    find_hunks,
    find_hunks_of_several,
    find_proposal,
    read_text_argument,
)
from rolecall_server.lsp.asking import confirm
from rolecall_server.lsp.decisions.deciding import accept_hunks, reject_hunks, replace_hunk_text, undo_decisions
from rolecall_server.lsp.server import RolecallServer
from rolecall_server.lsp.session import Folder
from rolecall_server.lsp.writing import ask_in_box, ask_in_document, suffix_of
from rolecall_server.review.proposals.proposal import HunkKind
from rolecall_server.review.proposals.proposal_store import Reviewed
from rolecall_server.review.proposals.rendering import describe_hunk, hunk_diff

_MOST_WAITING = 32
"""Decisions that wait for the editor, each with its proposals: it may never answer."""


def accept_hunk(ls: RolecallServer, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Accept one hunk, or several of a proposal, and the pending ones they need."""
    folder, reviewed, hunk_ids = find_hunks(ls.session, arguments)
    return _accept(ls, [(folder, reviewed, frozenset(hunk_ids))])


async def reject_hunk(ls: RolecallServer, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Reject one hunk, or several of a proposal; with `ask`, once the developer has said why."""
    folder, reviewed, hunk_ids = find_hunks(ls.session, arguments)
    if not arguments.get("ask") or read_text_argument(arguments, "reason"):
        return _reject(ls, [(folder, reviewed, frozenset(hunk_ids))], arguments)
    what = f"{', '.join(hunk_ids)} of {reviewed.proposal.id}"
    reason = await ask_in_box(ls, f"Why is {what} rejected?")
    if reason:
        return _reject(ls, [(folder, reviewed, frozenset(hunk_ids))], {"reason": reason})
    nothing_yet: dict[str, Any] = {"proposalId": reviewed.proposal.id, "hunkIds": []}
    # The box was shown, and nothing was typed: that decides nothing. None is an editor without a box.
    if reason is not None:
        return nothing_yet

    async def submit(text: str) -> None:
        reject_hunks(ls, folder, reviewed.proposal.id, hunk_ids, text.strip())

    guidance = (
        f"Say above why {what} is rejected, then save: that rejects it.",
        f"The next run of the {reviewed.proposal.role} on this file is told.",
        "Left empty, nothing is decided.",
        "",
        *(line for hunk_id in hunk_ids for line in _lines_of(reviewed, hunk_id)),
    )
    return {**nothing_yet, "document": ask_in_document(ls, f"why-reject-{hunk_ids[0]}.txt", guidance, submit)}


def accept_file(ls: RolecallServer, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Accept the hunks of one file that can still be placed, of the proposal named or of all; one that is off until
    chosen is left.
    """
    in_file = _in_file(ls, arguments)
    chosen = [(folder, reviewed, hunk_ids & reviewed.taken_together) for folder, reviewed, hunk_ids in in_file]
    off = {h for _, reviewed, hunk_ids in in_file for h in hunk_ids & reviewed.offered - reviewed.taken_together}
    return _accept(ls, chosen, off, asks=not arguments.get("proposalId"))


def reject_file(ls: RolecallServer, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Reject the undecided hunks of one file, of the proposal named or of all."""
    in_file = _in_file(ls, arguments)
    chosen = [(folder, reviewed, hunk_ids & reviewed.undecided) for folder, reviewed, hunk_ids in in_file]
    return _reject(ls, chosen, arguments)


def accept_proposal(ls: RolecallServer, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Accept every hunk that can still be placed; one that is off until chosen is left."""
    folder, reviewed = find_proposal(ls.session, arguments)
    return _accept(ls, [(folder, reviewed, reviewed.taken_together)], reviewed.offered - reviewed.taken_together)


def reject_proposal(ls: RolecallServer, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Reject everything undecided, what is stale included."""
    folder, reviewed = find_proposal(ls.session, arguments)
    return _reject(ls, [(folder, reviewed, reviewed.undecided)], arguments)


def accept_all(ls: RolecallServer, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Accept every hunk of every proposal that can still be placed, or those named, one proposal after the other."""
    waiting = find_hunks_of_several(ls.session, arguments)
    if waiting is None:
        waiting = [(folder, reviewed, reviewed.taken_together) for folder, reviewed in _waiting(ls)]
    _accept(ls, waiting)
    return {"proposalIds": [reviewed.proposal.id for _, reviewed, hunk_ids in waiting if hunk_ids]}


def reject_all(ls: RolecallServer, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Reject everything undecided of every proposal, or the hunks named."""
    waiting = find_hunks_of_several(ls.session, arguments)
    if waiting is None:
        waiting = [(folder, reviewed, reviewed.undecided) for folder, reviewed in _waiting(ls)]
    _reject(ls, waiting, arguments)
    return {"proposalIds": [reviewed.proposal.id for _, reviewed, hunk_ids in waiting if hunk_ids]}


def undo_decision(ls: RolecallServer, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Take back the decision on the hunk named, or all that was decided last."""
    decided = find_decided(ls.session, arguments)

    async def undo_each() -> None:
        for folder, reviewed, hunk_ids in decided:
            await undo_decisions(ls, folder, reviewed.proposal.id, hunk_ids)
        if len(decided) > 1:
            taken_back = (f"{reviewed.proposal.id} ({', '.join(hunk_ids)})" for _, reviewed, hunk_ids in decided)
            ls.tell(f"what was decided last is taken back: {'; '.join(taken_back)}.")

    _decide_later(ls, undo_each)
    # The latest stands first in `decided`, and the reply names the last one that it is given.
    return _reply([(folder, reviewed, frozenset(hunk_ids)) for folder, reviewed, hunk_ids in reversed(decided)])


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
    """Return the hunk as a diff, for whoever has to say something about it."""
    return [
        line
        for change, hunk in reviewed.proposal.hunks()
        if hunk.id == hunk_id
        for line in (describe_hunk(change, hunk), *hunk_diff(change, hunk))
    ]


def _accept(
    ls: RolecallServer, chosen: Sequence[Chosen], off: Collection[str] = (), *, asks: bool = False
) -> dict[str, Any]:
    chosen = _with_hunks(chosen, off)
    are_many = len(chosen) > 1 or (asks and len(chosen[0][2]) > 1)

    async def accept_each() -> None:
        if are_many and ls.session.client.review and not await _wants_all(ls, chosen):
            return
        act_of = _acts(ls, chosen, "accept")
        for folder, reviewed, hunk_ids in chosen:
            await accept_hunks(ls, folder, reviewed.proposal.id, hunk_ids, act_id=act_of.get(folder.root))

    _decide_later(ls, accept_each)
    return _reply(chosen)


def _decide_later(ls: RolecallServer, decision: Callable[[], Awaitable[None]]) -> None:
    """Carry out *decision* after the reply.

    Raises:
        UserMustAct: too many wait for the editor already.
    """
    session = ls.session
    if session.n_deciding >= _MOST_WAITING:
        what = f"{session.n_deciding} decisions wait for an answer of yours, or of the editor."
        raise UserMustAct(what, "Answer the questions that are open, then decide again.")

    async def decide() -> None:
        try:
            await decision()
        finally:
            session.n_deciding -= 1

    # Counted here and not in the task, which starts later: more commands may come in before it does.
    session.n_deciding += 1
    ls.later(decide())


def _reject(ls: RolecallServer, chosen: Sequence[Chosen], arguments: Mapping[str, Any]) -> dict[str, Any]:
    chosen, reason = _with_hunks(chosen), read_text_argument(arguments, "reason")
    act_of = _acts(ls, chosen, "reject")
    for folder, reviewed, hunk_ids in chosen:
        reject_hunks(ls, folder, reviewed.proposal.id, hunk_ids, reason, act_id=act_of.get(folder.root))
    return _reply(chosen)


async def _wants_all(ls: RolecallServer, chosen: Sequence[Chosen]) -> bool:
    """Ask once about many hunks, with their size, an editor that draws them: one key is not a choice."""
    n_hunks = sum(len(hunk_ids) for _, _, hunk_ids in chosen)
    changes = [(c, ids) for _, reviewed, ids in chosen for c in reviewed.proposal.files]
    files = {change.path for change, ids in changes if any(hunk.id in ids for hunk in change.hunks)}
    where = f"in {len(files)} files" if len(files) > 1 else f"in {files.pop()}"
    whose = f"{len(chosen)} proposals" if len(chosen) > 1 else chosen[0][1].proposal.id
    answer = f"Accept {n_hunks} hunks"
    question = f"accept {n_hunks} hunks of {whose}, {where}?"
    return await confirm(ls, question, [answer, "Cancel"]) == answer


def _acts(ls: RolecallServer, chosen: Sequence[Chosen], kind: str) -> Mapping[Path, int]:
    """Return the number of one act for each folder, where several proposals are decided on; all are undone
    together.
    """
    if len(chosen) < 2:
        return {}
    acts = {root: ls.session.store.add_act(root, kind) for root in dict.fromkeys(one.root for one, _, _ in chosen)}
    ls.session.decided_together = frozenset(acts.values())
    return acts


def _reply(chosen: Sequence[Chosen]) -> dict[str, Any]:
    """Return the last of the proposals with its hunks, and where there are several, all of them."""
    _, reviewed, hunk_ids = chosen[-1]
    several = {"proposalIds": [each.proposal.id for _, each, _ in chosen]} if len(chosen) > 1 else {}
    return {"proposalId": reviewed.proposal.id, "hunkIds": sorted(hunk_ids), **several}


def _with_hunks(chosen: Sequence[Chosen], off: Collection[str] = ()) -> Sequence[Chosen]:
    """Return those of *chosen* that have hunks.

    Raises:
        NotFound: none has.
    """
    some = [each for each in chosen if each[2]]
    if not some and off:
        raise NotFound(f"What is left shows findings, and is off: {', '.join(sorted(off))}.", "Accept it by itself.")
    if not some:
        raise NotFound("There is nothing left to decide here.")
    return some


def _waiting(ls: RolecallServer) -> list[tuple[Folder, Reviewed]]:
    """Return the proposals with something to decide, folder by folder, the oldest first."""
    return [(folder, reviewed) for folder in ls.session.folders.values() for reviewed in folder.proposals.values()]


def _in_file(ls: RolecallServer, arguments: Mapping[str, Any]) -> list[Chosen]:
    """Return the hunks of the file the arguments name, by path or by URI: of the proposal they name, or of all.

    Raises:
        NotFound: no proposal touches it.
    """
    named = read_text_argument(arguments, "proposalId")
    path, uri = (read_text_argument(arguments, name) for name in ("path", "uri"))
    found: list[Chosen] = []
    for folder, reviewed in [find_proposal(ls.session, arguments)] if named else _waiting(ls):
        in_folder = path or (ls.session.path_in(folder, uri) if uri else None)
        change = reviewed.proposal.change_of(in_folder or "")
        if change is not None:
            found.append((folder, reviewed, frozenset(hunk.id for hunk in change.hunks)))
    if not found:
        who = f"{named} does not touch" if named else "No proposal touches"
        raise NotFound(f"{who} {path or 'this file'}.")
    return found
