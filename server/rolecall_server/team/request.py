"""The request to a role, and what the role works with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

from rolecall_analysis import Definition, SelectedTests, Snapshot, select_tests
from rolecall_analysis.retrieval import Corpus
from rolecall_server.context import AtHand, ContextPack, PackSource
from rolecall_server.craft.attempt import Attempted
from rolecall_server.craft.code_review.candidates import ReviewScope
from rolecall_server.craft.history import with_history
from rolecall_server.craft.trial import Bench
from rolecall_server.model import ChatMessage, ModelClient, ToolLimits, estimate_tokens
from rolecall_server.model.replies.tools import DEFAULT_LIMITS
from rolecall_server.sandbox import TestResult
from rolecall_server.sandbox.python.trust import AskTrust, trust_nothing
from rolecall_server.settings import Settings
from rolecall_server.store import Store
from rolecall_server.team.model_calls.budgeted import AskForMore, stop_there
from rolecall_server.team.model_calls.calibration import Fit
from rolecall_server.team.model_calls.repacking import Opening, Repack
from rolecall_server.workspace import Workspace

Report = Callable[[str, float | None], None]
"""Told what is going on, and how far it is (0 to 1) where that is known."""


class RoleName(StrEnum):
    """The roles that can be asked."""

    QA_ENGINEER = "qa_engineer"
    ENGINEER = "engineer"
    REVIEWER = "reviewer"


TITLES = {RoleName.QA_ENGINEER: "QA Engineer", RoleName.ENGINEER: "Engineer", RoleName.REVIEWER: "Reviewer"}
"""The roles as a person reads them."""


def title_of(role: str) -> str:
    """Return a stored role as a person reads it."""
    return TITLES[RoleName(role)] if role in set(RoleName) else role.replace("_", " ").title()


@dataclass(frozen=True)
class Revision:
    """A hunk of a proposal, or all that is undecided of it, to be made anew."""

    proposal_id: str
    hunk_id: str
    """Empty for all that is undecided."""
    title: str
    """Of its proposal."""
    origin: str
    """The file its command was given on."""
    path: str
    """Where the file of its hunk lies now, if it exists; empty where it is about more than one hunk."""
    diff: str
    """The change as it was proposed."""
    stale_because: str = ""
    """Why it can no longer be placed; empty where it can."""
    said: tuple[str, ...] = ()
    """The words of the developer so far: the brief, and what was said of each proposal that came of it."""

    @property
    def code(self) -> str:
        """``p7/h2``, or ``p7``"""
        return f"{self.proposal_id}/{self.hunk_id}" if self.hunk_id else self.proposal_id


@dataclass(frozen=True)
class FailureToMend:
    """A failure whose cause is to be found and mended."""

    tests: tuple[str, ...] = ()
    """The failing tests as pytest names them, or files, classes and functions that hold them; else those of the log."""
    log: str = ""
    """A traceback, or the log of a red build, as it was pasted."""
    unreproduced: bool = False
    """It is mended although nothing fails here."""
    changes_tests: bool = False
    """The tests may be changed: what they expect is not what is wanted."""


@dataclass(frozen=True)
class RunRequest:
    """One command of the developer's: what a run is for."""

    role: RoleName = RoleName.ENGINEER
    """The role it goes to, where it does not go to the team."""
    path: str = ""
    """The file it was given on; empty where the developer named none."""
    symbol: str = ""
    """A dotted name within that file; empty for all of it."""
    brief: str = ""
    """The request in the developer's words; a role may do without."""
    revises: Revision | None = None
    """The part of a proposal to make anew; ``None`` for work of its own."""
    mends: FailureToMend | None = None
    """The failure to mend; ``None`` for other work."""
    makes_file: bool = False
    """The file does not exist yet: it is to be made."""
    review: ReviewScope | None = None
    """The code that is to be judged; ``None`` for all other work."""
    hand: AtHand = field(default_factory=AtHand)
    """The part of the file that the editor showed as the command came."""


