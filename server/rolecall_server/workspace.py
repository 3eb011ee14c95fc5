"""The developer's files as Rolecall sees them: open buffers first, then the disk, and never outside the root.

Nothing here writes. Paths between modules are relative to the root, with ``/`` on every system.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from types import MappingProxyType

from rolecall_server.errors import FileRefused

MAX_FILE_BYTES = 2_000_000
"""Larger files are refused: no model reads one, and a diff of one helps nobody."""

BOM = "\ufeff"


_ROOT_MARKERS = (".git", "pyproject.toml", "setup.py", "setup.cfg")


@dataclass(frozen=True)
class Workspace:
    """One root folder and what the editor holds unsaved."""

    root: Path
    """Absolute, with symbolic links resolved."""
    buffers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """The text of each open document, by its path relative to the root."""


@dataclass(frozen=True)
class TextFile:
    """A file's text, decoded; line endings as they are."""

    path: str
    text: str
    """Without the byte order mark."""
    has_bom: bool = False


_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")


def split_lines(text: str) -> list[str]:
    """The lines of *text* with their endings, split where editors do: ``\\n``, ``\\r\\n`` and ``\\r`` only.

    ``str.splitlines`` also splits at form feeds and Unicode separators, which would shift every line after one.
    """
    return _LINE.findall(text)


def sha256(text: str) -> str:
    """The fingerprint by which a proposal knows its base."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def is_project(folder: Path) -> bool:
    """Whether *folder* looks like the root of a project."""
    return any((folder / marker).exists() for marker in _ROOT_MARKERS)


def find_root(path: Path) -> Path:
    """The nearest folder above *path* that looks like a project; else the folder it lies in.

    Raises:
        FileRefused: there can be no such path.
    """
    resolved = resolve(path)
    for parent in resolved.parents:
        if is_project(parent):
            return parent
    return resolved.parent


def resolve(path: Path) -> Path:
    """*path* with links followed; it need not exist.

    Raises:
        FileRefused: there can be no such path, its links go in a circle, or it may not be looked at.
    """
    try:
        resolved = path.resolve()
        resolved.exists()  # says what `resolve` passes over: a name that is too long, a folder that is closed
    except (OSError, RuntimeError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no path, or its links go in a circle"
        raise FileRefused(f"{str(path)!r} cannot be looked at: {why}.", "Name another file.") from None
    return resolved


def relative_path(workspace: Workspace, path: Path) -> str:
    """*path* below the root, following links.

    Raises:
        FileRefused: it lies outside the workspace, or there can be no such path.
    """
    resolved = resolve(workspace.root / path)
    try:
        inside = resolved.relative_to(workspace.root)
    except ValueError:
        raise FileRefused(
            f"{path} lies outside the workspace {workspace.root.name}.",
            "Open its folder first, or choose a file inside.",
        ) from None
    return inside.as_posix()


def absolute_path(workspace: Workspace, path: str) -> Path:
    """Where *path* lies on disk.

    Raises:
        FileRefused: it is absolute, climbs out of the workspace, or a link leads out of it.
    """
    if PurePosixPath(path).is_absolute() or "\0" in path:
        raise FileRefused(f"{path!r} is no path inside the workspace.", "Name a file below the opened folder.")
    return workspace.root / relative_path(workspace, Path(path))


def why_not_changed(workspace: Workspace, path: str) -> str | None:
    """Why no edit may name *path*, or ``None``: it lies outside, or is another name of a file inside."""
    try:
        real = absolute_path(workspace, path).relative_to(workspace.root).as_posix()
    except FileRefused as error:
        return error.what
    return None if real == path else f"{path} is another name of {real}; use that one."


def file_exists(workspace: Workspace, path: str) -> bool:
    """Whether *path* is an open buffer or a file on disk."""
    return path in workspace.buffers or absolute_path(workspace, path).is_file()


def read_text_file(workspace: Workspace, path: str) -> TextFile:
    """The text of *path*: the editor's if it is open there, else the disk's.

    Raises:
        FileRefused: missing, not a regular file, outside the workspace, larger than `MAX_FILE_BYTES`,
            binary, or not UTF-8.
    """
    if (buffer := workspace.buffers.get(path)) is not None:
        if len(buffer) > MAX_FILE_BYTES:
            raise _too_large(path)
        return TextFile(path, buffer.removeprefix(BOM), buffer.startswith(BOM))
    return decode(path, _read_bytes(absolute_path(workspace, path), path))


def read_text_or_none(workspace: Workspace, path: str) -> str | None:
    """The text of *path*, or ``None`` where there is none that can be read."""
    try:
        return read_text_file(workspace, path).text
    except FileRefused:
        return None


def decode(path: str, content: bytes) -> TextFile:
    """*content* as text.

    Raises:
        FileRefused: binary, or not UTF-8.
    """
    if b"\0" in content:
        raise FileRefused(f"{path} is a binary file.", "Choose a text file.")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FileRefused(
            f"{path} is not UTF-8 (byte {error.start}).",
            "Convert it to UTF-8; other encodings are left alone.",
        ) from None
    return TextFile(path, text.removeprefix(BOM), text.startswith(BOM))


def _read_bytes(location: Path, path: str) -> bytes:
    if not location.exists():
        raise FileRefused(f"{path} does not exist (any more).", "Save or restore it, then try again.")
    if not location.is_file():
        raise FileRefused(f"{path} is not a regular file.", "Choose a text file.")
    try:
        if location.stat().st_size > MAX_FILE_BYTES:
            raise _too_large(path)
        return location.read_bytes()
    except OSError as error:
        raise FileRefused(f"{path} cannot be read: {error.strerror}.", "Check its permissions.") from error


def _too_large(path: str) -> FileRefused:
    return FileRefused(f"{path} is larger than {MAX_FILE_BYTES:,} bytes.", "Choose a smaller file.")
