"""What a role is asked to do, and what it works with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from rolecall_analysis import Snapshot
from rolecall_analysis.retrieval import Corpus
from rolecall_server.context import AtHand, ContextPack, View
from rolecall_server.craft.trial import Bench
from rolecall_server.model import ChatMessage, ModelClient, ToolLimits, estimate_tokens
from rolecall_server.model.tools import DEFAULT_LIMITS
from rolecall_server.settings import Settings
from rolecall_server.team.calibration import Fit
from rolecall_server.team.repacking import Opening, Repack
from rolecall_server.workspace import Workspace

Report = Callable[[str, float | None], None]
"""Told what is going on, and how far it is (0 to 1) where that is known."""


class RoleName(StrEnum):
    """The roles that can be asked."""

    QA_ENGINEER = "qa_engineer"
    ENGINEER = "engineer"


TITLES = {RoleName.QA_ENGINEER: "QA Engineer", RoleName.ENGINEER: "Engineer"}
"""The roles as a person reads them."""


def title_of(role: str) -> str:
    """A stored role as a person reads it."""
    return TITLES[RoleName(role)] if role in set(RoleName) else role.replace("_", " ").title()


@dataclass(frozen=True)
class Revision:
    """A hunk that is to be made anew, alone."""

    proposal_id: str
    hunk_id: str
    title: str
    """Of its proposal."""
    origin: str
    """The file its command was given on."""
    path: str
    """Where its file lies now, if it exists."""
    diff: str
    """The hunk as it was proposed."""
    stale_because: str = ""
    """Why it can no longer be placed; empty where it can."""

    @property
    def code(self) -> str:
        """``p7/h2``"""
        return f"{self.proposal_id}/{self.hunk_id}"


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
    revises: Revision | None = None
    """The hunk to make anew; ``None`` for work of its own."""
    makes_file: bool = False
    """Whether the file does not exist yet: it is to be made."""
    hand: AtHand = field(default_factory=AtHand)
    """What the editor showed of the file as the command came."""


@dataclass(frozen=True)
class Desk:
    """What a role finds on its desk: the repository as it is now, a model, a place to try things."""

    workspace: Workspace
    snapshot: Snapshot
    settings: Settings
    client: ModelClient | None
    """None where tests are written without a model."""
    bench: Bench
    report: Report
    record: Callable[[ContextPack, Sequence[ChatMessage]], None] = lambda pack, opening: None
    """Told what the role is about to be shown, and the messages that show it."""
    rejections: tuple[str, ...] = ()
    """What the developer turned down of the role's earlier work on this file, and why."""
    earlier: str = ""
    """What the role proposed for the same thing and is undecided, where the developer asks for it in another way."""
    repacks: dict[Opening, Repack] = field(default_factory=dict[Opening, Repack])
    """What makes the openings of this desk's conversations shorter."""
    lookups: tuple[str, ...] = ()
    """What the model may look up while it works, by name."""
    tool_limits: ToolLimits = DEFAULT_LIMITS
    """How often it may, before each answer."""
    draft: dict[str, str | None] = field(default_factory=dict[str, str | None])
    """The files as the edits have them that were made at this desk so far; lookups see them, and what they run."""
    fit: Fit = field(default_factory=Fit)
    """What is known of how much the model can take."""
    role: str = ""
    """Who sits there, such as ``engineer``."""
    accepted_rules: str = ""
    """The rules for that role as they stand, where the developer accepted them."""
    how_to_ask: str = ""
    """What the role is told of asking another one; empty where it cannot."""
    corpus: Corpus | None = None
    """The words of the repository's files, where others of the run rank them too."""

    @property
    def view(self) -> View:
        """What the role may be shown of the repository."""
        return View(self.workspace, self.snapshot, estimate_tokens, self.corpus)
