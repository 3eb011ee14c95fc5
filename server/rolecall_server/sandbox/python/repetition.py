"""The same tests again and again, in random order: what ends the same each time can be believed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rolecall_server.sandbox.python.interpreter import Interpreter
from rolecall_server.sandbox.python.pytest_run import run_tests
from rolecall_server.sandbox.results import TestRun
from rolecall_server.sandbox.shadow.shadow import Shadow


@dataclass(frozen=True)
class Repetition:
    """Several runs of the same tests."""

    runs: tuple[TestRun, ...]
    """In the order they were made; none follows one that did not come to its end."""

    @property
    def is_complete(self) -> bool:
        """Return whether every run came to its end; else `reason` says what happened."""
        return bool(self.runs) and self.runs[-1].status == "ran"

    @property
    def reason(self) -> str:
        """Return the reason why a run did not come to its end; empty when all did."""
        return "" if self.is_complete or not self.runs else self.runs[-1].reason

    @property
    def stable(self) -> tuple[str, ...]:
        """The tests that ended the same each time."""
        return tuple(test for test, outcomes in self._outcomes().items() if self._agree(outcomes))

    @property
    def flaky(self) -> tuple[str, ...]:
        """The tests that did not, or that were not there each time."""
        return tuple(test for test, outcomes in self._outcomes().items() if not self._agree(outcomes))

    def _outcomes(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for run in self.runs:
            for outcome in run.outcomes:
                found.setdefault(outcome.test_id, []).append(outcome.outcome)
        return found

    def _agree(self, outcomes: Sequence[str]) -> bool:
        return len(outcomes) == len(self.runs) and len(set(outcomes)) == 1


async def run_repeatedly(
    shadow: Shadow,
    interpreter: Interpreter,
    targets: Sequence[str] = (),
    *,
    times: int = 3,
    timeout_s: float,
) -> Repetition:
    """Return how *targets* end in *times* runs, each with an order of tests and hashes of strings of its own.

    Each run takes at most *timeout_s*. It stops after a run that did not come to its end.
    """
    runs: list[TestRun] = []
    for seed in range(1, times + 1):
        runs.append(await run_tests(shadow, interpreter, targets, timeout_s=timeout_s, order_seed=seed))
        if runs[-1].status != "ran":
            break
    return Repetition(tuple(runs))
