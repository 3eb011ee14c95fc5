"""One attempt at a change, and the work that it is an attempt at: values, which the loop in `attempts` fills."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from rolecall_server.errors import RolecallError
from rolecall_server.model import ChatMessage
from rolecall_server.review.proposals.evidence import GraphFinding
from rolecall_server.sandbox import NotRun, TestResult, TestRun

ReadText = Callable[[str], str | None]


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

    @property
    def certain_findings(self) -> tuple[GraphFinding, ...]:
        """Those of which there is no doubt."""
        return tuple(finding for finding in self.findings if finding.certain)

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
    begin_repair: Callable[[Attempt, str], tuple[ChatMessage, ...]] | None = None
    """A conversation of its own about the failing tests, given what was said; ``None``: that with the role goes on."""


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
