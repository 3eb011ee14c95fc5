"""What was checked before a proposal was shown. Exit codes and reports fill it, never a model."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Tally:
    """How one run of the tests ended."""

    passed: int
    failed: int
    """Errors included."""
    skipped: int = 0


@dataclass(frozen=True)
class Failure:
    """One test that fails with the proposal applied."""

    test_id: str
    message: str
    """The exception in one line."""
    failed_before: bool = False
    """Whether it failed without the proposal too."""


@dataclass(frozen=True)
class CoverageChange:
    """Lines and branches of one file reached by the tests, from 0 to 1; ``None`` where not measured."""

    path: str
    before: float | None
    after: float | None


@dataclass(frozen=True)
class Evidence:
    """The checks of one proposal."""

    ran: bool
    """Whether the tests ran to their end."""
    reason: str = ""
    """Why they did not."""
    before: Tally | None = None
    """The same tests on the text as it was; ``None`` where there were none."""
    after: Tally | None = None
    failures: tuple[Failure, ...] = ()
    coverage: tuple[CoverageChange, ...] = ()
    coverage_reason: str = ""
    """Why coverage was not measured."""
    problems: tuple[str, ...] = ()
    """Syntax errors the proposal adds, edits that could not be placed."""
    repairs: int = 0
    """How many times the model was shown a failing run and asked again."""
    confinement: str = ""
    """Where the tests ran."""
    model: str = ""
    """Who answered."""

    @property
    def new_failures(self) -> tuple[Failure, ...]:
        """Tests that pass without the proposal, or do not exist without it, and fail with it."""
        return tuple(failure for failure in self.failures if not failure.failed_before)


def summarise(evidence: Evidence) -> str:
    """The evidence in one line: ``12 passed, 1 failed; coverage of price.py 40 % -> 92 %``."""
    parts = [_tests(evidence), *(_coverage(change) for change in evidence.coverage)]
    if evidence.ran and not evidence.coverage and evidence.coverage_reason:
        parts.append(f"coverage not measured: {evidence.coverage_reason}")
    parts.extend(evidence.problems)
    return "; ".join(parts)


def _tests(evidence: Evidence) -> str:
    if not evidence.ran or evidence.after is None:
        return f"tests not run: {evidence.reason or 'no reason given'}"
    text = f"{evidence.after.passed} passed, {evidence.after.failed} failed"
    if evidence.after.skipped:
        text += f", {evidence.after.skipped} skipped"
    if evidence.before is not None:
        text += f" (before: {evidence.before.passed} passed, {evidence.before.failed} failed)"
    return text


def _coverage(change: CoverageChange) -> str:
    before = "" if change.before is None else f" {_percent(change.before)} ->"
    return f"coverage of {change.path}{before} {_percent(change.after)}"


def _percent(ratio: float | None) -> str:
    return "not measured" if ratio is None else f"{ratio:.0%}"
