"""One attempt at a change, and the work that it is an attempt at: values, which the loop in `attempts` fills."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from rolecall_server.craft.edits.edit_blocks import Edited
from rolecall_server.craft.edits.notes import Note
from rolecall_server.errors import RolecallError
from rolecall_server.model import ChatMessage, ModelClient
from rolecall_server.review.proposals.evidence import GraphFinding
from rolecall_server.sandbox import NotRun, TestResult, TestRun

ReadText = Callable[[str], str | None]

MAX_REPAIRS = 3


@dataclass(frozen=True)
class Attempt:
    """One state of the change, and how its tests went."""

    files: Mapping[str, str | None]
    """The whole text of each file that changes; ``None`` where it is gone."""
    run: TestRun | NotRun
    syntax_errors: tuple[str, ...] = ()
    failures: tuple[TestResult, ...] = ()
    """The tests that fail since, and that the role is to mend."""
    breaks_the_run: bool = False
    """It kept the tests from ending, which they did without it."""
    findings: tuple[GraphFinding, ...] = ()
    """The references that it breaks, by the code graph."""
    notes: tuple[Note, ...] = ()
    """The words of the model, from memory, about names that it uses and no lookup found; nothing has checked them."""

    @property
    def certain_findings(self) -> tuple[GraphFinding, ...]:
        """Return the findings of which there is no doubt."""
        return tuple(finding for finding in self.findings if finding.certain)

    @property
    def told_findings(self) -> tuple[GraphFinding, ...]:
        """Return the findings that the model is shown: the certain ones, and names that nothing seems to have."""
        return tuple(finding for finding in self.findings if finding.certain or finding.is_asked_about)

    renames: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """New paths by old ones; under the old ones the files are gone."""

    @property
    def works(self) -> bool:
        """Return whether nothing speaks against the attempt; that it could not be run does not count against it."""
        return not self.syntax_errors and not self.failures and not self.breaks_the_run

    def rank(self) -> tuple[int, ...]:
        """Greater is better: parses, runs to its end, fails less, breaks less elsewhere, passes more."""
        run = self.run if isinstance(self.run, TestRun) else None
        n_passed = len(run.passed) if run else 0
        n_broken = len(self.certain_findings)
        return (-len(self.syntax_errors), -int(self.breaks_the_run), -len(self.failures), -n_broken, n_passed)


@dataclass(frozen=True)
class Attempted:
    """An attempt in its place among those at the same work."""

    number: int
    """From 1."""
    built_on: int
    """The attempt whose edits lie beneath; 0: the text of the repository."""
    attempt: Attempt
    helped: bool
    """It is the best so far."""
    told: frozenset[str]
    """The tests that the model was told fail, by id."""
    conversation: tuple[ChatMessage, ...]
    """The conversation that led to it, without lookups; the model's reply is its end."""


@dataclass(frozen=True)
class AttemptWork:
    """The prompts and functions that a role brings to the loop."""

    opening: tuple[ChatMessage, ...]
    """The system prompt and the task."""
    read_text: ReadText
    refusal: Callable[[str], str | None]
    """Why a path may not be changed by this role, or ``None``."""
    try_out: Callable[[Mapping[str, str | None]], Awaitable[TestRun | NotRun]]
    """Runs the tests that concern a change."""
    before: Callable[[], TestRun | NotRun | None]
    """The same tests without it, once they have run."""
    on_failure: str
    """The request to the role where tests fail."""
    check: Callable[[Mapping[str, str | None]], tuple[GraphFinding, ...]] = lambda files: ()
    """The function that finds in the code graph what a change breaks."""
    moves_files: bool = False
    """The role may delete and rename files."""
    chosen: str = ""
    """The work that the role chose, and why, for a person to read."""
    objection: Callable[[str, str], str | None] = lambda path, text: None
    """Why the new text of a path may not be had, or ``None``."""
    to_mend: Callable[[tuple[TestResult, ...], str], tuple[TestResult, ...]] = lambda failures, said: failures
    """Chooses the new failures that the role is to mend, given all it has said."""
    draft: dict[str, str | None] = field(default_factory=dict[str, str | None])
    """The files as the edits so far have them; kept up by the loop, for whoever looks things up meanwhile."""
    unfound: set[str] = field(default_factory=set[str])
    """The things that lookups found nothing about, as they add to them; only then a model was asked for notes."""
    begin_repair: Callable[[Attempt, str], tuple[ChatMessage, ...]] | None = None
    """A conversation of its own about the failing tests, given what was said; ``None``: that with the role goes on."""
    still_failing: Callable[[TestRun | NotRun], tuple[TestResult, ...]] = lambda run: ()
    """The tests that the work is for and that do not pass in a run, which failed before it too."""
    start: Edited = field(default_factory=lambda: Edited({}, ()))
    """The edits that the first ones build on: what was proposed before, where that is made anew."""
    looks_up: bool = True
    """The model may look things up from the first call on."""
    most_repairs: int = MAX_REPAIRS
    """So often the model is told what failed, and gives another attempt."""
    keep: Callable[[Attempted], None] = lambda attempted: None
    """Told of each attempt once it was tried."""
    ladder: Ladder | None = None
    """The rungs of a repair; ``None``: each attempt builds on the one before it, whether that helped or not."""


@dataclass(frozen=True)
class Rung:
    """A conversation of its own for the next attempt, which shows more than the one before it."""

    messages: tuple[ChatMessage, ...]
    client: ModelClient | None = None
    """Its model where it may do more than before, such as look things up."""


@dataclass(frozen=True)
class Try:
    """One rung of a repair, as it ended."""

    said: str
    """The model's words beside its edits."""
    attempt: Attempt | None = None
    """The attempt that was tried; ``None`` where the reply held no edit, or the edits of an earlier attempt."""
    is_again: bool = False
    """The edits were those of an earlier attempt, and were not run again."""
    helped: bool = False
    """The edits are kept; those of all other attempts are taken back."""


@dataclass(frozen=True)
class Ladder:
    """A repair: an attempt is taken back unless it helps, none is made twice, and each next one is shown more."""

    start: Attempt
    """The state without a change, with the failures that are to be mended."""
    climb: Callable[[Sequence[Try], Attempt], Awaitable[Rung]]
    """Begins the next rung, given how the earlier ones ended and the best state, whose edits are kept."""


@dataclass(frozen=True)
class AttemptOutcome:
    """The result of the loop."""

    attempt: Attempt
    rationale: str
    """The model's own words about its change."""
    repairs: int
    problems: tuple[str, ...] = ()
    """Edits that could not be placed."""
    interrupted: RolecallError | None = None
    """The error that ended the loop early, if one did."""
    said: str = ""
    """All that the model said beside its edits."""
