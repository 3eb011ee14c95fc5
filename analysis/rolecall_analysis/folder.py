"""The Python files below a folder: which belong to the repository, and what is in them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath

from rolecall_analysis.snapshot import facts_of, is_python
from rolecall_analysis.syntax import MAX_SOURCE_BYTES
from rolecall_analysis.text import decode
from rolecall_analysis.values import FileFacts, Problem

IGNORED_FOLDERS = frozenset({"__pycache__", "node_modules", "site-packages", "__pypackages__"})
"""Folders that hold what tools made. Those that begin with a dot are ignored as well."""

BUILD_FOLDERS = frozenset({"build", "dist", "htmlcov"})
"""Ignored unless they are packages."""

ENVIRONMENT_MARKERS = ("pyvenv.cfg", "conda-meta")
"""A folder with one of these is an environment, not source."""


def python_files(root: Path, below: str = "") -> Iterator[str | Problem]:
    """The paths, relative to *root*, of the Python files in its folder *below*, and folders that cannot be read.

    Symbolic links are not followed: they lead out of the repository, into a circle, or to a file that is
    found anyway.
    """
    waiting = [below]
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(root / folder) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            yield Problem(folder, f"The folder cannot be read: {error.strerror}.")
            continue
        for entry in found:
            path = f"{folder}/{entry.name}" if folder else entry.name
            if not _is_text(path):
                yield Problem(ascii(path), "The name is not in the file system's encoding; it was left out.")
            elif entry.is_dir(follow_symlinks=False):
                if not _is_ignored(root, path):
                    waiting.append(path)
            elif is_python(path) and entry.is_file(follow_symlinks=False):
                yield path


def belongs(root: Path, path: str) -> bool:
    """Whether `python_files` would come across the Python file, or folder, *path*; it need not exist any more."""
    parts = PurePosixPath(path)
    if not path or "\0" in path or ".." in parts.parts or parts.is_absolute() or Path(path).is_absolute():
        return False
    folders = [parent.as_posix() for parent in parts.parents][:-1]
    if not is_python(path):
        folders.append(path)
    return not any(_is_ignored(root, folder) or (root / folder).is_symlink() for folder in folders)


def read_file(root: Path, path: str) -> FileFacts | None:
    """The facts of a file on disk; None if it is not there, or a link. What cannot be read has a problem."""
    location = root / path
    try:
        if location.is_symlink() or not location.is_file():
            return None
        with location.open("rb") as stream:
            content = stream.read(MAX_SOURCE_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        return FileFacts(path, problems=(Problem(path, f"The file cannot be read: {error.strerror}."),))
    text, what = decode(content)
    facts = facts_of(path, text)
    return replace(facts, problems=(Problem(path, what), *facts.problems)) if what else facts


def _is_ignored(root: Path, folder: str) -> bool:
    name = PurePosixPath(folder).name
    if name.startswith(".") or name in IGNORED_FOLDERS:
        return True
    location = root / folder
    if name in BUILD_FOLDERS and not (location / "__init__.py").exists():
        return True
    return any((location / marker).exists() for marker in ENVIRONMENT_MARKERS)


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
