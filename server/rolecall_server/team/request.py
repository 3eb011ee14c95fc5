"""What a role is asked to do, and what it works with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from rolecall_analysis import Snapshot
from rolecall_server.craft.trial import Bench
from rolecall_server.model import ModelClient
from rolecall_server.settings import Settings
from rolecall_server.workspace import Workspace

Report = Callable[[str, float | None], None]
"""Told what is going on, and how far it is (0 to 1) where that is known."""


class RoleName(StrEnum):
    """The roles that can be asked."""

    QA_ENGINEER = "qa_engineer"
    ENGINEER = "engineer"


TITLES = {RoleName.QA_ENGINEER: "QA Engineer", RoleName.ENGINEER: "Engineer"}
"""The roles as a person reads them."""


@dataclass(frozen=True)
class RunRequest:
    """One command of the developer's."""

    role: RoleName
    path: str = ""
    """The file it was given on; empty where the developer named none."""
    symbol: str = ""
    """A dotted name within that file; empty for all of it."""
    brief: str = ""
    """What is asked for, in the developer's words; a role may do without."""


@dataclass(frozen=True)
class Desk:
    """What a role finds on its desk: the repository as it is now, a model, a place to try things."""

    workspace: Workspace
    snapshot: Snapshot
    settings: Settings
    client: ModelClient
    bench: Bench
    report: Report
