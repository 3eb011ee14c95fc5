"""Where hunks lie in a text that has moved on since they were made, or why they lie nowhere.

The base of a proposal never changes. What the developer accepted is replayed on it; the difference between
that and the text as it is now is what somebody typed. A hunk whose surroundings nobody touched moves with
them; one whose lines were touched is stale. Nothing is guessed, and nothing of this is stored: the same
text always gives the same answer.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from rolecall_server.review.proposal import FileChange, Hunk
from rolecall_server.workspace import split_lines

CONTEXT_LINES = 3
"""How far around a hunk its surroundings are compared, as in a unified diff."""


@dataclass(frozen=True)
class Anchor:
    """The lines of the current text that a hunk replaces."""

    start: int
    end: int


@dataclass(frozen=True)
class Stale:
    """Why a hunk can no longer be placed."""

    reason: str


def locate(change: FileChange, accepted: Collection[str], current: str | None) -> dict[str, Anchor | Stale]:
    """The place in *current* of each hunk of *change* that is not in *accepted*, by hunk id.

    *current* is ``None`` where the file does not exist.
    """
    undecided = [hunk for hunk in change.hunks if hunk.id not in accepted]
    expected, places = _replay(change, accepted)
    if current is None and (change.base is not None or expected):
        return {hunk.id: Stale(f"{change.path} was deleted.") for hunk in undecided}
    if current is not None and change.base is None and not expected and current:
        return {hunk.id: Stale(f"{change.path} exists by now.") for hunk in undecided}
    lines = split_lines(current or "")
    runs = _unchanged_runs(expected, lines)
    return {hunk.id: _anchor(places[hunk.id], hunk, expected, runs, len(lines)) for hunk in undecided}


def text_with(change: FileChange, accepted: Collection[str]) -> str:
    """The base with the *accepted* hunks applied."""
    return "".join(_replay(change, accepted)[0])


def _replay(change: FileChange, accepted: Collection[str]) -> tuple[list[str], dict[str, int]]:
    """The base with *accepted* applied, as lines, and where each other hunk starts in it."""
    base = split_lines(change.base or "")
    lines: list[str] = []
    places: dict[str, int] = {}
    done = 0
    for hunk in change.hunks:
        lines += base[done : hunk.start]
        done = hunk.start
        if hunk.id in accepted:
            lines += hunk.new_lines
            done = hunk.end
        else:
            places[hunk.id] = len(lines)
    return lines + base[done:], places


@dataclass(frozen=True)
class _Run:
    """Lines that stand unchanged in both texts."""

    expected: int
    current: int
    size: int


def _unchanged_runs(expected: Sequence[str], current: Sequence[str]) -> list[_Run]:
    """The longest common stretches, in order. Equal heads and tails are cut off first, so typing is cheap."""
    head = 0
    while head < min(len(expected), len(current)) and expected[head] == current[head]:
        head += 1
    tail = 0
    while tail < min(len(expected), len(current)) - head and expected[-1 - tail] == current[-1 - tail]:
        tail += 1
    middle = SequenceMatcher(
        None, expected[head : len(expected) - tail], current[head : len(current) - tail], autojunk=False
    )
    runs = [_Run(0, 0, head)]
    runs += [_Run(head + block.a, head + block.b, block.size) for block in middle.get_matching_blocks()]
    runs.append(_Run(len(expected) - tail, len(current) - tail, tail))
    return _joined(runs)


def _joined(runs: Sequence[_Run]) -> list[_Run]:
    joined: list[_Run] = []
    for run in runs:
        last = joined[-1] if joined else None
        if last and (last.expected + last.size, last.current + last.size) == (run.expected, run.current):
            joined[-1] = _Run(last.expected, last.current, last.size + run.size)
        else:
            joined.append(run)
    return joined


def _anchor(start: int, hunk: Hunk, expected: Sequence[str], runs: Sequence[_Run], n_current: int) -> Anchor | Stale:
    end = start + hunk.end - hunk.start
    for run in runs:
        if run.expected <= start and end <= run.expected + run.size:
            if _holds(run, start, end, expected, n_current):
                shift = run.current - run.expected
                return Anchor(start + shift, end + shift)
            break
    return Stale("The lines around it have changed since it was proposed.")


def _holds(run: _Run, start: int, end: int, expected: Sequence[str], n_current: int) -> bool:
    """Whether *run* is enough of the surroundings to be sure of the place.

    An addition must not touch an edited place, for then its order with what was typed there is a guess.
    Blank lines or a lone bracket recur everywhere, so the run must hold most of the context that says something.
    """
    run_end = run.expected + run.size
    starts_text = run.expected == 0 and run.current == 0
    ends_text = run_end == len(expected) and run.current + run.size == n_current
    if start == end and not ((start > run.expected or starts_text) and (end < run_end or ends_text)):
        return False
    first, last = max(0, start - CONTEXT_LINES), min(len(expected), end + CONTEXT_LINES)
    telling = [i for i in range(first, last) if any(c.isalnum() for c in expected[i])]
    held = [i for i in telling if run.expected <= i < run_end]
    return len(held) >= min(2, len(telling))
