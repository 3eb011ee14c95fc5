"""The pieces in which a model reads code: whole functions in the order of their file, as many as there is room for."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rolecall_analysis import Definition, Snapshot, definitions_in
from rolecall_server.model import estimate_tokens

_SHARE_OF_HEAD = 0.25
"""Of the room: imports and constants before the first function that take more are left out of later pieces."""


@dataclass(frozen=True)
class CodePiece:
    """A part of a file that is read in one request."""

    path: str
    code: str
    """With line numbers."""
    n_lines: int
    """Of the whole file."""


def pieces_of(
    snapshot: Snapshot,
    path: str,
    lines: Sequence[str],
    most_tokens: int,
    changed: Collection[int] | None = None,
) -> tuple[CodePiece, ...]:
    """Return the functions of *path* in pieces of at most *most_tokens*; of a *changed* file those that have one of
    these lines, from 0.

    A function that is longer by itself is shown as far as there is room. Nothing comes of a file without functions.
    """
    blocks = _outermost_functions(snapshot, path)
    if not blocks:
        return ()
    head, *segments = _segments(blocks, len(lines))
    wanted = [one for one in segments if changed is None or not one.isdisjoint(changed)]
    if not _fits(lines, head, most_tokens * _SHARE_OF_HEAD):
        head = set[int]()
    classes = [one for one in definitions_in(snapshot, path) if one.kind == "class"]
    pieces: list[set[int]] = []
    for segment in wanted:
        shown = segment | _class_lines(classes, segment)
        if pieces and _fits(lines, pieces[-1] | shown, most_tokens):
            pieces[-1] |= shown
        else:
            pieces.append(_cut(lines, head | shown, most_tokens))
    return tuple(CodePiece(path, "".join(numbered(lines, one)), len(lines)) for one in pieces)


def _fits(lines: Sequence[str], shown: set[int], most_tokens: float) -> bool:
    """Return whether the lines *shown* take at most *most_tokens*, their numbers included."""
    return estimate_tokens("".join(numbered(lines, shown))) <= most_tokens


def numbered(lines: Sequence[str], shown: set[int]) -> Iterator[str]:
    """Yield the lines *shown*, from 0, each behind its number from 1; three dots stand for those between."""
    previous = -1
    for number in sorted(shown):
        if number >= len(lines):
            return
        if number > previous + 1:
            yield "...\n"
        # Python 3.11 allows no backslash between the braces of an f-string.
        yield f"{number + 1:>5} {lines[number].rstrip(chr(13) + chr(10))}\n"
        previous = number


def _outermost_functions(snapshot: Snapshot, path: str) -> list[Definition]:
    """Return the functions and methods of *path* that lie in no other function, in their order."""
    functions = [one for one in definitions_in(snapshot, path) if one.kind in ("function", "method")]
    functions.sort(key=lambda one: one.span.start)
    found: list[Definition] = []
    for one in functions:
        if not found or one.span.start >= found[-1].span.end:
            found.append(one)
    return found


def _segments(blocks: Sequence[Definition], n_lines: int) -> list[set[int]]:
    """Return the lines before the first of *blocks*, then those from each one to the next."""
    starts = [0, *(one.span.start.line for one in blocks), n_lines]
    return [set(range(first, last)) for first, last in pairwise(starts)]


def _class_lines(classes: Sequence[Definition], segment: set[int]) -> set[int]:
    """Return the first lines of the classes around the function that begins *segment*."""
    first = min(segment)
    return {one.name_span.start.line for one in classes if one.span.start.line <= first <= one.span.end.line}


def _cut(lines: Sequence[str], shown: set[int], most_tokens: int) -> set[int]:
    while not _fits(lines, shown, most_tokens):
        shown = set(sorted(shown)[: len(shown) * 3 // 4])
    return shown
