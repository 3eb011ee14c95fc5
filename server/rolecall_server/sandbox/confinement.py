"""The port through which the repository's code is confined, and the one way to run it that exists so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from rolecall_server.sandbox.results import NotRun
from rolecall_server.sandbox.shadow import Shadow


@dataclass(frozen=True)
class Command:
    """A program to start: its arguments, the first an absolute path, and all it sees as its environment."""

    arguments: tuple[str, ...]
    environment: Mapping[str, str]


class Confinement(Protocol):
    """How a command is kept to the shadow it may work in."""

    @property
    def name(self) -> str:
        """What evidence says about where the code ran."""
        ...

    async def confine(self, command: Command, shadow: Shadow, readable: Sequence[Path]) -> Command | NotRun:
        """*command* so that it writes nowhere but below ``shadow.base``.

        *readable* are the folders outside that it has to read: the interpreter and its packages. `NotRun`
        when this machine cannot confine: a confinement is never given up silently.
        """
        ...


@dataclass(frozen=True)
class Unconfined:
    """A copy of the workspace, a clean environment, a deadline, and no further walls."""

    name: str = "unconfined copy"

    async def confine(self, command: Command, shadow: Shadow, readable: Sequence[Path]) -> Command | NotRun:
        """*command* as it is."""
        return command
