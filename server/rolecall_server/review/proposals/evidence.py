"""The evidence that was gathered before a proposal was shown. Exit codes and reports fill it, never a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

_MOST_NAMED = 3
"""So many tests that failed before have their names in one line."""

FindingKind = Literal["syntax error", "name without meaning", "missing symbol", "call that does not fit"]


@dataclass(frozen=True)
class Tally:
    """The result of one run of the tests, in numbers."""

    passed: int
    failed: int
    """Errors included."""
    skipped: int = 0
    broken: int = 0
    """Of those that failed, the ones that never came to run: they could not be collected, or not be set up."""
    expected: int = 0
    """Of those skipped, the ones that ran and failed as they are marked to."""


@dataclass(frozen=True)
class Failure:
    """One test that fails with the proposal applied."""

    test_id: str
    message: str
    """The exception in one line."""
    failed_before: bool = False
    """It failed without the proposal too."""


@dataclass(frozen=True)
class TestEnd:
    """The end of one test with the proposal applied."""

    __test__ = False  # pytest would collect the name

    test_id: str
    outcome: Literal["passed", "failed", "error", "skipped", "xfailed", "xpassed"]
    message: str = ""
    """The exception in one line; the reason of a skipped test."""
    duration_s: float = 0.0


@dataclass(frozen=True)
class CoverageChange:
    """Lines and branches of one file reached by the tests, from 0 to 1; ``None`` where not measured."""

    path: str
    before: float | None
    after: float | None


@dataclass(frozen=True)
class SourceLine:
    """A line somebody should look at."""

    path: str
    line: int
    """From 0."""
    text: str
    """The line without its margin."""


@dataclass(frozen=True)
class GraphFinding:
    """Something the code graph says a proposal breaks. What was wrong before is none."""

    kind: FindingKind
    path: str
    line: int
    """From 0, in the text as proposed; for what was removed, in the text as it was."""
    sentence: str
    """The defect, without the place."""
    places: tuple[SourceLine, ...] = ()
    """The lines that still use what is missing, or the calls that do not fit, in the text as proposed."""
    certain: bool = True
    """True: every binding was followed. False: somebody should look."""
    is_asked_about: bool = False
    """A model is shown it once, even where it is not certain."""
    name: str = ""
    """The name that is not there, dotted as far as it is known where it was sought; empty for other faults."""

    def __str__(self) -> str:
        return f"{self.path}, line {self.line + 1}: {self.sentence}"


@dataclass(frozen=True)
class Defect:
    """Something in the code under test that looks wrong: it does not do what it promises. Shown as a finding."""

    path: str
    symbol: str
    """A dotted name in that file."""
    line: int
    """From 0; where the symbol began when the tests were written."""
    sentence: str
    """The behaviour there is and the one there should be, in the words of a model."""
    test: str = ""
    """The test that shows it, which fails and is not proposed; empty where there is none."""
    call: str = ""
    """The call that shows it, where it is known."""
    seen: str = ""
    """The failure of that test: the value it got, and the one it expected, in the words of its report."""
    gave: str = ""
    """The value that the call gave there, as a plain one; empty where the report does not have it."""
    promised: str = ""
    """The value that it should have given, likewise."""
    offered: str = ""
    """The test as it is offered, in a hunk that is off until chosen; empty where none is."""
    symbol_print: str = ""
    """Of the symbol as it was then (`review.suspects`)."""

    def __str__(self) -> str:
        return f"{self.path}, {self.symbol}: {self.sentence}"


@dataclass(frozen=True)
class TestWorth:
    """The worth that one new test adds to the tests that were there before."""

    __test__ = False  # pytest would collect the name

    test: str
    """``path::name``, with all its cases."""
    lines: int
    branches: int
    mutants: int
    """The number of mutants that it notices and no earlier test did."""
    cases: int
    duration_s: float


@dataclass(frozen=True)
class MutantTally:
    """Faults that were put into the code on purpose, one at a time, and how many made a test fail."""

    killed: int
    total: int
    """Those that were tried, and those on lines that no test reaches."""
    survivors: tuple[str, ...] = ()
    """The first of those that no test notices: ``line 3: '<' became '<='``."""
    untried: int = 0
    """The number for which the time did not suffice."""
    duration_s: float = 0.0


@dataclass(frozen=True)
class DroppedTest:
    """A test that was written and is not proposed."""

    test: str
    """``path::name``"""
    reason: str
    """As a sentence without a subject: ``fails: AssertionError: assert 1 == 2``."""


@dataclass(frozen=True)
class TestWithout:
    """The result of a test that is new or changed, on the code as it was."""

    __test__ = False  # pytest would collect the name

    test: str
    """``path::name``, with all its cases."""
    fails: bool


@dataclass(frozen=True)
class AlteredTest:
    """A test that was there and loses assertions."""

    test: str
    """``path::name``"""
    assertions: tuple[str, ...]
    """Those that are gone, or read otherwise now."""
    ends: str = ""
    """The result of the old test on the new code: ``fails: AssertionError: ...``; empty where it was not run."""


@dataclass(frozen=True)
class Evidence:
    """The checks of one proposal."""

    ran: bool
    """The tests ran to their end."""
    reason: str = ""
    """Why they did not."""
    not_run: tuple[str, ...] = ()
    """The tests that were not run, or what they ran without, and why: each as it follows the words ``not run:``."""
    partly: tuple[str, ...] = ()
    """Parts of the repository that kept tests from running, or were left out so that they could, and the next step."""
    is_beside: bool = False
    """None of the tests that reach the change could be run, only others."""
    before: Tally | None = None
    """The same tests on the text as it was; ``None`` where there were none."""
    after: Tally | None = None
    failures: tuple[Failure, ...] = ()
    tests: tuple[TestEnd, ...] = ()
    """The tests of the files that the proposal changes, then the first others that ran, as many as are stored."""
    coverage: tuple[CoverageChange, ...] = ()
    coverage_reason: str = ""
    """Why coverage was not measured."""
    problems: tuple[str, ...] = ()
    """Syntax errors the proposal adds, edits that could not be placed."""
    repairs: int = 0
    """The number of times that the model was shown what fails, or breaks, and asked again."""
    confinement: str = ""
    """The place where the tests ran."""
    model: str = ""
    """The model that answered; empty where none was asked."""
    notes: tuple[str, ...] = ()
    """Other facts that were measured or seen, a sentence each."""
    findings: tuple[GraphFinding, ...] = ()
    """The references that the proposal breaks, by the code graph."""
    defects: tuple[Defect, ...] = ()
    """The defects that the tested code seems to have."""
    worth: tuple[TestWorth, ...] = ()
    """The worth of each new test, where that was measured."""
    mutants: MutantTally | None = None
    """Of the code under test, with the proposal; ``None`` where they were not tried."""
    left_out: tuple[DroppedTest, ...] = ()
    orders: int = 0
    """In how many random orders the new tests passed, beside their own."""
    collected: int = 0
    """The number of tests that the repository has by its own collection, run or not; 0 where that is not known."""
    uncollected: tuple[str, ...] = ()
    """Files that should hold tests of the change, and that this collection leaves out: ``path: why``."""
    mended: tuple[str, ...] = ()
    """Tests that fail without the proposal and pass with it."""
    without: tuple[TestWithout, ...] = ()
    """The new and changed tests on the code as it was."""
    altered: tuple[AlteredTest, ...] = ()
    """The tests that were there and lose assertions."""

    @property
    def run(self) -> int:
        """Return the number of tests that were run, skipped ones included."""
        return self.after.passed + self.after.failed + self.after.skipped if self.after else 0

    @property
    def is_tested(self) -> bool:
        """Return whether a test that may concern the proposal ran with it applied, however it ended."""
        if self.after is None or self.is_beside:
            return False
        # Broken tests are counted among the failed: where there is nothing but them, no test got to run.
        return self.after.passed + self.after.failed + self.after.expected > self.after.broken

    @property
    def unrun(self) -> tuple[str, ...]:
        """Return notes on the tests that were not run, and why: what a reader should know before all else."""
        late = tuple(f"not run: {what.rstrip('.')}" for what in (*self._for_want_of_time, *self.not_run))
        beside = (*(what.rstrip(".") for what in self.partly), *late)
        if self.is_tested and self.ran:
            return beside
        why = self.reason or self._why_nothing_ran()
        return (f"{'not all tests ran' if self.is_tested else 'tests not run'}: {why.rstrip('.')}", *beside)

    @property
    def _for_want_of_time(self) -> tuple[str, ...]:
        if self.run >= self.collected:
            return ()
        order = "those that reach the change came first, likeliest to fail first"
        return (f"{self.collected - self.run:,} of {self.collected:,} tests, for want of time: {order}",)

    def _why_nothing_ran(self) -> str:
        """Return what kept tests that were begun from running: a file that could not be read, first of all."""
        # A failure of collecting goes by the path of its file alone; the id of a test has `::` in it.
        unread = next((one for one in self.failures if "::" not in one.test_id), None)
        if unread is not None:
            return f"{unread.test_id} cannot be imported: {unread.message}"
        return "each was skipped, or broke before it began" if self.after else "no reason given"

    @property
    def new_failures(self) -> tuple[Failure, ...]:
        """Tests that pass without the proposal, or do not exist without it, and fail with it."""
        return tuple(failure for failure in self.failures if not failure.failed_before)


def summarise(evidence: Evidence) -> str:
    """Return the evidence in one line, what was not run first: ``12 passed, 1 failed; coverage of a.py 92 %``."""
    n_defects = len(evidence.defects)
    found = [f"{n_defects} finding{'s' if n_defects != 1 else ''} in the code"] if n_defects else []
    return "; ".join([*evidence.unrun, *found, *_checked(evidence)])


def summarise_checks(evidence: Evidence) -> str:
    """Return what was checked in one line, without what was found and what was not run."""
    return "; ".join(_checked(evidence))


def summarise_tests(evidence: Evidence) -> str:
    """Return how the tests went, in a few words: ``12 passed, 1 failed (before: 4 passed, 0 failed)``."""
    return "; ".join([*evidence.unrun, *_counted(evidence)])


def _checked(evidence: Evidence) -> list[str]:
    parts = [*_counted(evidence), *(_coverage(change) for change in evidence.coverage)]
    if evidence.mutants is not None and evidence.mutants.total:
        parts.append(f"{evidence.mutants.killed} of {evidence.mutants.total} mutants killed")
    if evidence.ran and not evidence.coverage and evidence.coverage_reason:
        parts.append(f"coverage not measured: {evidence.coverage_reason}")
    parts.extend(evidence.problems)
    if n_broken := sum(finding.certain for finding in evidence.findings):
        parts.append(f"breaks {n_broken} thing{'s' if n_broken != 1 else ''} in the code graph")
    return parts


def _counted(evidence: Evidence) -> list[str]:
    """Return how many tests ended in which way; nothing where none ran."""
    if evidence.after is None or not evidence.is_tested:
        return []
    text = f"{evidence.after.passed} passed, {evidence.after.failed} failed"
    if evidence.after.skipped:
        text += f", {evidence.after.skipped} skipped"
    if evidence.run < evidence.collected:
        text += f"; ran {evidence.run:,} of {evidence.collected:,}"
    if evidence.before is not None:
        text += f" (before: {evidence.before.passed} passed, {evidence.before.failed} failed{_named(evidence)})"
    return [text]


def _named(evidence: Evidence) -> str:
    """Return the first of the tests that failed before, where any did."""
    failed = [*(one.test_id for one in evidence.failures if one.failed_before), *evidence.mended]
    more = f" and {len(failed) - _MOST_NAMED} more" if len(failed) > _MOST_NAMED else ""
    return f": {', '.join(failed[:_MOST_NAMED])}{more}" if failed else ""


def _coverage(change: CoverageChange) -> str:
    before = "" if change.before is None else f" {_percent(change.before)} ->"
    return f"coverage of {change.path}{before} {_percent(change.after)}"


def _percent(ratio: float | None) -> str:
    return "not measured" if ratio is None else f"{ratio:.0%}"
