"""Folders with all they hold: removing one, and seeing whether one has changed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from rolecall_server.sandbox.copying import entries

Stamp = tuple[int, int, int, int]
"""Number, size, and the times of the last change of content and of anything, in ns: which no program sets at will."""


def stamps(root: Path) -> Mapping[str, Stamp]:
    """The stamp of every file below *root* that belongs to the repository, by its path relative to it."""
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
    """The paths of the files that are new, gone or changed, sorted."""
    return tuple(sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path)))


def remove_tree(folder: Path) -> None:
    """Removes *folder* and all below it, read-only folders included."""
    shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():
        _open_up(folder)
        shutil.rmtree(folder, ignore_errors=True)


def _open_up(folder: Path) -> None:
    folder.chmod(0o700)
    for parent, names, _ in os.walk(folder):
        for below in (Path(parent, name) for name in names):
            if not below.is_symlink():
                below.chmod(0o700)
