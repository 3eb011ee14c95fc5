"""The source files below a folder: which belong to the repository, and whether they changed."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path, PurePath

from msgspec import Struct

from rolecall_analysis.ignored import Ignored, is_ignored, is_there
from rolecall_analysis.languages import language_of
from rolecall_analysis.values import Problem

GENERATED_SUFFIXES = (".min.js", ".min.mjs", ".bundle.js")
"""Scripts that tools pressed together: their facts would cost more than they tell."""


_RELATIVE = re.compile(r"[^/\\:.][^/\\:]*(?:/[^/\\:.][^/\\:]*)*")
"""A path that plainly leads downwards on every system; others are taken apart."""


class Stamp(Struct, frozen=True, array_like=True, gc=False):
    """By what a file is recognised as unchanged without reading it."""

    modified_ns: int
    changed_ns: int
    """When anything about the file changed, its times included; when it was created, on Windows."""
    size: int
    """In bytes."""


class SourceFile(Struct, frozen=True, gc=False):
    """A file that belongs to the graph."""

    path: str
    stamp: Stamp


def is_source(path: str) -> bool:
    """Return whether the name of *path* is that of a source file in a language the graph reads, and not of a generated
    one.
    """
    dot = path.rfind(".", path.rfind("/") + 1)
    return dot >= 0 and _has_language(path[dot:]) and not path.endswith(GENERATED_SUFFIXES)


@lru_cache(1024)
def _has_language(suffix: str) -> bool:
    return language_of(f"name{suffix}") is not None


def source_files(root: Path, below: str = "", ignored: Ignored | None = None) -> Iterator[SourceFile | Problem]:
    """Yield the source files in the folder *below*, relative to *root*, and folders that cannot be read."""
    return files_below(ignored or Ignored(root), below, is_source)


def files_below(ignored: Ignored, below: str, is_wanted: Callable[[str], bool]) -> Iterator[SourceFile | Problem]:
    """Yield the files in the folder *below* that are wanted by their paths, and folders that cannot be read.

    Symbolic links are not followed: they lead out of the repository, into a circle, or to a file that is
    found anyway.
    """
    base = os.fspath(ignored.root)
    waiting = [below]
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(f"{base}/{folder}") as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            yield Problem(folder, f"The folder cannot be read: {error.strerror}.")
            continue
        rules = ignored.rules_in(folder, {entry.name for entry in found}.__contains__)
        # Only what lies in a folder tells that it is an environment, or built: its name did not leave it out.
        if rules is None:
            continue
        for entry in found:
            path = f"{folder}/{entry.name}" if folder else entry.name
            if not _is_text(path):
                yield Problem(ascii(path), "The name is not in the file system's encoding; it was left out.")
            elif entry.is_dir(follow_symlinks=False):
                if not ignored.leaves_out(path, rules):
                    waiting.append(path)
            elif is_wanted(path) and entry.is_file(follow_symlinks=False) and not is_ignored(path, rules):
                try:
                    yield SourceFile(path, stamp_of(entry.stat(follow_symlinks=False)))
                except OSError:
                    continue  # it is gone already


def source_file(path: str, ignored: Ignored) -> SourceFile | None:
    """Return the file *path*, if it is there and `source_files` would come across it."""
    folder = path.rpartition("/")[0]
    rules = ignored.rules_in(folder) if _is_below(path) else None
    if rules is None or is_ignored(path, rules):
        return None
    try:
        status = os.lstat(f"{os.fspath(ignored.root)}/{path}")
    except OSError:
        return None
    return SourceFile(path, stamp_of(status)) if stat.S_ISREG(status.st_mode) else None


def holds_folder(path: str, ignored: Ignored) -> bool:
    """Return whether *path*, empty for the root, is a folder that `source_files` would look into."""
    if path and not _is_below(path):
        return False
    return ignored.rules_in(path) is not None and is_there(ignored.root / path, Path.is_dir)


def _is_below(path: str) -> bool:
    """Return whether *path* stays below the root it is relative to."""
    if not path or "\0" in path or not _is_text(path):
        return False
    if _RELATIVE.fullmatch(path):
        return True
    location = PurePath(path)
    return not location.anchor and ".." not in location.parts


def folders_above(path: str) -> Iterator[str]:
    """Yield the folders that *path* lies in, the nearest first; the root is empty."""
    while path:
        path = path.rpartition("/")[0]
        yield path


def stamp_of(status: os.stat_result) -> Stamp:
    """Return the stamp of a file with that *status*."""
    return Stamp(status.st_mtime_ns, status.st_ctime_ns, status.st_size)


def read_start(root: Path, path: str, limit_bytes: int) -> tuple[bytes, Stamp] | None:
    """Return the first bytes of the file *path*, and its stamp from before they were read; None for a link, or no file.

    Raises:
        OSError: it cannot be read.
    """
    # A pipe that nobody writes to would block `open` for ever; a link may lead out of the repository.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    location = f"{os.fspath(root)}/{path}"
    try:
        handle = os.open(location, flags)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        # A link or a socket makes `open` fail with these flags; that is no file, and no error.
        if is_there(Path(location), Path.is_symlink) or not is_there(Path(location), Path.is_file):
            return None
        raise
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            return None
        # No more than the stamp tells of: what is added meanwhile comes with another stamp.
        return _read(handle, min(status.st_size, limit_bytes)), stamp_of(status)
    finally:
        os.close(handle)


def _read(handle: int, n_bytes: int) -> bytes:
    """So many bytes, or fewer if the file has become shorter."""
    content = os.read(handle, n_bytes)
    while len(content) < n_bytes and (more := os.read(handle, n_bytes - len(content))):
        content += more
    return content


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
