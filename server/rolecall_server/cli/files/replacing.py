"""Single files of the workspace, changed in one step each: a change that can be made, finished and taken back.

Each function looks at the disk first, so that it can go on from wherever another process was ended.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from uuid import uuid4

from pydantic import ConfigDict

from rolecall_server.errors import FileRefused
from rolecall_server.processes import named_process, still_runs, this_process
from rolecall_server.workspace import Workspace, absolute_path, read_bytes

_TEMPORARY = ".rolecall-"


@dataclass(frozen=True)
class Write:
    """One file to be replaced, moved or removed; all it takes to do that, and to undo it."""

    __pydantic_config__ = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")

    path: str
    moved_to: str
    """The path it gets; empty where it keeps its own."""
    before: bytes | None
    """The bytes that the file held when this was planned; ``None`` where there was none."""
    after: bytes | None
    """The bytes that it shall hold; ``None`` where it goes."""
    mode: int
    """The permissions of the file."""

    @property
    def path_after(self) -> str:
        """Return the path of the file after the edit."""
        return self.moved_to or self.path


class Stands(StrEnum):
    """The progress of a write, as the files on the disk show it."""

    UNTOUCHED = "untouched"
    BETWEEN = "between"
    """The new text has not yet its new name."""
    WRITTEN = "written"
    OTHER = "other"
    """Somebody else changed the file."""


def how_far(workspace: Workspace, write: Write) -> Stands:
    """Return how far *write* is, read off the disk."""
    try:
        here = _content(workspace, write.path)
        there = _content(workspace, write.moved_to) if write.moved_to else None
    except FileRefused:
        return Stands.OTHER
    if (here, there) == (write.before, None):
        return Stands.UNTOUCHED
    if (here, there) == ((None, write.after) if write.moved_to else (write.after, None)):
        return Stands.WRITTEN
    return Stands.BETWEEN if write.moved_to and (here, there) == (write.after, None) else Stands.OTHER


def _content(workspace: Workspace, path: str) -> bytes | None:
    """Return what the file at *path* holds; ``None`` where there is nothing.

    Raises:
        FileRefused: what lies there is no file that could be read.
    """
    location = absolute_path(workspace, path)
    return read_bytes(location, path) if os.path.lexists(location) else None


def carry_out(workspace: Workspace, write: Write, staging: Path) -> None:
    """Change the file on the disk, from wherever it is on the way.

    Raises:
        FileRefused: the folder cannot be written, something is in the way, or somebody else changed the file.
    """
    stands = how_far(workspace, write)
    if stands is Stands.OTHER:
        raise _changed(workspace, write)
    try:
        if stands is not Stands.WRITTEN:
            _change(workspace, write, staging)
    except OSError as error:
        raise _not_written(write.path, error) from error


def check_untouched(workspace: Workspace, write: Write) -> None:
    """Pass where the file is as it was when *write* was planned.

    Raises:
        FileRefused: it is another by now, or something is in its way.
    """
    if how_far(workspace, write) is not Stands.UNTOUCHED:
        raise _changed(workspace, write)


def put_back(workspace: Workspace, write: Write, staging: Path) -> bool:
    """Have the file on the disk be as it was before *write*; return whether it is."""
    with suppress(OSError, FileRefused):
        if how_far(workspace, write) in (Stands.WRITTEN, Stands.BETWEEN):
            _change_back(workspace, write, staging)
    return how_far(workspace, write) is Stands.UNTOUCHED


def _change(workspace: Workspace, write: Write, staging: Path) -> None:
    location = absolute_path(workspace, write.path)
    if write.after is None:
        location.unlink()
        _drop_empty_folders(workspace, location.parent)
        return
    if _content(workspace, write.path) != write.after:
        _replace(location, write.after, write.mode, staging)
    if write.moved_to:
        _move(workspace, location, absolute_path(workspace, write.moved_to))


def _change_back(workspace: Workspace, write: Write, staging: Path) -> None:
    location = absolute_path(workspace, write.path)
    if write.moved_to and _content(workspace, write.moved_to) is not None:
        _move(workspace, absolute_path(workspace, write.moved_to), location)
    if write.before is None:
        location.unlink()
        _drop_empty_folders(workspace, location.parent)
    elif _content(workspace, write.path) != write.before:
        _replace(location, write.before, write.mode, staging)


def _move(workspace: Workspace, location: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    location.rename(target)
    _drop_empty_folders(workspace, location.parent)


def _changed(workspace: Workspace, write: Write) -> FileRefused:
    """Return what keeps *write* from being made: what is in the way of the file, else that it is another by now."""
    for path in filter(None, (write.path, write.moved_to)):
        try:
            absolute_path(workspace, path).lstat()
        except FileNotFoundError:
            pass
        except OSError as error:
            return _not_written(path, error)
    return FileRefused(f"{write.path} was changed just now.", "Run the command again.")


def _not_written(path: str, error: OSError) -> FileRefused:
    is_full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    what_to_do = "Free some space" if is_full else "Make its folder writable"
    return FileRefused(f"{path} cannot be written: {error.strerror}.", f"{what_to_do}, then run the command again.")


def _drop_empty_folders(workspace: Workspace, folder: Path) -> None:
    """Remove *folder*, and those around it, as long as nothing is in them: as git does."""
    with suppress(OSError):
        while folder != workspace.root and folder.is_relative_to(workspace.root):
            # A folder that was never made is passed over; one that is not empty ends the loop with an error.
            with suppress(FileNotFoundError):
                folder.rmdir()
            folder = folder.parent


def _replace(location: Path, content: bytes, mode: int, staging: Path) -> None:
    """Put *content* in place of the file in one step: who reads it meanwhile reads the old text or the new one.

    It comes from *staging*, outside the workspace, so that nothing else is ever seen in the workspace; only where that
    is another disk, from beside the file. It is not synced, as no editor's save is: that the disk keeps it when the
    power fails is the file system's part.
    """
    location.parent.mkdir(parents=True, exist_ok=True)
    staging.mkdir(mode=0o700, exist_ok=True)
    # Its name says whose it is: what is left of a killed writer is known, and removed, by that.
    name = f"{_TEMPORARY}{this_process()}-{uuid4().hex}"
    try:
        _replace_from(staging / name, location, content, mode)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        _replace_from(location.with_name(name), location, content, mode)


def _replace_from(temporary: Path, location: Path, content: bytes, mode: int) -> None:
    try:
        # `x`: nothing that lies there already, a link above all, is written through.
        with temporary.open("xb") as file:
            file.write(content)
        _hand_over(temporary, location)
        # The mode comes last: a change of the owner takes the set-user-ID bit away.
        temporary.chmod(mode)
        temporary.replace(location)
    finally:
        temporary.unlink(missing_ok=True)


def _hand_over(temporary: Path, location: Path) -> None:
    """Give *temporary* the owner and the group that a file at *location* has, or would get, as far as we may."""
    # Windows has no `os.chown`: that is the AttributeError.
    with suppress(OSError, AttributeError):
        if location.exists():
            os.chown(temporary, location.stat().st_uid, location.stat().st_gid)
        # The file was made in another folder, so it did not take over the group of this one.
        elif location.parent.stat().st_mode & stat.S_ISGID:
            os.chown(temporary, -1, location.parent.stat().st_gid)


def tidy_around(workspace: Workspace, write: Write) -> None:
    """Remove what a writer that has ended left around the file: its temporary files, and folders that it made in vain.

    Raises:
        FileRefused: the file does not lie in the workspace any more.
    """
    location = absolute_path(workspace, write.path)
    remove_temporary_files(location.parent)
    for new in filter(None, (write.path if write.before is None else "", write.moved_to)):
        _drop_empty_folders(workspace, absolute_path(workspace, new).parent)


def remove_temporary_files(folder: Path) -> None:
    """Remove what writers that have ended left in *folder*."""
    for path in folder.glob(f"{_TEMPORARY}*-*"):
        writer = named_process(path.name.removeprefix(_TEMPORARY))
        if writer is not None and not path.is_symlink() and not still_runs(writer):
            with suppress(OSError):
                path.unlink()
