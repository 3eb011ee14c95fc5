"""Writing what was accepted: the command line's own part as a client."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Collection
from pathlib import Path

from rolecall_server.review.acceptance import FileEdit, plan_acceptance, with_needs
from rolecall_server.review.proposal import HunkState
from rolecall_server.review.shelf import Reviewed, decide
from rolecall_server.store import Store
from rolecall_server.workspace import BOM, Workspace, absolute_path, file_exists, read_text_file


def write_accepted(store: Store, workspace: Workspace, reviewed: Reviewed, wanted: Collection[str]) -> tuple[str, ...]:
    """Write the *wanted* hunks and those they need into their files; the paths that were written.

    Everything is planned before anything is written, so a hunk that no longer fits stops all of it.

    Raises:
        HunkStale: a file changed meanwhile and a hunk can no longer be placed.
        FileRefused: a file cannot be read any more, or a link leads out of the workspace.
    """
    chosen = with_needs(reviewed.proposal, reviewed.states, wanted)
    planned: list[tuple[FileEdit, bool]] = []
    for change in reviewed.proposal.files:
        in_file = [hunk.id for hunk in change.hunks if hunk.id in chosen]
        if in_file:
            current = read_text_file(workspace, change.path) if file_exists(workspace, change.path) else None
            edit = plan_acceptance(change, reviewed.accepted, in_file, current.text if current else None)
            planned.append((edit, bool(current and current.has_bom)))
    for edit, has_bom in planned:
        _replace(absolute_path(workspace, edit.path), (BOM if has_bom else "") + edit.result)
    if chosen:
        decide(store, reviewed, chosen, HunkState.ACCEPTED)
    return tuple(edit.path for edit, _ in planned)


def _replace(location: Path, text: str) -> None:
    """Put *text* in place of the file in one step, keeping its permissions."""
    location.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=location.parent, prefix=f".{location.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode("utf-8"))
        if location.exists():
            shutil.copymode(location, temporary)
        else:
            Path(temporary).chmod(0o666 & ~_umask())
        Path(temporary).replace(location)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