def request_for_failure(failure: FailureToMend) -> RunRequest:
    """Return the request to the Engineer to mend *failure*."""
    path = failure.tests[0].partition("::")[0] if failure.tests else ""
    # The last line of a traceback names the error.
    lines = (line.strip() for line in reversed(failure.log.splitlines()) if line.strip())
    brief = f"Make {failure.tests[0]} pass." if failure.tests else f"Mend: {next(lines, '')}"
    return RunRequest(RoleName.ENGINEER, path, brief=brief, mends=failure)


def node_id_of(path: str, symbol: str) -> str:
    """Return the node id of the test *symbol* in *path*; *path* where that is no test, nor a class of tests."""
    is_test = symbol.rpartition(".")[2].casefold().startswith("test")
    return f"{path}::{symbol.replace('.', '::')}" if is_test else path


@dataclass(frozen=True)
class Repository:
    """The repository a run works on, as it was when the command came."""

    workspace: Workspace
    snapshot: Snapshot
    store: Store
    settings: Settings
    environ: Mapping[str, str]
    ask_for_more: AskForMore = stop_there
    """Asked when the run has used up its budget."""
    ask_trust: AskTrust = trust_nothing
    """Asked before a Python that lies in the workspace is used for the first time."""

    @cached_property
    def corpus(self) -> Corpus:
        """The words of its files, read when a role first asks what a brief is about, and once for the whole run."""
        return Corpus(self.workspace.root)


async def _nothing_else(files: Mapping[str, str | None]) -> Sequence[TestResult]:
    return ()


@dataclass(frozen=True)
class Desk:
    """A role's desk: the repository as it is now, a model, a place to try things."""

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
    """The parts of the role's earlier work on this file that the developer turned down, and why."""
    earlier: str = ""
    """The undecided proposal for the same thing, where the developer asks for it in another way."""
    # This, `draft` and `unfound` are filled while work goes on; copies that `replace` makes of a desk share them.
    repacks: dict[Opening, Repack] = field(default_factory=dict[Opening, Repack])
    """The functions that make the openings of this desk's conversations shorter."""
    lookups: tuple[str, ...] = ()
    """The names of the lookups that the model may use while it works."""
    tool_limits: ToolLimits = DEFAULT_LIMITS
    """The limits of their use, before each answer."""
    draft: dict[str, str | None] = field(default_factory=dict[str, str | None])
    """The files as the edits have them that were made at this desk so far; lookups see them, and what they run."""
    unfound: set[str] = field(default_factory=set[str])
    """The names and words that lookups made at this desk found nothing about."""
    fit: Fit = field(default_factory=Fit)
    """The size of what the model can take, as far as it is known."""
    role: str = ""
    """Who sits there, such as ``engineer``."""
    accepted_rules: str = ""
    """The rules for that role as they stand, where the developer accepted them."""
    how_to_ask: str = ""
    """The instructions for asking another role; empty where it cannot."""
    corpus: Corpus | None = None
    """The words of the repository's files, where others of the run rank them too."""
    settled: str = ""
    """The answer of the developer to what the brief leaves open, as the role is told."""
    also_try: Callable[[Mapping[str, str | None]], Awaitable[Sequence[TestResult]]] = _nothing_else
    """Runs what the developer settled on a change; the failures."""
    experience: tuple[tuple[str, str], ...] = ()
    """The lessons of earlier attempts at similar tasks, the most useful first: each as a text, and as a line."""
    past_changes: tuple[tuple[str, str], ...] = ()
    """Changes of the repository's history that are like the task, the most alike first: each as a text, and as a
    line."""
    keep: Callable[[Attempted], None] = lambda attempted: None
    """Told of each attempt at this desk."""
    tell: Callable[[str], None] = lambda text: None
    """Told what the developer should read while the work goes on."""

    @property
    def view(self) -> PackSource:
        """Return the view of the repository that the role may be shown."""
        return PackSource(self.workspace, self.snapshot, estimate_tokens, self.corpus, self._select_tests)

    def _select_tests(self, snapshot: Snapshot, changed: Sequence[Definition]) -> Sequence[SelectedTests]:
        """Return the test files that *changed* may make fail, by the graph and by what earlier runs saw them run."""
        selected = select_tests(snapshot, changed)
        memory = self.bench.memory
        return selected if memory is None else with_history(snapshot, selected, changed, memory.recall())
