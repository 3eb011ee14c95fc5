"""No text from outside keeps us busy: what a pattern takes grows as its text does, and no faster."""

from __future__ import annotations

import re
import sys

import pytest

from rolecall_server.context.redaction import Covers
from rolecall_server.craft.edits.replies import parse_edit_blocks, prose_of, text_beside_edits
from support.patterns import Found, patterns, seconds, slow_texts

LONG, LONGER = 2_000, 16_000
"""Characters; eight times as many take eight times as long where work is linear, 64 times where it is quadratic."""
TOO_MUCH_GROWTH = 24
UNNOTICED_S, CLEAR_S = 0.0002, 0.002
"""What takes less for the long text is not looked at further, and what takes more not for the longer one."""
FEW = (16, 20, 24, 40, 400)
"""Characters: what grows faster still is found out before it takes for ever."""
ENDLESS_S = 0.03
"""More than any text of so few characters may take."""


def growths(found: Found) -> list[str]:
    """What the pattern takes too long for."""
    slow: list[str] = []
    for before, piece in slow_texts(found):
        for n in FEW:
            if seconds(found, before, piece, n) > ENDLESS_S < seconds(found, before, piece, n, times=3):
                return [f"{before!r} and {n} characters of {piece!r}"]
        if (took := seconds(found, before, piece, LONG)) > UNNOTICED_S:
            n = LONG if took > CLEAR_S else LONGER
            few, many = (seconds(found, before, piece, n, times=3) for n in (n // 8, n))
            if many > TOO_MUCH_GROWTH * few:
                return [f"{before!r} and many {piece!r}: {many / few:.0f} times as long for 8 times as much"]
    return slow


def test_the_patterns_are_found() -> None:
    assert len(patterns()) > 250
    assert any(not isinstance(found.pattern, str) for found in patterns())
    assert any(found.anchored for found in patterns())
    assert {found.place.partition("/")[0] for found in patterns()} == {"rolecall_server", "rolecall_analysis"}


@pytest.mark.parametrize("part", range(8))
def test_every_pattern_takes_time_in_proportion_to_its_text(part: int) -> None:
    slow = {str(found): growth for found in patterns()[part::8] if (growth := growths(found))}
    assert not slow


@pytest.mark.parametrize(
    "pattern",
    [
        r"[^\s:]*/lib",
        r"^\s*x",
        r"(?:a|a)+$",
        r"#\s*(.+?)\s*(?:-->)?\s*$",
        r"[A-Z]+(?:_[A-Z]+)*_[0-9]",
        r"\bnode\b.*--test\b",
    ],
)
def test_a_pattern_that_does_not_is_found_out(pattern: str) -> None:
    assert growths(Found("control.py:1", pattern, re.MULTILINE, anchored=False))


MARKERS = [
    "<<<<<<< SEARCH\n",
    ">>>>>>> REPLACE\n",
    "=======\n",
    "<<<<<<< HEAD\n",
    "FILE: a.py\n",
    "```\n",
    "a `b.py` c\n",
]


@pytest.mark.parametrize("first", MARKERS)
@pytest.mark.parametrize("second", MARKERS)
def test_a_reply_of_nothing_but_markers_is_read_in_proportion_to_its_length(first: str, second: str) -> None:
    assert steps_of(first + second, 8) <= 12 * steps_of(first + second, 1)


def steps_of(piece: str, times: int) -> int:
    """How many lines of code run while a reply is read that says the same many times over."""
    reply = piece * (12 * times)
    n_steps = 0

    def count(*_: object) -> object:
        nonlocal n_steps
        n_steps += 1
        return count

    sys.settrace(count)  # pyright: ignore[reportArgumentType]
    try:
        parse_edit_blocks(reply)
        prose_of(reply)
        text_beside_edits(reply)
    finally:
        sys.settrace(None)
    return n_steps


def test_a_text_without_a_space_is_covered_as_it_is() -> None:
    noise = "a" * 64_000
    assert Covers().cover(noise) == noise
