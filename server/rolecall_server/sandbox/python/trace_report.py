"""The traces of tests, read from what the tests' process told of them: nothing that it tells is believed unread."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rolecall_server.sandbox.results import StepKind, TestTrace, TraceStep

_MOST_STEPS = 400
"""Of all tests together: the process tells fewer of one, unless something there pretends to be it."""
_MOST_CHARACTERS = 400
_ENDS = ("error", "time", "events")
_KINDS: Mapping[str, StepKind] = {"call": "call", "line": "line", "return": "return", "raise": "raise"}


class TracedTests:
    """The steps that were told so far, by test, their texts made *neutral*."""

    def __init__(self, neutral: Callable[[str], str]) -> None:
        self._neutral = neutral
        self._found: dict[str, TestTrace] = {}
        self._left = _MOST_STEPS

    def add(self, record: Mapping[str, Any]) -> None:
        """Add the steps of *record*.

        Raises:
            KeyError, TypeError, ValueError: it is no such record.
        """
        test, told = str(record["test"]), [self._step(one) for one in record["steps"][: self._left]]
        self._left -= len(told)
        steps = (*self._found[test].steps, *told) if test in self._found else tuple(told)
        ended = "" if record["ended"] not in _ENDS else record["ended"]
        self._found[test] = TestTrace(
            self._neutral(test), steps, int(record["first"]), int(record["left_out"]), str(ended)
        )

    def by_test(self) -> tuple[TestTrace, ...]:
        """Return the traces of all tests, in the order they ran."""
        return tuple(self._found.values())

    def _step(self, told: Any) -> TraceStep:
        call, depth, path, function, line, kind, names, value = told
        texts = {self._short(name): self._short(worth) for name, worth in dict(names).items()}
        place = self._short(path), self._short(function), int(line)
        return TraceStep(int(call), int(depth), *place, _KINDS[kind], texts, self._short(value))

    def _short(self, text: object) -> str:
        return self._neutral(str(text))[:_MOST_CHARACTERS]
