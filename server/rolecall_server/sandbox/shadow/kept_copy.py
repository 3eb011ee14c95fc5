"""A copy of the workspace that is kept from one run to the next, and refreshed by what changed.

Code that ran in it may have done anything to it. What is believed of a file in the copy is its inode and the time of
its last change (``ctime``), which no program can set; all else is made anew.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import threading
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from rolecall_server.sandbox.results import NotRun
from rolecall_server.sandbox.shadow.copying import CopyLimits, copy_tree
from rolecall_server.sandbox.shadow.trees import remove_tree

UNUSED_DAYS = 14
"""After which a copy is removed."""

_Stamp = tuple[int, ...]
_Known = Mapping[str, tuple[_Stamp, _Stamp]]
"""By path: what the workspace's file was when it was copied, and what the copy was then."""


@dataclass(frozen=True)
class KeptCopy:
    """The places of one copy."""

    folder: Path

    @property
    def tree(self) -> Path:
        """The folder that holds the copy, under the workspace's own name."""
        return self.folder / "copy"

    @property
    def record(self) -> Path:
        """Return the path of the record of what was copied, and when."""
        return self.folder / "copied.json"


@contextmanager
def take_copy(copies: Path, source: Path) -> Generator[KeptCopy | None]:
    """The copy of *source* that is kept in *copies*, for this run alone.

    ``None`` while another run has it, and where nothing can be kept.
    """
    kept = KeptCopy(copies / hashlib.sha256(os.fsencode(source)).hexdigest()[:16])
    lock = _open(kept.folder, source)
    try:
        yield kept if lock is not None and _lock(lock) else None
    finally:
        if lock is not None:
            lock.close()


def refresh(kept: KeptCopy, source: Path, limits: CopyLimits, stop: threading.Event) -> Path | NotRun:
    """Bring the copy up to date with *source* and return its root, or the reason why it cannot be; see `copy_tree` for
    the others.

    Raises:
        CopyStopped: *stop* was set.
        OSError: *source* cannot be listed, or the copy not be written (a full disk).
    """
    root = kept.tree / (source.name or "workspace")
    known = _read(kept.record)
    kept.record.unlink(missing_ok=True)  # should this be the last that is heard of it, nothing is believed
    root.mkdir(parents=True, exist_ok=True)
    believed = set(_sweep(root, source, known))
    if (too_large := copy_tree(source, root, kept.folder, limits, stop, there=believed)) is not None:
        return too_large
    _write(kept.record, dict(_stamps(root, source)))
    return root


def remove_unused_copies(copies: Path) -> int:
    """Remove the copies in *copies* that nobody needs: their workspace is gone, or they were not used for long."""
    removed = 0
    for folder in copies.glob("*"):
        with suppress(OSError), (folder / "lock").open("r+") as lock:
            age_s = time.time() - (folder / "source").stat().st_mtime
            source = Path(os.fsdecode((folder / "source").read_bytes()))
            # The lock comes last: where a run has it, the copy is in use after all.
            if (age_s > UNUSED_DAYS * 86400 or not source.is_dir()) and _lock(lock):
                remove_tree(folder)
                removed += 1
    return removed


def _sweep(root: Path, source: Path, known: _Known) -> Iterator[str]:
    """Leaves folders and unchanged files in *root*, and gives the paths of the latter; all else is removed."""
    pending = [root]
    while pending:
        folder = pending.pop()
        # Code that ran in it may have taken away our right to look inside.
        folder.chmod(0o700)
        # A list, because entries are removed on the way.
        for entry in [*os.scandir(folder)]:
            path = os.path.relpath(entry.path, root)
            original = source / path
            if entry.is_dir(follow_symlinks=False):
                if original.is_dir() and not original.is_symlink():
                    pending.append(Path(entry.path))
                else:
                    remove_tree(Path(entry.path))
            elif _is_as_known(known.get(path), original, Path(entry.path)):
                yield path
            else:
                Path(entry.path).unlink()


def _is_as_known(known: tuple[_Stamp, _Stamp] | None, original: Path, copy: Path) -> bool:
    return known is not None and known == _pair(original, copy)


def _stamps(root: Path, source: Path) -> Iterator[tuple[str, tuple[_Stamp, _Stamp]]]:
    for folder, _, names in os.walk(root):
        for name in names:
            copy = Path(folder, name)
            path = os.path.relpath(copy, root)
            if not copy.is_symlink() and (pair := _pair(source / path, copy)) is not None:
                yield path, pair


def _pair(original: Path, copy: Path) -> tuple[_Stamp, _Stamp] | None:
    try:
        was, now = original.lstat(), copy.lstat()
    except OSError:
        return None
    if not stat.S_ISREG(was.st_mode) or not stat.S_ISREG(now.st_mode):
        return None
    if was.st_mtime_ns != now.st_mtime_ns or was.st_size != now.st_size:
        return None  # it changed while it was copied
    return (was.st_ino, was.st_size, was.st_mtime_ns, was.st_mode), (now.st_ino, now.st_ctime_ns)


def _read(record: Path) -> _Known:
    try:
        said = json.loads(record.read_bytes())
        return {path: (tuple(original), tuple(copy)) for path, (original, copy) in said.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _write(record: Path, known: _Known) -> None:
    record.write_text(json.dumps(known), "utf-8")


def _open(folder: Path, source: Path) -> IO[str] | None:
    """Open the file to be locked in *folder*, after noting there whose copy the folder holds."""
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        # Written each time: the time of its change says when the copy was last used.
        (folder / "source").write_bytes(os.fsencode(source))
        return (folder / "lock").open("w")
    return None


def _lock(file: IO[str]) -> bool:
    """Lock *file* until it is closed, and return whether that worked; it never does on a system without such locks."""
    try:
        import fcntl
    except ImportError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
