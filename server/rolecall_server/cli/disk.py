"""Writing what was accepted: the command line's own part as a client."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from rolecall_server.errors import FileRefused
from rolecall_server.review.acceptance import plan_acceptance, with_needs
from rolecall_server.review.proposal import FileChange, HunkState
from rolecall_server.review.shelf import Reviewed, decide
from rolecall_server.store import Store
from rolecall_server.workspace import BOM, Workspace, absolute_path, file_exists, read_text_file


@dataclass(frozen=True)
class _Write:
    """One file to be replaced, and the hunks that come in by it."""

    path: str
    location: Path
    """With links resolved: what a link points to is written, the link stays."""
    text: str
    hunk_ids: tuple[str, ...]


def write_accepted(store: Store, workspace: Workspace, reviewed: Reviewed, wanted: Collection[str]) -> tuple[str, ...]:
    """Write the *wanted* hunks and those they need into their files; the paths that were written.

    Everything is planned before anything is written, so a hunk that no longer fits stops all of it.

    Raises:
        HunkStale: a file changed meanwhile and a hunk can no longer be placed.
        FileRefused: a file cannot be read any more or cannot be written, or a link leads out of the workspace.
    """
    chosen = with_needs(reviewed.proposal, reviewed.states, wanted)
    in_files = [(change, [hunk.id for hunk in change.hunks if hunk.id in chosen]) for change in reviewed.proposal.files]
    writes = [_plan(workspace, reviewed, change, hunk_ids) for change, hunk_ids in in_files if hunk_ids]
    for write in writes:
        _replace(write)
        reviewed = decide(store, reviewed, write.hunk_ids, HunkState.ACCEPTED)
    return tuple(write.path for write in writes)


def _plan(workspace: Workspace, reviewed: Reviewed, change: FileChange, hunk_ids: Collection[str]) -> _Write:
    current = read_text_file(workspace, change.path) if file_exists(workspace, change.path) else None
    location = absolute_path(workspace, change.path)
    if current is not None and not _is_writable(location):
        raise FileRefused(f"{change.path} is read-only.", "Make it writable, then run the command again.")
    edit = plan_acceptance(change, reviewed.accepted, hunk_ids, current.text if current else None)
    mark = BOM if current is not None and current.has_bom else ""
    return _Write(change.path, location, mark + edit.result, tuple(hunk_ids))


def _is_writable(location: Path) -> bool:
    """Whether the file may be written; to the superuser everything may, so the file's own mode counts too."""
    return os.access(location, os.W_OK) and bool(stat.S_IMODE(location.stat().st_mode) & 0o222)


def _replace(write: _Write) -> None:
    """Put the text in place of the file in one step, keeping its permissions.

    Raises:
        FileRefused: the folder cannot be written, or something is in the way; the file is as it was.
    """
    try:
        write.location.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=write.location.parent, prefix=".rolecall-")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(write.text.encode("utf-8"))
            if write.location.exists():
                shutil.copymode(write.location, temporary)
            else:
                Path(temporary).chmod(0o666 & ~_umask())
            Path(temporary).replace(write.location)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise FileRefused(
            f"{write.path} cannot be written: {error.strerror}.",
            "Make its folder writable, then run the command again.",
        ) from error


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
