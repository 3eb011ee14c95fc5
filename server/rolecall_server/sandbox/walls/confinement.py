"""The port through which the repository's code is confined, and the way to run it without walls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

from rolecall_server.sandbox.walls.process import Supervision


@dataclass(frozen=True)
class Command:
    """A program to start: its arguments, the first an absolute path, and all it sees as its environment."""

    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    supervision: Supervision = field(default_factory=Supervision)


@dataclass(frozen=True)
class ConfinedPaths:
    """The places a command has to do with, besides the system's own."""

    root: Path
    """The workspace as the command is to see it: a copy that it may write to, or an empty folder for an overlay."""
    original: Path
    """The workspace itself. A walled command sees the same here as in *root*."""
    changes: Path | None
    """The files to be laid over *original*, which *root* then shows; ``None`` where *root* is a copy."""
    own: Path
    """A new folder with the command's home directory, ``home``, and its folder for temporary files, ``tmp``."""
    told: Path
    """The one file outside that it writes to: its report."""
    readable: tuple[Path, ...]
    """The paths that it has to read: the interpreter, its packages, the plugin that reports."""


@runtime_checkable
class Confinement(Protocol):
    """A way to keep a command to the room it may work in."""

    @property
    def name(self) -> str:
        """Return the words in which evidence says where the code ran."""
        ...

    @property
    def overlays(self) -> bool:
        """Return whether changes are laid over the workspace's files, so that no copy of them is needed."""
        ...

    def refusal(self, output: str) -> str:
        """Return the reason why a command that reported nothing was never started, by what was said in *output*; else
        empty.
        """
        ...

    def confine(self, command: Command, room: ConfinedPaths) -> Command:
        """Return *command* so that it reaches nothing but *room*; the workspace itself stays as it is."""
        ...


@dataclass(frozen=True)
class Unconfined:
    """A copy of the workspace, a clean environment, a deadline, and no further walls: for who asks for it."""

    name: str = "unconfined copy"
    overlays: bool = False

    def refusal(self, output: str) -> str:
        """Nothing: a program that cannot be started is a crash of its own."""
        return ""

    def confine(self, command: Command, room: ConfinedPaths) -> Command:
        """Return *command* as it is."""
        return command
