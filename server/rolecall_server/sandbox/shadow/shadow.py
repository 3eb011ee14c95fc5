"""The repository as it would be, where code may run: the disk, the unsaved buffers, then a proposal.

A shadow is one of two kinds. Where the confinement lays files over the workspace, only what differs is written down
(`overlaid.py`); elsewhere the workspace is copied (`copied.py`).
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from rolecall_server.errors import FileRefused
from rolecall_server.sandbox.walls.confinement import Confinement
from rolecall_server.workspace import BOM, decode, new_file
from rolecall_server.workspace import encode as encode_text


@dataclass(frozen=True)
class Shadow(ABC):
    """The workspace as code sees it that runs in it, and the temporary folders of what runs."""

    root: Path
    """Where that code finds it; its name is the workspace's, because a root that is a package is imported by it."""
    original: Path
    """The workspace's own root."""
    base: Path
    """The temporary folder that holds everything else of the runs; removed at the end."""
    confinement: Confinement

    @property
    def scratch(self) -> Path:
        """Return the folder in which the homes, temporary files and reports of runs lie."""
        return self.base / "run"

    @property
    @abstractmethod
    def changes(self) -> Path | None:
        """The folder of what is to be laid over the workspace's files; ``None`` where they were copied."""

    @abstractmethod
    def write(self, files: Mapping[str, str | None]) -> None:
        """Lays *files* over the base, by their paths; ``None`` deletes one. What an earlier call wrote is put back.

        Texts are written exactly as given, in the encoding and with the byte order mark that the base has.

        Raises:
            FileRefused: a path leaves the shadow, also through a symbolic link, or cannot be a file there. Then
                nothing of *files* is written.
        """

    def hand_over(self, path: str) -> None:  # noqa: B027 - a copy is the runs' own already
        """Make the file at *path* one that code in the shadow may write, whoever owns the workspace's.

        Raises:
            OSError: there is no such file, or no room.
        """

    @abstractmethod
    def on_disk(self, path: str) -> Path:
        """Return the path at which the server finds what the code finds at *path*; there may be nothing."""


def locate(floor: Path, path: str) -> Path:
    """Return the file that *path* names below *floor*, links followed; it need not exist.

    Raises:
        FileRefused: *path* leaves *floor*, or cannot be a file there.
    """
    if not path or "\0" in path or PurePosixPath(path).is_absolute():
        raise FileRefused(f"{path!r} is no path inside the workspace.", "Name a file below the opened folder.")
    location = Path(os.path.realpath(floor / path))
    if location == floor or not location.is_relative_to(floor):
        raise FileRefused(f"{path} leads out of the workspace.", "Name a file below the opened folder.")
    occupied = next((parent for parent in (location, *location.parents) if os.path.lexists(parent)), floor)
    if location.is_dir() or (occupied != location and not occupied.is_dir()):
        raise FileRefused(f"{path} cannot be a file: a folder or a file is in its way.", "Choose another path.")
    return location


def encode(path: str, text: str, before: bytes | None) -> bytes:
    """Return *text* in the encoding and with the byte order mark that *before* had; UTF-8 where that lacks a
    character.
    """
    try:
        file = new_file(path, text) if before is None else decode(path, before)
        has_bom = file.has_bom or text.startswith(BOM)
        return encode_text(replace(file, text=text.removeprefix(BOM), has_bom=has_bom))
    except FileRefused:
        return text.encode("utf-8", "surrogatepass")


def cannot_be_written(path: str, error: OSError) -> FileRefused:
    """Return the refusal that *error* amounts to."""
    return FileRefused(f"{path} cannot be written in the shadow: {error.strerror}.", "Choose another path.")
