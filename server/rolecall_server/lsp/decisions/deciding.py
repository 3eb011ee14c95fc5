"""Decisions from an editor: the server plans the edit, the editor makes it, the text says what came of it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Mapping, Sequence
from functools import partial

from lsprotocol import types

from rolecall_server.errors import FileRefused, UserMustAct
from rolecall_server.lsp.asking import choose, confirm
from rolecall_server.lsp.decisions.applying import differing_edits, make_edits, make_possible, text_after
from rolecall_server.lsp.folders import current_snapshot
from rolecall_server.lsp.proposals.hunks import look_again, reload_proposal, show_hunks
from rolecall_server.lsp.runs.selection_trials import try_what_is_left
from rolecall_server.lsp.server import RolecallServer
from rolecall_server.lsp.session import Folder
from rolecall_server.review.acceptance import (
    FileEdit,
    edit_between,
    inverse_edit,
    needed_by,
    plan_edit,
    steps_of,
    with_needs,
)
from rolecall_server.review.guards.guarded_paths import guarded_paths
from rolecall_server.review.proposals.anchor import path_now
from rolecall_server.review.proposals.proposal import FileChange, HunkState
from rolecall_server.review.proposals.proposal_store import Reviewed, check_undecided, decide, edit_hunk, put_aside
from rolecall_server.review.proposals.rendering import headline
from rolecall_server.review.selection import Lack, describe_lacks, failing, lacks_of, trial_of
from rolecall_server.store import LandingRow
from rolecall_server.store.landings import add_landings, forget_landings
from rolecall_server.team.lessons.learning import hand_over
from rolecall_server.team.messages.board import load_pool
from rolecall_server.team.sprint.proposing import work_to_redo
from rolecall_server.workspace import BOM, UTF_8, Workspace, absolute_path, file_exists, read_text_file

logger = logging.getLogger(__name__)

_SYNC_POLL_S = 0.02
_CHANGE = "Change it"
_ANYWAY = "Accept anyway"
_PUT_BACK = "Put the old text back"


async def accept_hunks(
    ls: RolecallServer, folder: Folder, proposal_id: str, hunk_ids: Collection[str], *, act_id: int | None = None
) -> None:
    """Have the editor make the edit of *hunk_ids* and of the hunks on offer that they need, as a part of the act of
    that number where it is one of several.

    Raises:
        HunkStale: one of them can no longer be placed; nothing is changed.
        NotFound: one of them does not exist or was decided before.
        EditRefused: the editor did not make the edit; nothing was decided.

    What would be missing without the hunks that are left out is asked about first, and each guarded file by name.
    """
    reviewed = reload_proposal(ls, folder, proposal_id)
    check_undecided(reviewed, hunk_ids)
    wanted = await _settle_what_is_missing(ls, folder, reviewed, hunk_ids)
    if wanted and await _confirm_guarded(ls, folder, reviewed, wanted):
        # What would be missing may have been rejected before; only what is on offer can be accepted.
        turned_down = [hunk_id for hunk_id in wanted if reviewed.states[hunk_id] is HunkState.REJECTED]
        if turned_down:
            await undo_decisions(ls, folder, proposal_id, turned_down)
        await _change_text(ls, folder, proposal_id, "accept", dict.fromkeys(wanted, HunkState.ACCEPTED), act_id=act_id)


async def _settle_what_is_missing(
    ls: RolecallServer, folder: Folder, reviewed: Reviewed, hunk_ids: Collection[str]
) -> tuple[str, ...]:
    """Return the hunks to accept, with what they would lack where the developer wants that; none: it was cancelled.

    Raises:
        HunkStale: one of them can no longer be placed.
    """
    wanted = with_needs(reviewed.proposal, reviewed.states, hunk_ids)
    while lacks := await _lacks(ls, folder, reviewed, wanted):
        named = dict.fromkeys(hunk_id for lack in lacks for hunk_id in lack.hunks)
        missing = [hunk_id for hunk_id in named if reviewed.states[hunk_id] is not HunkState.STALE]
        too = [f"Accept {', '.join(missing)} too"] if missing else []
        question = f"{reviewed.proposal.id} would break: {describe_lacks(lacks)}."
        chosen = await confirm(ls, question, [*too, _ANYWAY, "Cancel"])
        if chosen == _ANYWAY:
            return wanted
        if chosen not in too:
            ls.tell("nothing was accepted, for something would be missing.")
            return ()
        wanted = with_needs(reviewed.proposal, reviewed.states, {*wanted, *missing})
    return wanted


async def _lacks(ls: RolecallServer, folder: Folder, reviewed: Reviewed, wanted: Collection[str]) -> tuple[Lack, ...]:
    if {*wanted} >= reviewed.states.keys() - reviewed.accepted:
        return ()
    snapshot = await current_snapshot(ls.session, folder)
    read_text = partial(ls.session.read_text, folder)
    lacks = await asyncio.to_thread(lacks_of, reviewed, wanted, snapshot, read_text)
    return (*lacks, *failing(reviewed, trial_of(reviewed, wanted, read_text)))


async def _confirm_guarded(ls: RolecallServer, folder: Folder, reviewed: Reviewed, hunk_ids: Collection[str]) -> bool:
    """Ask the developer, file by file, whether guarded files may be changed, and return whether all are confirmed; no
    answer means no.
    """
    for path, why in guarded_paths(ls.session.workspace(folder), reviewed.proposal, hunk_ids).items():
        question = f"{reviewed.proposal.id} changes {path}, which is guarded: {why}. Change it?"
        if await confirm(ls, question, ["Leave it", _CHANGE]) != _CHANGE:
            ls.tell(f"{path} was left as it is; nothing was decided.")
            return False
    return True


def reject_hunks(
    ls: RolecallServer,
    folder: Folder,
    proposal_id: str,
    hunk_ids: Collection[str],
    reason: str = "",
    *,
    act_id: int | None = None,
) -> None:
    """Put *hunk_ids* aside, as a part of the act of that number where it is one of several; no text changes.

    Raises:
        NotFound: one of them does not exist or was decided before.
        UserMustAct: the editor is just making its edit.
    """
    store = ls.session.store
    reviewed = reload_proposal(ls, folder, proposal_id)
    check_undecided(reviewed, hunk_ids)
    check_at_rest(folder, proposal_id, hunk_ids)
    with store.together():
        put_aside(store, reviewed, hunk_ids, reason, act_id or store.add_act(folder.root, "reject"))
    reload_proposal(ls, folder, proposal_id)
    _offer_lessons(ls, folder, reviewed)
    look_again(ls, folder, ())
    try_what_is_left(ls, folder, proposal_id)


def replace_hunk_text(ls: RolecallServer, folder: Folder, proposal_id: str, hunk_id: str, text: str) -> None:
    """Offer *text* in place of what the role proposed for a hunk.

    Raises:
        NotFound: there is no such hunk, or it was decided before.
        FileRefused: it has no text.
        UserMustAct: the editor is just making its edit.
    """
    store = ls.session.store
    reviewed = reload_proposal(ls, folder, proposal_id)
    check_undecided(reviewed, [hunk_id])
    check_at_rest(folder, proposal_id, [hunk_id])
    with store.together():
        edit_hunk(store, reviewed, hunk_id, text, store.add_act(folder.root, "edit"))
    reload_proposal(ls, folder, proposal_id)
    look_again(ls, folder, ())
    try_what_is_left(ls, folder, proposal_id)


def check_at_rest(folder: Folder, proposal_id: str, hunk_ids: Collection[str]) -> None:
    """Pass where the editor is not just bringing one of *hunk_ids* in; else its answer would undo what was decided.

    Raises:
        UserMustAct: it is.
    """
    moving = [hunk_id for hunk_id in hunk_ids if (proposal_id, hunk_id) in folder.edits.in_flight]
    if moving:
        raise UserMustAct(f"The editor is just changing the text for {', '.join(moving)}.", "Wait, then undo it.")


async def undo_decisions(ls: RolecallServer, folder: Folder, proposal_id: str, hunk_ids: Collection[str]) -> None:
    """Take back what was decided on *hunk_ids*: accepted ones leave the text, rejected ones are offered again.

    Accepted hunks that need one of them leave with them.

    Raises:
        HunkStale: the lines an accepted hunk brought in were changed since; nothing is undone.
        EditRefused: the editor did not make the edit; nothing is undone.
    """
    reviewed = reload_proposal(ls, folder, proposal_id)
    along = needed_by(reviewed.proposal, reviewed.states, [h for h in hunk_ids if h in reviewed.accepted])
    decided = [h for h in (*hunk_ids, *along) if reviewed.states.get(h) in (HunkState.ACCEPTED, HunkState.REJECTED)]
    await _change_text(ls, folder, proposal_id, "undo", {h: reviewed.open_state(h) for h in decided})


async def _change_text(
    ls: RolecallServer,
    folder: Folder,
    proposal_id: str,
    kind: str,
    states: Mapping[str, HunkState],
    *,
    act_id: int | None = None,
) -> None:
    """Bring hunks into the text and take others out of it, as their new *states* say, and store those."""
    store = ls.session.store
    async with folder.edits.lock:
        try:
            reviewed = reload_proposal(ls, folder, proposal_id)
            if kind == "accept":
                check_undecided(reviewed, states)  # something else may have been decided while this one waited
            folder.edits.in_flight = frozenset((proposal_id, hunk_id) for hunk_id in states)
            edits = _plan(ls, folder, reviewed, states)
            touched = {path for edit in edits for path in (edit.path, edit.path_after)}
            _record(ls, folder, reviewed, states, edits)
            await make_edits(ls, folder, edits, f"Rolecall: {reviewed.proposal.title}")
            with store.together():
                decide(store, reviewed, states, "", act_id or store.add_act(folder.root, kind))
            folder.edits.standing.update(
                {path: len(chain) for path, chain in folder.edits.chains.items() if path in touched}
            )
            differing = await differing_edits(ls, folder, edits)
        finally:
            folder.edits.in_flight = frozenset()
            _look_at_all(ls, folder, proposal_id)
    if differing:
        # Outside of the lock: the question may stand for long, and other decisions wait for that.
        ls.later(_offer_inverse(ls, folder, edits, differing))


def _offer_lessons(ls: RolecallServer, folder: Folder, reviewed: Reviewed) -> None:
    """Have what a run of the team taught waiting as a proposal, once the last of it is decided."""
    store, run_id = ls.session.store, reviewed.proposal.run_id
    made = hand_over(store, ls.session.workspace(folder), run_id)
    for proposal_id in made:
        offer = reload_proposal(ls, folder, proposal_id)
        if offer.undecided:
            ls.tell(f"your reasons can be rules from now on. {headline(offer.proposal)}")
    again = work_to_redo(store, load_pool(store, run_id)) if made else ()
    if again:
        ls.tell(f"the command rolecall.run.resume has {', '.join(again)} done again, by your reasons ({run_id}).")


def _look_at_all(ls: RolecallServer, folder: Folder, proposal_id: str) -> None:
    _offer_lessons(ls, folder, reload_proposal(ls, folder, proposal_id))
    paths, folder.edits.moved = folder.edits.moved, set()
    look_again(ls, folder, [*paths, *folder.edits.chains])


def _plan(
    ls: RolecallServer, folder: Folder, reviewed: Reviewed, states: Mapping[str, HunkState]
) -> tuple[FileEdit, ...]:
    """Return the edits, file by file, after which exactly the accepted hunks are in the text."""
    session, edits = ls.session, list[FileEdit]()
    workspace = session.workspace(folder)
    for change in reviewed.proposal.files:
        in_file = {hunk.id: states[hunk.id] for hunk in change.hunks if hunk.id in states}
        bring_in = [h for h, state in in_file.items() if state is HunkState.ACCEPTED]
        take_out = [h for h, state in in_file.items() if h in reviewed.accepted and state is not HunkState.ACCEPTED]
        if not bring_in and not take_out:
            continue
        path = path_now(change, reviewed.accepted)
        absolute_path(workspace, path)  # still inside, whatever happened since
        _check_encoding(ls, folder, path)
        current = session.read_text(folder, path)
        edit = None if bring_in else _exact_inverse(folder, reviewed, change, current, take_out)
        edit = edit or plan_edit(change, reviewed.accepted, current, bring_in=bring_in, take_out=take_out)
        taken = any(other.path_after == edit.path_after for other in edits)
        if taken or (edit.moved_to and session.read_text(folder, edit.moved_to) is not None):
            raise FileRefused(f"{edit.path_after} exists by now.", f"Move it away, then accept the new name of {path}.")
        _check_operations(ls, edit)
        edits.append(edit)
    return tuple(edits)


def _exact_inverse(
    folder: Folder, reviewed: Reviewed, change: FileChange, current: str | None, take_out: Collection[str]
) -> FileEdit | None:
    """Return the edit that takes back the last step of a file, if it is that of these hunks and the text is still what
    it left; else ``None``.

    It needs no lines to hold on to, so it is there even beside lines that another proposal or the developer changed.
    """
    path = path_now(change, reviewed.accepted)
    made, chain = folder.edits.made.get(path), folder.edits.chains.get(path)
    if made is None or not chain or made.current is None or current != made.result:
        return None
    last = chain[-1]
    if last.proposal_id != reviewed.proposal.id or {*last.brought_in} != {*take_out} or last.taken_out:
        return None
    marked = current is None and change.has_bom and not made.current.startswith(BOM)
    return edit_between(path, None, BOM + made.current) if marked else inverse_edit(made)


def _check_encoding(ls: RolecallServer, folder: Folder, path: str) -> None:
    """Pass where the editor is sure to read *path* as the server does.

    Raises:
        FileRefused: nobody has opened it yet, and it is not UTF-8.
    """
    workspace = Workspace(folder.root)
    if ls.session.document_at(folder, path) is None and file_exists(workspace, path):
        encoding = read_text_file(workspace, path).encoding
        if encoding != UTF_8:
            raise FileRefused(f"{path} is {encoding}, which an editor may take for something else.", "Open it first.")


def _check_operations(ls: RolecallServer, edit: FileEdit) -> None:
    """Pass where the editor can do what *edit* asks of it.

    Raises:
        FileRefused: it cannot delete or rename files.
    """
    if edit.deletes and not ls.session.client.delete_files:
        raise FileRefused(f"This editor cannot delete {edit.path}.", "Delete it yourself, then reject the hunk.")
    if edit.moved_to and not ls.session.client.rename_files:
        raise FileRefused(f"This editor cannot rename {edit.path}.", f"Rename it to {edit.moved_to} yourself.")


def _record(
    ls: RolecallServer,
    folder: Folder,
    reviewed: Reviewed,
    states: Mapping[str, HunkState],
    edits: Sequence[FileEdit],
) -> None:
    """Store what is about to happen to each file, before the editor is asked; what no longer stands is dropped."""
    store, chains = ls.session.store, folder.edits.chains
    dropped, planned = list[int](), list[LandingRow]()
    for edit in edits:
        change = reviewed.proposal.change_of(edit.path)
        if change is None:
            continue
        steps = list(steps_of(reviewed.proposal.id, change, edit, states, reviewed.accepted))
        for step in steps:
            chain = chains.setdefault(step.path, [])
            standing = folder.edits.standing.get(step.path, len(chain))
            dropped += [landing.id for landing in chain[standing:]]
            del chain[standing:]
            folder.edits.made.pop(step.path, None)
        if not edit.moved_to:
            folder.edits.made[edit.path] = edit
        planned += steps
    with store.together():
        forget_landings(store, dropped)
        landings = add_landings(store, folder.root, planned)
    for landing in landings:
        chain = folder.edits.chains[landing.path]
        folder.edits.standing[landing.path] = len(chain)
        chain.append(landing)


async def _offer_inverse(
    ls: RolecallServer, folder: Folder, edits: Sequence[FileEdit], differing: Sequence[FileEdit]
) -> None:
    """Say that another text came out than was accepted, and take all *edits* back where the developer wants it."""
    names = ", ".join(edit.path_after for edit in differing)
    came = {edit: text_after(ls, folder, edit) for edit in edits}
    question = f"{names} differs from what was accepted: something else changed it meanwhile."
    if await choose(ls, question, [_PUT_BACK, "Keep it"], types.MessageType.Warning) != _PUT_BACK:
        return
    async with folder.edits.lock:
        since = [edit.path_after for edit, text in came.items() if text_after(ls, folder, edit) != text]
        if since:
            ls.tell(f"{', '.join(since)} was edited since, so nothing was put back.", types.MessageType.Warning)
            return
        inverse = [_taking_back(edit, text) for edit, text in came.items() if text != edit.current or edit.moved_to]
        reason = await make_possible(ls, folder, inverse, "Rolecall: put back")
    show_hunks(ls, folder)
    if reason is not None:
        ls.tell(f"the old text could not be put back: {reason}", types.MessageType.Warning)


def _taking_back(edit: FileEdit, text: str | None) -> FileEdit:
    """Return the edit that takes *edit* back on the *text* that came of it."""
    return inverse_edit(edit) if text == edit.result else edit_between(edit.path_after, text, edit.current)
