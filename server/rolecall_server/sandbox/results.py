"""The results of a run of the tests: plain values, the same on each machine."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

Outcome = Literal["passed", "failed", "error", "skipped", "xfailed", "xpassed"]
RunStatus = Literal["ran", "not run", "timed out", "crashed", "no tests"]


@dataclass(frozen=True)
class NotRun:
    """The reason why nothing was run, and what the developer can do about it; each a sentence."""

    reason: str
    next_step: str = ""

    def __str__(self) -> str:
        return f"{self.reason} {self.next_step}".rstrip()


@dataclass(frozen=True)
class TestResult:
    """The outcome of one test."""

    __test__ = False  # pytest would collect the name

    test_id: str
    """The pytest node id, relative to the workspace; a file's path when it could not be collected."""
    outcome: Outcome
    """``error``: outside the test itself, in a fixture, at collection, or because the interpreter died in it."""
    duration_s: float = 0.0
    message: str = ""
    """The exception in one line, such as ``AssertionError: assert 1 == 2``; the reason of a skipped test."""
    detail: str = ""
    """The traceback, trimmed."""


@dataclass(frozen=True)
class FileCoverage:
    """The lines and branches of one file that a run reached."""

    path: str
    executed_lines: frozenset[int]
    """Counted from 1."""
    missing_lines: frozenset[int]
    branches_total: int
    branches_covered: int
    tests_by_line: Mapping[int, frozenset[str]] = field(default_factory=lambda: MappingProxyType({}))
    """The tests that reached each line, where that was asked for; a line that imports reached has none."""
    steps_by_test: Mapping[str, frozenset[tuple[int, int]]] = field(default_factory=lambda: MappingProxyType({}))
    """From which line to which each test went, where that was asked for; negative lines are ways in and out."""
    branches: frozenset[tuple[int, int]] = frozenset()
    """The ones that were reached, each from which line to which; none where an old coverage.py does not tell."""

    @property
    def ratio(self) -> float:
        """Lines and branches reached, from 0 to 1; 1 for a file with nothing to reach."""
        total = len(self.executed_lines) + len(self.missing_lines) + self.branches_total
        return (len(self.executed_lines) + self.branches_covered) / total if total else 1.0


@dataclass(frozen=True)
class Suite:
    """All tests that the repository's own collection has, some of them first."""

    first: tuple[str, ...] = ()
    """Files, the likeliest to fail first."""
    rest_s: float = 0.0
    """None of the others begins later than this; 0: none of them is run."""
    later: Collection[str] = ()
    """Tests of the first files, without their parameters, that come after the other first ones, in the rest's time."""
    is_alone: bool = False
    """The others are not even read."""
    known: Collection[str] | None = None
    """The tests, without their parameters, of which is known which functions they run: it is told of the others.

    ``None``: of none.
    """


StepKind = Literal["call", "line", "return", "raise"]


@dataclass(frozen=True)
class TraceStep:
    """One step of a traced test: a line of the repository's code, and the values it changed."""

    call: int
    """The call that it is of, counted from 1 as they begin."""
    depth: int
    """Calls of the repository's functions around that one."""
    path: str
    function: str
    line: int
    kind: StepKind
    names: Mapping[str, str]
    """The names that it changed, with a short text of what each is worth; of an error all that the function has."""
    value: str = ""
    """The value that was returned or raised."""


@dataclass(frozen=True)
class TestTrace:
    """The steps of one test, the middle of many left out."""

    __test__ = False

    test_id: str
    steps: tuple[TraceStep, ...]
    n_first: int = 0
    """So many of the steps are of the beginning; what is left out comes after them."""
    left_out: int = 0
    ended: str = ""
    """``error`` where one left the test, ``time`` or ``events`` where that was up; else the test came to its end."""


@dataclass(frozen=True)
class Gap:
    """A part of the tests that was not run, or something that they ran without: each text begins a sentence."""

    what: str
    """``The tests in tests/web were not run``"""
    why: str
    """``tests/web/conftest.py raises ModuleNotFoundError: No module named 'flask'``"""
    next_step: str

    @property
    def reason(self) -> str:
        """Return the reason why, and what the developer can do."""
        return f"{self.why.rstrip('.')}. {self.next_step}"

    def __str__(self) -> str:
        return f"{self.what}: {self.reason}"


@dataclass(frozen=True)
class TestRun:
    """One run of the tests. Only ``ran`` means that pytest came to its end."""

    __test__ = False

    status: RunStatus
    reason: str = ""
    """Why it did not come to its end, with the next step; empty when it ran."""
    outcomes: tuple[TestResult, ...] = ()
    """In the order they ran; kept up to the crash or the timeout."""
    coverage: Mapping[str, FileCoverage] = field(default_factory=lambda: MappingProxyType({}))
    """By path; a file that could not be measured is absent."""
    coverage_reason: str = ""
    """Why something of what was asked for is missing in `coverage`."""
    output: str = ""
    """The output of the run, its middle left out when long."""
    duration_s: float = 0.0
    confinement: str = ""
    """Where it ran."""
    collected: int = 0
    """The number of tests in the repository's own collection, run or not; 0 where it was not asked."""
    uncollected: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Files that were to run first, and that this collection leaves out, each with the reason."""
    without: tuple[Gap, ...] = ()
    """The parts that it was run without, because something of the repository's is broken."""
    options: tuple[str, ...] = ()
    """The options with which pytest began there: so it begins again."""
    is_beside: bool = False
    """All files that were to run first are in that part, so that only others ran."""
    functions: Mapping[str, frozenset[tuple[str, int]]] = field(default_factory=lambda: MappingProxyType({}))
    """By test, without its parameters: the functions it ran, where that was asked; each a path and its first line."""
    traces: tuple[TestTrace, ...] = ()
    """The values that the lines of each test computed, where that was asked."""
    wavering: tuple[str, ...] = ()
    """Tests that failed at first, and passed when their files ran once more."""

    @property
    def passed(self) -> tuple[TestResult, ...]:
        """The tests that passed, against expectation too."""
        return self._of("passed", "xpassed")

    @property
    def failed(self) -> tuple[TestResult, ...]:
        """The tests that failed, errors included."""
        return self._of("failed", "error")

    @property
    def skipped(self) -> tuple[TestResult, ...]:
        """The tests that say nothing: not run here, or failing as expected."""
        return self._of("skipped", "xfailed")

    @property
    def has_run_any(self) -> bool:
        """Return whether any test was begun; a file that could not be read is not a test."""
        return any("::" in outcome.test_id for outcome in self.outcomes)

    def _of(self, *wanted: Outcome) -> tuple[TestResult, ...]:
        return tuple(outcome for outcome in self.outcomes if outcome.outcome in wanted)
