"""The programming languages the graph reads, by file name."""

from __future__ import annotations

from pathlib import PurePosixPath

_LANGUAGES = {".py": "python", ".pyi": "python"}


def language_of(path: str) -> str | None:
    """The editor's identifier of the language that *path* is written in, by its suffix; None if the graph has none."""
    return _LANGUAGES.get(PurePosixPath(path).suffix)
