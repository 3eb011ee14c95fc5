"""The port through which tests of a language are run, and what all of them need of a workspace."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Protocol

from rolecall_server.sandbox.confinement import Unconfined
from rolecall_server.sandbox.programs import program_on_path
from rolecall_server.sandbox.results import NotRun, TestOutcome
from rolecall_server.sandbox.run_folder import RunFolder
from rolecall_server.sandbox.shadow import Shadow

NEVER_INSTALLED = "Rolecall installs nothing."


@dataclass(frozen=True)
class Package:
    """The part of a workspace whose tests one command runs: a folder with a ``package.json``, say."""

    shadow: Shadow
    folder: str
    """Relative to the workspace; empty for all of it."""

    @property
    def place(self) -> Path:
        """Where a command finds it: in its own place behind walls, so that what was built there can be used."""
        unconfined = isinstance(self.shadow.confinement, Unconfined)
        return (self.shadow.root if unconfined else self.shadow.original) / self.folder

    def read(self, name: str) -> str:
        """The text of its file *name*; empty where there is none that can be read."""
        try:
            return self.shadow.on_disk(self.path_of(name)).read_text("utf-8", "replace")
        except OSError:
            return ""

    def path_of(self, name: str) -> str:
        """The path of *name* in the workspace."""
        return str(PurePosixPath(self.folder, name))

    def relative(self, path: str) -> str:
        """*path*, which is relative to the workspace, as the package's own commands name it."""
        return os.path.relpath(path, self.folder or ".")


@dataclass(frozen=True)
class Errand:
    """What a runner asks to be started, in the folder of its package."""

    arguments: tuple[str, ...]
    """The first an absolute path."""
    readable: tuple[Path, ...] = ()
    """What it reads outside of the workspace and the system's own places."""
    programs: tuple[Path, ...] = ()
    """Folders where it finds programs, before the system's."""
    environment: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    reports_to_output: bool = False
    """Whether its standard output is the report."""


@dataclass(frozen=True)
class Told:
    """What a report says."""

    outcomes: tuple[TestOutcome, ...]
    is_complete: bool
    """Whether the runner came to its end."""
    running: str = ""
    """The test that had begun and not ended, or empty."""
    missing: str = ""
    """What kept it from beginning, such as a dependency that is not there."""


class Runner(Protocol):
    """One way to run tests."""

    @property
    def name(self) -> str:
        """As people call it."""
        ...

    def prepare(self, package: Package, targets: Sequence[str], folder: RunFolder) -> Errand | NotRun:
        """What is to be started for *targets*, paths in the workspace, with its report in *folder*."""
        ...

    def read(self, package: Package, report: str, output: str) -> Told:
        """What its *report* says, and where that says nothing, its *output*."""
        ...


def find_tool(name: str, package: Package) -> Path | NotRun:
    """The program *name* on the PATH, outside of the workspace."""
    found = program_on_path(name, package.shadow.original, os.environ)
    return found or NotRun(f"{name} is not installed.", f"Install it and start the editor anew. {NEVER_INSTALLED}")


def installation_of(program: Path) -> tuple[Path, ...]:
    """What has to be read to start *program*: itself, and the folder above its ``bin``, links followed."""
    real = program.resolve()
    return (program, real, real.parent.parent)


def worst_of(outcomes: Sequence[TestOutcome]) -> tuple[TestOutcome, ...]:
    """One outcome for each test, failures before others, in the order they came first."""
    kept: dict[str, TestOutcome] = {}
    for outcome in outcomes:
        before = kept.setdefault(outcome.test_id, outcome)
        if outcome.outcome in ("failed", "error") and before.outcome not in ("failed", "error"):
            kept[outcome.test_id] = outcome
    return tuple(kept.values())
