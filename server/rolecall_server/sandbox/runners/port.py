"""The port through which tests of a language are run, and what all of them need of a workspace."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Protocol

from rolecall_server.sandbox.results import NotRun, TestResult
from rolecall_server.sandbox.run_folder import RunFolder
from rolecall_server.sandbox.shadow.shadow import Shadow
from rolecall_server.sandbox.walls.confinement import Unconfined
from rolecall_server.sandbox.walls.programs import program_on_path
from rolecall_server.workspace import MAX_FILE_BYTES, read_beginning

NEVER_INSTALLED = "Rolecall installs nothing."


@dataclass(frozen=True)
class RunnerPackage:
    """The part of a workspace whose tests one command runs: a folder with a ``package.json``, say."""

    shadow: Shadow
    folder: str
    """Relative to the workspace; empty for all of it."""

    @property
    def place(self) -> Path:
        """Return the folder where a command finds the package: in its own place behind walls, so that what was built
        there can be used.
        """
        unconfined = isinstance(self.shadow.confinement, Unconfined)
        return (self.shadow.root if unconfined else self.shadow.original) / self.folder

    def read(self, name: str) -> str:
        """Return the text of its file *name*; empty where there is none that can be read."""
        return read_beginning(self.shadow.on_disk(self.path_of(name)), MAX_FILE_BYTES).decode("utf-8", "replace")

    def path_of(self, name: str) -> str:
        """Return the path of *name* in the workspace."""
        return str(PurePosixPath(self.folder, name))

    def relative(self, path: str) -> str:
        """Return *path*, which is relative to the workspace, as a path relative to the package."""
        return os.path.relpath(path, self.folder or ".")


@dataclass(frozen=True)
class Errand:
    """A command that a runner asks to be started, in the folder of its package."""

    arguments: tuple[str, ...]
    """The first an absolute path."""
    readable: tuple[Path, ...] = ()
    """The paths that it reads outside of the workspace and the system's own places."""
    programs: tuple[Path, ...] = ()
    """Folders where it finds programs, before the system's."""
    environment: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    reports_to_output: bool = False
    """Its standard output is the report."""


@dataclass(frozen=True)
class Told:
    """The content of a report."""

    outcomes: tuple[TestResult, ...]
    is_complete: bool
    """The runner came to its end."""
    running: str = ""
    """The test that had begun and not ended, or empty."""
    missing: str = ""
    """The reason for which it did not begin, such as a dependency that is not there."""


class Runner(Protocol):
    """One way to run tests."""

    @property
    def name(self) -> str:
        """As people call it."""
        ...

    def prepare(self, package: RunnerPackage, targets: Sequence[str], folder: RunFolder) -> Errand | NotRun:
        """Return the errand to be started for *targets*, paths in the workspace, with its report in *folder*."""
        ...

    def read(self, package: RunnerPackage, report: str, output: str) -> Told:
        """Read what its *report* says, and where that says nothing, its *output*."""
        ...


def find_tool(name: str, package: RunnerPackage) -> Path | NotRun:
    """Return the program *name* on the PATH, outside of the workspace."""
    found = program_on_path(name, package.shadow.original, os.environ)
    return found or NotRun(f"{name} is not installed.", f"Install it and start the editor anew. {NEVER_INSTALLED}")


def installation_of(program: Path) -> tuple[Path, ...]:
    """Return the paths that have to be read to start *program*: itself, and the folder above its ``bin``, links
    followed.
    """
    real = program.resolve()
    return (program, real, real.parent.parent)


def worst_of(outcomes: Sequence[TestResult]) -> tuple[TestResult, ...]:
    """Return one outcome for each test, failures before others, in the order they came first."""
    kept: dict[str, TestResult] = {}
    for outcome in outcomes:
        before = kept.setdefault(outcome.test_id, outcome)
        if outcome.outcome in ("failed", "error") and before.outcome not in ("failed", "error"):
            kept[outcome.test_id] = outcome
    return tuple(kept.values())
