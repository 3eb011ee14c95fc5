"""The paths that an edit may name: one file each, inside the workspace, and the same on every system."""

from __future__ import annotations

import os
import re
import unicodedata
from pathlib import PurePosixPath

from rolecall_server.errors import FileRefused
from rolecall_server.workspace import Workspace, absolute_path, file_exists, why_private

_UNPORTABLE = re.compile(r"[\x00-\x1f\x7f\\/:*?\"<>|]|[. ]$|^ |^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)", re.IGNORECASE)
"""The names and characters that Windows reads as something else than a part of a name, or drops."""


def name_key(path: str) -> str:
    """Return *path* as the most lenient file system reads it: two that share a key may be one file somewhere.

    Letter case, the form of Unicode characters, invisible characters, backslashes, dots and spaces at the end of a
    name, and what follows a colon make no difference.
    """
    # By way of upper case, else the dotless i of Turkish stays one; its dotted capital leaves a dot of its own.
    plain = unicodedata.normalize("NFKC", path).upper().casefold().replace("i\u0307", "i")
    # HFS+ ignores some format characters: `.g\u200cit` opens `.git` there.
    seen = "".join(one for one in plain if unicodedata.category(one) not in ("Cf", "Cc"))
    # Once more: a character that was taken out may have kept two others from becoming one.
    parts = [part.partition(":")[0] for part in unicodedata.normalize("NFKC", seen).replace("\\", "/").split("/")]
    kept = (part if part in (".", "..") else part.rstrip(". ") for part in parts)
    return "/".join(part for part in kept if part not in ("", "."))


def why_not_changed(workspace: Workspace, path: str) -> str | None:
    """Return the reason why no edit may name *path*, or ``None``.

    It lies outside or below a file, is another name of a file inside or would become one on a system that is less
    strict, or is kept from models.
    """
    try:
        real = absolute_path(workspace, path).relative_to(workspace.root).as_posix()
    except FileRefused as error:
        return error.what
    if real != path:
        return f"{path} is another name of {real}; use that one."
    if (private := why_private(workspace, path)) is not None:
        return private
    return None if file_exists(workspace, path) else _why_not_made(workspace, path)


def _why_not_made(workspace: Workspace, path: str) -> str | None:
    above = next((str(one) for one in PurePosixPath(path).parents if file_exists(workspace, str(one))), None)
    if above is not None:
        return f"{path} would lie below {above}, which is a file."
    if (odd := next((part for part in path.split("/") if not _is_portable(part)), None)) is not None:
        return f"{odd!r} is not a name that every system keeps as it is."
    twin = _twin(workspace, path)
    return f"{path} cannot be told from {twin} on every system; use that one." if twin else None


def _is_portable(name: str) -> bool:
    """Return whether *name* is one part of a path, and the same, on every system."""
    # A full-width slash or colon is harmless itself, but becomes the plain one where names are normalized.
    readings = (name, unicodedata.normalize("NFKC", name))
    return not any(_UNPORTABLE.search(one) or one in ("", ".", "..") for one in readings)


def _twin(workspace: Workspace, path: str) -> str | None:
    """Return the path that is in the workspace, or open, under another spelling of *path* or of a folder on the way to
    it; else ``None``.
    """
    parts = path.split("/")
    for n_parts, part in enumerate(parts):
        folder = "/".join(parts[:n_parts])
        there = _names_in(workspace, folder)
        if part not in there:
            key = name_key(part)
            twin = next((name for name in sorted(there) if name_key(name) == key), None)
            return f"{folder}/{twin}".lstrip("/") if twin else None
    return None


def _names_in(workspace: Workspace, folder: str) -> set[str]:
    start = f"{folder}/" if folder else ""
    names = {path[len(start) :].partition("/")[0] for path in workspace.buffers if path.startswith(start)}
    try:
        return names | set(os.listdir(workspace.root / folder))  # noqa: PTH208
    except OSError:
        return names
