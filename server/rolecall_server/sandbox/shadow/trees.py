"""Folders with all they hold: removing one, and seeing whether one has changed."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from rolecall_server.processes import named_process, still_runs, this_process
from rolecall_server.sandbox.shadow.copying import entries

_TEMPORARY = "rolecall-"

Stamp = tuple[int, int, int, int]
"""Number, size, and the times of the last change of content and of anything, in ns: which no program sets at will."""


def stamps(root: Path) -> Mapping[str, Stamp]:
    """Return the stamp of every file below *root* that belongs to the repository, by its path relative to it."""
    found: dict[str, Stamp] = {}
    for entry in entries(root, None):
        try:
            status = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            continue
        if not entry.is_dir(follow_symlinks=False):
            relative = os.path.relpath(entry.path, root)
            found[relative] = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    return found


def differences(before: Mapping[str, Stamp], after: Mapping[str, Stamp]) -> tuple[str, ...]:
    """Return the paths of the files that are new, gone or changed, sorted."""
    return tuple(sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path)))


def remove_tree(folder: Path) -> None:
    """Removes *folder* and all below it, read-only folders included."""
    shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():
        _open_up(folder)
        shutil.rmtree(folder, ignore_errors=True)


def _open_up(folder: Path) -> None:
    folder.chmod(0o700)
    # From the top down: each folder is opened before the walk looks inside.
    for parent, names, _ in os.walk(folder):
        for below in (Path(parent, name) for name in names):
            if not below.is_symlink():
                below.chmod(0o700)


def temporary_prefix() -> str:
    """Return how the name of each temporary folder of this process begins: it tells whose it is."""
    return f"{_TEMPORARY}{this_process()}-"


def remove_abandoned_folders(parent: Path | None = None) -> int:
    """Remove the temporary folders that killed processes left in *parent*, the system's by default; count them.

    Nothing in them is mounted: mounts end with the last process that sees them.
    """
    folder = parent or Path(tempfile.gettempdir())
    abandoned = [path for path in folder.glob(f"{_TEMPORARY}*-*") if _is_abandoned(path)]
    for path in abandoned:
        remove_tree(path)
    return len(abandoned)


def _is_abandoned(path: Path) -> bool:
    """Return whether *path* is ours by its name, and whoever made it has ended."""
    maker = named_process(path.name.removeprefix(_TEMPORARY))
    return maker is not None and not path.is_symlink() and not still_runs(maker)
