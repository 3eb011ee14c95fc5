"""Writing what was accepted: the command line's own part as a client."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import uuid4

from rolecall_server.errors import FileRefused
from rolecall_server.review.acceptance import FileEdit, needed_by, plan_edit, with_needs
from rolecall_server.review.anchor import path_now
from rolecall_server.review.landings import fingerprint
from rolecall_server.review.proposal import FileChange, HunkState
from rolecall_server.review.shelf import Reviewed, decide
from rolecall_server.store import LandingRow, Store
from rolecall_server.store.landings import add_landings, forget_landings
from rolecall_server.workspace import (
    BOM,
    TextFile,
    Workspace,
    absolute_path,
    decode,
    encode,
    new_file,
    read_bytes,
)


@dataclass(frozen=True)
class _Write:
    """One file to be replaced, moved or removed."""

    edit: FileEdit
    location: Path
    """With links resolved: what a link points to is written, the link stays."""
    before: bytes | None
    """What the file held when this was planned; ``None`` where there was none."""
    status: os.stat_result | None
    """Of the file then."""
    content: bytes
    """What the file shall hold."""
    mode: int
    """What may be done with it afterwards, and by whom."""
    landing: LandingRow


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

    Everything is planned before anything is written, and what was written is put back where a later file fails.

    Raises:
        HunkStale: a hunk can no longer be placed.
        FileRefused: a file cannot be read or written.
    """
    writes = [write for change in reviewed.proposal.files if (write := _plan(workspace, reviewed, change, states))]
    _check_one_each(writes)
    landings = add_landings(store, workspace.root, [write.landing for write in writes])
    try:
        _carry_out_all(workspace, writes)
    except BaseException:
        forget_landings(store, [landing.id for landing in landings])
        raise
    with store.together():
        decide(store, reviewed, states, "", store.add_act(workspace.root, kind))
        forget_landings(store, [landing.id for landing in landings])
    return tuple(write.edit.path_after for write in writes)


def _carry_out_all(workspace: Workspace, writes: Sequence[_Write]) -> None:
    """Change the files on the disk, all or none.

    Raises:
        FileRefused: one of them could not be changed.
    """
    done: list[_Write] = []
    try:
        for write in writes:
            _carry_out(workspace, write)
            done.append(write)
    except BaseException:
        for write in reversed(done):
            _put_back(workspace, write)
        raise


def _check_one_each(writes: Sequence[_Write]) -> None:
    """Pass where no two files would get one path.

    Raises:
        FileRefused: two would.
    """
    targets = [write.edit.path_after for write in writes if not write.edit.deletes]
    if twice := next((path for path in targets if targets.count(path) > 1), ""):
        raise FileRefused(f"Two files of the proposal would become {twice}.", "Reject one of them.")


def _plan(
    workspace: Workspace, reviewed: Reviewed, change: FileChange, states: Mapping[str, HunkState]
) -> _Write | None:
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
    if edit.moved_to and os.path.lexists(absolute_path(workspace, edit.moved_to)):
        raise FileRefused(f"{edit.moved_to} exists by now.", f"Move it away, then accept the new name of {path}.")
    landing = LandingRow(
        0,
        path,
        reviewed.proposal.id,
        tuple(bring_in),
        tuple(take_out),
        change.base_sha256 if edit.current == change.base else fingerprint(edit.current),
        fingerprint(edit.result),
        os.getpid(),
    )
    mode = stat.S_IMODE(status.st_mode) if status is not None else _mode_of_new(change)
    return _Write(edit, location, before, status, _content(change, current, edit), mode, landing)


def _content(change: FileChange, current: TextFile | None, edit: FileEdit) -> bytes:
    """What the file holds with *edit* made, in its own encoding; one that comes back is as it was.

    Raises:
        FileRefused: the encoding lacks a character.
    """
    if edit.result is None:
        return b""
    if current is None:
        if change.base is None:
            return encode(new_file(edit.path, edit.result))
        current = TextFile(edit.path, change.base, change.has_bom, change.encoding)
    return encode(replace(current, text=edit.result.removeprefix(BOM)))


def _is_writable(location: Path, status: os.stat_result) -> bool:
    """Whether the file may be written; to the superuser everything may, so the file's own mode counts too."""
    return os.access(location, os.W_OK) and bool(stat.S_IMODE(status.st_mode) & 0o222)


def _mode_of_new(change: FileChange) -> int:
    """The permissions of a file that is made, or that comes back: as any program would make it."""
    mask = os.umask(0)
    os.umask(mask)
    return (0o777 if change.executable else 0o666) & ~mask


def _carry_out(workspace: Workspace, write: _Write) -> None:
    """Change the file on the disk.

    Raises:
        FileRefused: the folder cannot be written, something is in the way, or the file changed since this was planned;
            it is as it was.
    """
    try:
        _check_unchanged(write)
        if write.edit.deletes:
            write.location.unlink()
            _drop_empty_folders(workspace, write.location.parent)
            return
        write.location.parent.mkdir(parents=True, exist_ok=True)
        _replace(write.location, write.content, write.mode)
        if write.edit.moved_to:
            target = absolute_path(workspace, write.edit.moved_to)
            target.parent.mkdir(parents=True, exist_ok=True)
            write.location.rename(target)
            _drop_empty_folders(workspace, write.location.parent)
    except OSError as error:
        raise FileRefused(
            f"{write.edit.path} cannot be written: {error.strerror}.",
            "Make its folder writable, then run the command again.",
        ) from error


def _check_unchanged(write: _Write) -> None:
    """Pass where the file is still the one that was read.

    Raises:
        FileRefused: it is another by now.
    """
    now = _status(write.location)
    if (now and _stamp(now)) != (write.status and _stamp(write.status)):
        raise FileRefused(f"{write.edit.path} was changed just now.", "Run the command again.")


def _status(location: Path) -> os.stat_result | None:
    """What the system knows of the file; ``None`` where there is none."""
    try:
        status = location.stat()
    except OSError:
        return None
    return status if stat.S_ISREG(status.st_mode) else None


def _stamp(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_mtime_ns, status.st_size, status.st_ino


def _drop_empty_folders(workspace: Workspace, folder: Path) -> None:
    """Remove *folder*, and those around it, as long as nothing is in them: as git does."""
    with suppress(OSError):
        while folder != workspace.root and folder.is_relative_to(workspace.root):
            folder.rmdir()
            folder = folder.parent


def _put_back(workspace: Workspace, write: _Write) -> None:
    write.location.parent.mkdir(parents=True, exist_ok=True)
    if write.edit.moved_to:
        absolute_path(workspace, write.edit.moved_to).rename(write.location)
    if write.before is None:
        write.location.unlink()
    else:
        _replace(write.location, write.before, write.mode)


def _replace(location: Path, content: bytes, mode: int) -> None:
    """Put *content* in place of the file in one step: who reads it meanwhile reads the old text or the new one.

    It is not synced, as no editor's save is: that the disk keeps it when the power fails is the file system's part.
    """
    temporary = location.with_name(f".rolecall-{uuid4().hex}")
    try:
        with temporary.open("xb") as file:
            file.write(content)
        temporary.chmod(mode)
        temporary.replace(location)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
