"""Models that repeat themselves without end, noticed while they write."""

from __future__ import annotations

from dataclasses import dataclass

_WINDOW_CHARACTERS = 4_000
_MAX_PERIOD_CHARACTERS = 400
_CHECK_EVERY_CHARACTERS = 400


@dataclass
class RepetitionWatch:
    """Looks at a text as it grows; what it says ten times over, without a break, it will say for ever.

    Ten times a line of 400 characters, or more often something shorter: no list of data and no ruler in a source file
    comes near it, while a model that is caught in a loop is stopped some seconds later.
    """

    _tail: str = ""
    _n_unchecked: int = 0

    def repeats(self, text: str) -> bool:
        """Return whether the whole, with *text* at its end, only repeats itself."""
        self._tail = (self._tail + text)[-_WINDOW_CHARACTERS:]
        self._n_unchecked += len(text)
        if len(self._tail) < _WINDOW_CHARACTERS or self._n_unchecked < _CHECK_EVERY_CHARACTERS:
            return False
        self._n_unchecked = 0
        return _period(self._tail) is not None


def _period(tail: str) -> int | None:
    """Return the length of the period with which *tail* repeats itself, if it is at most `_MAX_PERIOD_CHARACTERS`."""
    end = tail[-_MAX_PERIOD_CHARACTERS:]
    # In a text that repeats itself, its end stands once more one period earlier: one search finds the only candidate.
    before = tail.rfind(end, 0, -1)
    period = len(tail) - len(end) - before
    if before < 0 or period > _MAX_PERIOD_CHARACTERS or tail[period:] != tail[:-period]:
        return None
    return period
