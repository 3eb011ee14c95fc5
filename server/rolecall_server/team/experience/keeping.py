"""Attempts as they are kept: how each ended, beside the call that is in the store anyway."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from pydantic import TypeAdapter

from rolecall_server.craft.attempt import Attempt, Attempted
from rolecall_server.sandbox import TestResult, TestRun
from rolecall_server.store.attempts import keep_attempt
from rolecall_server.team.model_calls.budgeted import StoredCalls

MOST_FAILURES = 6
_MOST_OF_A_MESSAGE = 400


@dataclass(frozen=True)
class PassCount:
    """Tests, counted by how they ended."""

    passed: int = 0
    failed: int = 0

    @property
    def n(self) -> int:
        """Return the number of tests."""
        return self.passed + self.failed

    def __add__(self, other: PassCount) -> PassCount:
        """Return both counts as one."""
        return PassCount(self.passed + other.passed, self.failed + other.failed)


@dataclass(frozen=True)
class KeptFailure:
    """A test that failed, and what it said, secrets covered."""

    test: str
    message: str


@dataclass(frozen=True)
class KeptAttempt:
    """The end of one attempt."""

    number: int
    """From 1, within its step."""
    built_on: int
    """The attempt whose edits lay beneath; 0: the text of the repository."""
    helped: bool
    """It was the best so far."""
    works: bool
    """Nothing spoke against it."""
    ran: bool
    """Tests ran, and came to their end."""
    paths: tuple[str, ...]
    """The files that it changed."""
    public: PassCount
    """The tests that the model knew: that were named to it, shown to it, told to fail, or its own."""
    private: PassCount
    """All others that were run. What failed without the change as well is in neither."""
    failures: tuple[KeptFailure, ...] = ()
    """Some of the tests that failed."""
    trouble: str = ""
    """The syntax error that kept it from being run, the end of its run, or a reference that it breaks."""

    @property
    def pass_rate(self) -> float | None:
        """Return the share of tests that passed among those the model knew and those it broke: 0 to 1; ``None`` where
        no test says anything.
        """
        if self.trouble and not self.ran:
            return 0.0
        concerned = self.public + PassCount(failed=self.private.failed)
        if concerned.n:
            return concerned.passed / concerned.n
        return 1.0 if self.ran and self.private.passed else None


ATTEMPT_JSON = TypeAdapter(KeptAttempt)


def keep_with(calls: StoredCalls) -> Callable[[Attempted], None]:
    """Return a function that keeps each attempt that a reply of *calls* led to."""

    def keep(attempted: Attempted) -> None:
        if calls.answered:
            body = ATTEMPT_JSON.dump_json(kept(attempted, calls.covers.cover)).decode()
            keep_attempt(calls.store, calls.answered, body)

    return keep


def kept(attempted: Attempted, cover: Callable[[str], str]) -> KeptAttempt:
    """Return what is kept of *attempted*; what tests and errors say goes through *cover*."""
    attempt = attempted.attempt
    run = attempt.run if isinstance(attempt.run, TestRun) else None
    public, private = _counted(attempted)
    return KeptAttempt(
        attempted.number,
        attempted.built_on,
        attempted.helped,
        attempt.works and not attempt.certain_findings,
        run is not None and run.status == "ran",
        tuple(sorted({*attempt.files, *attempt.renames.values()})),
        public,
        private,
        tuple(
            KeptFailure(cover(one.test_id), cover(one.message)[:_MOST_OF_A_MESSAGE])
            for one in attempt.failures[:MOST_FAILURES]
        ),
        cover(_trouble(attempt))[:_MOST_OF_A_MESSAGE],
    )


def _trouble(attempt: Attempt) -> str:
    if attempt.syntax_errors:
        return attempt.syntax_errors[0]
    if attempt.breaks_the_run:
        return attempt.run.reason or "The tests did not come to their end."
    return f"{attempt.certain_findings[0]}" if attempt.certain_findings else ""


def _counted(attempted: Attempted) -> tuple[PassCount, PassCount]:
    """Return how the tests ended that the model knew, and how the others did."""
    attempt = attempted.attempt
    run = attempt.run
    passed = run.passed if isinstance(run, TestRun) else ()
    said = "\n".join(message.text for message in attempted.conversation)
    paths = {one.test_id.partition("::")[0] for one in (*passed, *attempt.failures)}
    known = {path for path in paths if path in attempt.files or path in said}

    def is_public(test: TestResult) -> bool:
        return test.test_id in attempted.told or test.test_id.partition("::")[0] in known

    def count(tests: Iterable[TestResult], *, public: bool) -> int:
        return sum(is_public(one) is public for one in tests)

    return (
        PassCount(count(passed, public=True), count(attempt.failures, public=True)),
        PassCount(count(passed, public=False), count(attempt.failures, public=False)),
    )
