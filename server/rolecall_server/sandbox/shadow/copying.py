"""Copying a repository's tree for a run: what goes along, and what stays out."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import threading
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from rolecall_server.sandbox.results import NotRun

_LEFT_OUT = frozenset(
    {
        ".git", ".hg", ".svn", ".jj",
        "node_modules", ".venv", ".tox", ".nox", ".pixi", ".direnv",
        "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".cache",
    }
)  # fmt: skip
"""Names of files and folders that no test needs and that are often larger than the repository itself."""

_MARKS_OF_LEFT_OUT = ("pyvenv.cfg", "conda-meta", "CACHEDIR.TAG")
"""The files by which a virtual environment or a cache is known, whatever its name."""


@dataclass(frozen=True)
class CopyLimits:
    """The largest size of a workspace that may be copied."""

    files: int = 50_000
    size_bytes: int = 1_000_000_000


class CopyStopped(Exception):
    """Nobody waits for the copy any more."""


def copy_tree(
    source: Path,
    target: Path,
    omit: Path,
    limits: CopyLimits,
    stop: threading.Event,
    *,
    there: Collection[str] = (),
) -> NotRun | None:
    """Copies what belongs to the repository at *source* into the folder *target*; why not, if it did not.

    *target* holds no more than folders, and the files *there*, relative paths of what is copied already.
    *omit* is left out, which holds the copy and may lie in the repository. All are absolute with links resolved.
    Files keep their times and permissions, and the owner may write them. What cannot be read, or vanishes
    meanwhile, is left out.

    Raises:
        CopyStopped: *stop* was set.
        OSError: *source* cannot be listed, or *target* not be written (a full disk).
    """
    files = size_bytes = 0
    for entry in entries(source, omit):
        if stop.is_set():
            raise CopyStopped
        path = os.path.relpath(entry.path, source)
        copy = target / path
        if entry.is_symlink():
            _copy_link(entry, copy, source, target)
        elif entry.is_dir():
            copy.mkdir(exist_ok=True)
        elif (status := _regular_file(entry)) is not None:
            files += 1
            size_bytes += status.st_size
            if files > limits.files or size_bytes > limits.size_bytes:
                return _too_large(limits)
            if path not in there:
                _copy_file(Path(entry.path), copy, status)
    return None


def entries(source: Path, omit: Path | None) -> Iterator[os.DirEntry[str]]:
    """Yield the entries that belong to the repository at *source*, each folder before what it holds; not *omit*."""
    pending = list(os.scandir(source))
    while pending:
        entry = pending.pop()
        if entry.name in _LEFT_OUT or entry.path == str(omit):
            continue
        if entry.is_symlink() or not entry.is_dir():
            yield entry
            continue
        try:
            inside = list(os.scandir(entry.path))
        except (PermissionError, FileNotFoundError):
            continue
        if not any(child.name in _MARKS_OF_LEFT_OUT for child in inside):
            yield entry
            pending.extend(inside)


def _regular_file(entry: os.DirEntry[str]) -> os.stat_result | None:
    with contextlib.suppress(FileNotFoundError):
        status = entry.stat(follow_symlinks=False)
        if stat.S_ISREG(status.st_mode):
            return status
    return None


def _copy_file(original: Path, copy: Path, status: os.stat_result) -> None:
    try:
        shutil.copyfile(original, copy, follow_symlinks=False)
    except (PermissionError, FileNotFoundError, shutil.SpecialFileError):
        copy.unlink(missing_ok=True)
        return
    copy.chmod(stat.S_IMODE(status.st_mode) & 0o777 | 0o600)
    os.utime(copy, ns=(status.st_atime_ns, status.st_mtime_ns))


def _copy_link(entry: os.DirEntry[str], copy: Path, source: Path, target: Path) -> None:
    """A link in the copy to the copy of what the original links to, if that lies inside the workspace."""
    destination = Path(os.path.realpath(entry.path))
    if destination.is_relative_to(source):
        within = target / destination.relative_to(source)
        with contextlib.suppress(OSError):
            copy.symlink_to(os.path.relpath(within, copy.parent))


def _too_large(limits: CopyLimits) -> NotRun:
    return NotRun(
        f"The workspace is too large to be copied: more than {limits.files:,} files "
        f"or {limits.size_bytes / 1e6:,.0f} MB.",
        "Open a smaller folder of it.",
    )
