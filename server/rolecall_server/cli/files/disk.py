"""Writing what was accepted: the command line's own part as a client.

What is to be done to all files is stored before the first is changed, and forgotten when all are. A process that is
killed in between leaves that behind; the next command, whatever it is, makes the rest (`finish_changes`).
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from rolecall_server.cli.files.replacing import (
    Stands,
    Write,
    carry_out,
    check_untouched,
    how_far,
    put_back,
    remove_temporary_files,
    tidy_around,
)
from rolecall_server.cli.interrupts import held_back
from rolecall_server.errors import FileRefused, NotFound, StoreUnavailable
from rolecall_server.review.acceptance import FileEdit, needed_by, plan_edit, with_needs
from rolecall_server.review.proposals.anchor import path_now, standing
from rolecall_server.review.proposals.proposal import FileChange, HunkState
from rolecall_server.review.proposals.proposal_store import DECIDED, Reviewed, decide, load_proposal, remember_modes
from rolecall_server.store import Store
from rolecall_server.store.landings import begin_change, claim_abandoned_changes, end_change
from rolecall_server.store.rows import BegunRow
from rolecall_server.workspace import (
    BOM,
    TextFile,
    Workspace,
    absolute_path,
    decode,
    encode,
    new_file,
    read_bytes,
    read_text_or_none,
)

_TURN_S = 5.0
"""The time for which a command waits for another that is changing files of the same repository."""
_POLL_S = 0.05
_MAX_NAMED = 10

changed_here: list[str] = []
"""The files that this process has changed, for what is said when it is stopped."""


@dataclass(frozen=True)
class Begun:
    """A change of files, as it is stored before it begins."""

    proposal_id: str
    kind: str
    """``accept``, ``undo`` or ``reject``."""
    states: Mapping[str, HunkState]
    """Of the hunks, once it is made."""
    writes: tuple[Write, ...]


_BEGUN_JSON = TypeAdapter(Begun)


def write_accepted(store: Store, workspace: Workspace, reviewed: Reviewed, wanted: Collection[str]) -> tuple[str, ...]:
    """Write the *wanted* hunks and those they need into their files; the paths that were written.

    Raises:
        HunkStale: a file changed meanwhile and a hunk can no longer be placed.
        FileRefused: a file cannot be read any more or cannot be written, or a link leads out of the workspace.
    """
    chosen = with_needs(reviewed.proposal, reviewed.states, wanted)
    return change_files(store, workspace, reviewed, "accept", dict.fromkeys(chosen, HunkState.ACCEPTED))


def take_back(store: Store, workspace: Workspace, reviewed: Reviewed, hunk_ids: Collection[str]) -> tuple[str, ...]:
    """Take accepted hunks, and those that need them, out of their files; the paths that were written.

    Raises:
        HunkStale: what a hunk brought in was changed since.
        FileRefused: as for `write_accepted`.
    """
    along = needed_by(reviewed.proposal, reviewed.states, hunk_ids)
    states = {hunk_id: reviewed.open_state(hunk_id) for hunk_id in (*hunk_ids, *along)}
    return change_files(store, workspace, reviewed, "undo", states)


def change_files(
    store: Store, workspace: Workspace, reviewed: Reviewed, kind: str, states: Mapping[str, HunkState]
) -> tuple[str, ...]:
    """Make the files agree with the new *states* of some hunks, which are stored; the paths that were written.

    Everything is planned before anything is written, what was written is put back where a later file fails, and a
    signal that comes meanwhile ends the command afterwards.

    Raises:
        HunkStale: a hunk can no longer be placed.
        FileRefused: a file cannot be read or written, or another command is changing files here.
    """
    planned = [_plan(workspace, reviewed, change, states) for change in reviewed.proposal.files]
    begun = Begun(reviewed.proposal.id, kind, states, tuple(write for write in planned if write))
    _check_one_each(begun.writes)
    with held_back():
        number = _begin(store, workspace, reviewed, begun)
        tried: list[Write] = []
        try:
            for write in begun.writes:
                # Before it is written: what fails halfway has to be put back too.
                tried.append(write)
                carry_out(workspace, write, _staging(store))
            _store_as_done(store, workspace.root, reviewed, begun, number)
        # An interrupt as well: half of a proposal must not stay.
        except BaseException as error:
            _take_all_back(store, workspace, tried, number, error)
            raise
        written = tuple(write.path_after for write in begun.writes)
        changed_here.extend(written)
    return written


def _store_as_done(store: Store, root: Path, reviewed: Reviewed, begun: Begun, number: int) -> None:
    """Store the new states of the hunks, and what the files that are gone were like; nothing is begun any more."""
    with store.together():
        decide(store, reviewed, begun.states, "", store.add_act(root, begun.kind))
        remember_modes(
            store, begun.proposal_id, {write.path: write.mode for write in begun.writes if write.after is None}
        )
        end_change(store, number)


def reject(store: Store, workspace: Workspace, reviewed: Reviewed, reasons: Mapping[str, str]) -> None:
    """Put hunks aside for the *reasons* given, in turn with commands that are changing files.

    Raises:
        FileRefused: another command is changing files, for long, or has decided one of these just now.
    """
    states = dict.fromkeys(reasons, HunkState.REJECTED)
    number = _begin(store, workspace, reviewed, Begun(reviewed.proposal.id, "reject", states, ()))
    with store.together():
        # One act for all: undo takes back what was decided together.
        act_id = store.add_act(workspace.root, "reject")
        for hunk_id, reason in reasons.items():
            decide(store, reviewed, {hunk_id: HunkState.REJECTED}, reason, act_id)
        end_change(store, number)


def _staging(store: Store) -> Path:
    """Return the folder from which files are put in place, on most machines on the disk of the workspace."""
    return store.path.parent / "staging"


def _begin(store: Store, workspace: Workspace, reviewed: Reviewed, begun: Begun) -> int:
    """Store what is about to be done, once nobody else changes files here; its number.

    Raises:
        FileRefused: another command does, for long, or a file is another by now, or was decided on by another.
    """
    body = _BEGUN_JSON.dump_json(begun).decode()
    until_s = time.monotonic() + _TURN_S
    while (number := begin_change(store, workspace.root, body)) is None:
        if time.monotonic() > until_s:
            raise FileRefused(
                f"Another command is changing files in {workspace.root}.", "Wait for its end, then try again."
            )
        time.sleep(_POLL_S)
    try:
        _check_undecided_meanwhile(store, reviewed, begun.states)
        for write in begun.writes:
            check_untouched(workspace, write)
    except FileRefused:
        end_change(store, number)
        raise
    return number


def _check_undecided_meanwhile(store: Store, reviewed: Reviewed, hunk_ids: Collection[str]) -> None:
    """Pass where no other command has decided one of *hunk_ids* since the proposal was read.

    Raises:
        FileRefused: one has.
    """
    now = load_proposal(store, reviewed.proposal.id).states
    decided = [h for h in hunk_ids if now[h] in DECIDED and now[h] is not reviewed.states[h]]
    if decided:
        what = f"{', '.join(decided)} of {reviewed.proposal.id} was {now[decided[0]]} by another command just now."
        raise FileRefused(what, f"`rolecall log {reviewed.proposal.id}` says when.")


def _take_all_back(
    store: Store, workspace: Workspace, tried: Sequence[Write], number: int, error: BaseException
) -> None:
    """Put back what was written of *tried*, and forget that it was begun.

    Raises:
        FileRefused: a file could not be put back; the next command tries again.
    """
    # In reverse: a later file may have taken the place of an earlier one.
    ours = [write for write in reversed(tried) if _is_ours(workspace, write)]
    left = [write for write in ours if not put_back(workspace, write, _staging(store))]
    if left:
        names = ", ".join(write.path_after for write in left)
        raise FileRefused(f"{error} {names} could not be put back.", "The next command tries it again.") from error
    # The files are as they were; that it was begun is then told once more by the next command, and harms nobody.
    with suppress(StoreUnavailable):
        end_change(store, number)


def _is_ours(workspace: Workspace, write: Write) -> bool:
    return how_far(workspace, write) in (Stands.WRITTEN, Stands.BETWEEN)


def finish_changes(store: Store) -> Iterator[str]:
    """Make the rest of changes whose process was ended, or take them back; what was done, in a sentence for each.

    The disk says how far each is: the developer had accepted all of it, so the rest is written where that is possible.
    A file that somebody changed since is left as it is.
    """
    remove_temporary_files(_staging(store))
    for row in claim_abandoned_changes(store):
        try:
            begun = _BEGUN_JSON.validate_json(row.body)
            reviewed = load_proposal(store, begun.proposal_id)
        except (ValidationError, NotFound):
            end_change(store, row.id)
            yield f"What a command that was ended did to files in {row.root} cannot be told any more: look at them."
        else:
            yield _finish(store, row, begun, reviewed)


def _finish(store: Store, row: BegunRow, begun: Begun, reviewed: Reviewed) -> str:
    workspace = Workspace(Path(row.root))
    what = (
        f"A command that was to {begun.kind} {', '.join(begun.states)} of {begun.proposal_id} in {row.root} was ended"
    )
    if not workspace.root.is_dir():
        end_change(store, row.id)
        return f"{what}, and the folder is gone."
    for write in begun.writes:
        with suppress(FileRefused):
            tidy_around(workspace, write)
    far = {write.path: how_far(workspace, write) for write in begun.writes}
    if all(one is Stands.UNTOUCHED for one in far.values()):
        end_change(store, row.id)
        return f"{what} before it changed a file: nothing was written."
    foreign = [write for write in begun.writes if far[write.path] is Stands.OTHER]
    ours = [write for write in begun.writes if write not in foreign]
    try:
        for write in ours:
            carry_out(workspace, write, _staging(store))
    except FileRefused as error:
        return _take_back_begun(store, row, ours, f"{what}. {error.what}")
    states = _states_now(workspace, begun, reviewed, {write.path for write in foreign})
    _store_as_done(store, workspace.root, reviewed, replace(begun, states=states), row.id)
    missing = [write.path_after for write in ours if far[write.path] is not Stands.WRITTEN]
    done = f"{_named(missing)} {'was' if len(missing) == 1 else 'were'} missing, and written now." if missing else ""
    left = f"{_named([write.path for write in foreign])} was changed since, and left as it is." if foreign else ""
    return " ".join(filter(None, (f"{what} in the middle.", done or "All its files were written.", left)))


def _named(paths: Sequence[str]) -> str:
    more = len(paths) - _MAX_NAMED
    return ", ".join(paths[:_MAX_NAMED]) + (f" and {more} more" if more > 0 else "")


def _take_back_begun(store: Store, row: BegunRow, writes: Sequence[Write], what: str) -> str:
    workspace = Workspace(Path(row.root))
    left = [
        w.path_after for w in reversed(writes) if _is_ours(workspace, w) and not put_back(workspace, w, _staging(store))
    ]
    end_change(store, row.id)
    if left:
        return f"{what} {', '.join(left)} could not be put back either: look at it."
    return f"{what} So it was taken back: the files are as they were."


def _states_now(
    workspace: Workspace, begun: Begun, reviewed: Reviewed, foreign: Collection[str]
) -> dict[str, HunkState]:
    """Return the new states of the hunks; those in the *foreign* files are accepted where their lines stand there."""
    states = dict(begun.states)
    for change in reviewed.proposal.files:
        path = path_now(change, reviewed.accepted)
        here = [hunk.id for hunk in change.hunks if hunk.id in states]
        if path in foreign:
            now = standing(change, reviewed.accepted, here, read_text_or_none(workspace, path))
            states |= {h: HunkState.ACCEPTED if h in now else reviewed.open_state(h) for h in here}
    return states


def _check_one_each(writes: Sequence[Write]) -> None:
    """Pass where no two files would get one path.

    Raises:
        FileRefused: two would.
    """
    targets = [write.path_after for write in writes if write.after is not None]
    if twice := next((path for path in targets if targets.count(path) > 1), ""):
        raise FileRefused(f"Two files of the proposal would become {twice}.", "Reject one of them.")


def _plan(
    workspace: Workspace, reviewed: Reviewed, change: FileChange, states: Mapping[str, HunkState]
) -> Write | None:
    in_file = [hunk.id for hunk in change.hunks if hunk.id in states]
    bring_in = [h for h in in_file if states[h] is HunkState.ACCEPTED]
    take_out = [h for h in in_file if h in reviewed.accepted and h not in bring_in]
    if not bring_in and not take_out:
        return None
    path = path_now(change, reviewed.accepted)
    location = absolute_path(workspace, path)
    status = _status(location)
    if status is not None and not _is_writable(location, status):
        raise FileRefused(f"{path} is read-only.", "Make it writable, then run the command again.")
    before = read_bytes(location, path) if status is not None else None
    current = decode(path, before) if before is not None else None
    text = current.text if current else None
    edit = plan_edit(change, reviewed.accepted, text, bring_in=bring_in, take_out=take_out)
    # Not `exists`: a link that leads nowhere is in the way as well.
    if edit.moved_to and os.path.lexists(absolute_path(workspace, edit.moved_to)):
        raise FileRefused(f"{edit.moved_to} exists by now.", f"Move it away, then accept the new name of {path}.")
    mode = stat.S_IMODE(status.st_mode) if status is not None else _mode_of_new(change)
    return Write(path, edit.moved_to, before, _content(change, current, edit), mode)


def _content(change: FileChange, current: TextFile | None, edit: FileEdit) -> bytes | None:
    """Return the content of the file after *edit*, in its own encoding; a file that comes back is encoded as it was.
    ``None`` if the edit deletes it.

    Raises:
        FileRefused: the encoding lacks a character.
    """
    if edit.result is None:
        return None
    if current is None:
        if change.base is None:
            return encode(new_file(edit.path, edit.result))
        current = TextFile(edit.path, change.base, change.has_bom, change.encoding)
    return encode(replace(current, text=edit.result.removeprefix(BOM)))


def _is_writable(location: Path, status: os.stat_result) -> bool:
    """Return whether the file may be written; as the superuser may write any file, the file's own mode counts too."""
    return os.access(location, os.W_OK) and bool(stat.S_IMODE(status.st_mode) & 0o222)


def _mode_of_new(change: FileChange) -> int:
    """Return the permissions of a file that comes back, or those that any program would give a new one."""
    if change.mode:
        return change.mode & 0o777
    # The system tells the mask only to who sets it.
    mask = os.umask(0)
    os.umask(mask)
    return (0o777 if change.executable else 0o666) & ~mask


def _status(location: Path) -> os.stat_result | None:
    """Return the ``stat`` result of the file; ``None`` if there is no regular file."""
    try:
        status = location.stat()
    except OSError:
        return None
    return status if stat.S_ISREG(status.st_mode) else None
