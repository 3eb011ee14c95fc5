"""The pieces in which a model reads code: whole functions in the order of their file, as many as there is room for."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rolecall_analysis import Definition, Snapshot, definitions_in
from rolecall_server.model import estimate_tokens

_SHARE_OF_HEAD = 0.25
"""Of the room: imports and constants before the first function that take more are left out of later pieces."""
_MOST_OF_CLASS_HEAD = 40
"""Lines from the name of a class on that are shown with one of its methods: what it promises stands there."""
_NEAR_LINES = 12
"""Shown around a place that is in no function."""
_NAME = re.compile(r"\w+")


@dataclass(frozen=True)
class CodePiece:
    """A part of a file that is read in one request."""

    path: str
    lines: tuple[str, ...]
    """Of the whole file."""
    shown: frozenset[int]
    """The lines that are read, from 0."""
    definitions: tuple[Definition, ...] = ()
    """Of the whole file."""

    @property
    def code(self) -> str:
        """Return the lines that are read, each behind its number from 1."""
        return "".join(numbered(self.lines, self.shown))


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
    definitions = tuple(definitions_in(snapshot, path))
    blocks = _outermost_functions(definitions)
    if not blocks:
        return ()
    head, *segments = _segments(blocks, len(lines))
    wanted = [one for one in segments if changed is None or not one.isdisjoint(changed)]
    if not _fits(lines, head, most_tokens * _SHARE_OF_HEAD):
        head = set[int]()
    classes = [one for one in definitions if one.kind == "class"]
    pieces: list[set[int]] = []
    for segment in wanted:
        shown = segment | _class_lines(classes, segment)
        if pieces and _fits(lines, pieces[-1] | shown, most_tokens):
            pieces[-1] |= shown
        else:
            pieces.append(_cut(lines, head | shown, most_tokens))
    return tuple(CodePiece(path, tuple(lines), frozenset(one), definitions) for one in pieces)


def code_concerned(piece: CodePiece, places: Collection[int], words: str) -> str:
    """Return the functions of the file of *piece* that *places* lie in, lines from 0, or that *words* name: whole, with
    the heads of their classes and the values of the module that are named there; each line behind its number.
    """
    named = set(_NAME.findall(words))
    shown: set[int] = set()
    for one in _outermost_functions(piece.definitions):
        is_meant = one.name in named and (one.kind == "function" or one.name != "__init__")
        if is_meant or any(_covers(one, place) for place in places):
            shown |= _lines_of(one) | _class_heads(piece.definitions, one)
    for place in places:
        if place not in shown:
            shown |= set(range(max(0, place - _NEAR_LINES), place + _NEAR_LINES + 1))
    used = named | set(_NAME.findall("".join(piece.lines[number] for number in shown if number < len(piece.lines))))
    for one in piece.definitions:
        if one.kind == "variable" and one.qualified_name == one.name and one.name in used:
            shown |= _lines_of(one)
    return "".join(numbered(piece.lines, shown))


def _covers(definition: Definition, line: int) -> bool:
    return definition.span.start.line <= line <= definition.span.end.line


def _lines_of(definition: Definition) -> set[int]:
    return set(range(definition.span.start.line, definition.span.end.line + 1))


def _class_heads(definitions: Sequence[Definition], function: Definition) -> set[int]:
    """Return the lines of the classes around *function* that stand before their first method."""
    functions = _outermost_functions(definitions)
    found: set[int] = set()
    for one in definitions:
        if one.kind == "class" and _covers(one, function.span.start.line):
            first = min(inner.span.start.line for inner in functions if _covers(one, inner.span.start.line))
            found |= set(range(one.span.start.line, min(first, one.span.start.line + _MOST_OF_CLASS_HEAD)))
    return found


def _fits(lines: Sequence[str], shown: set[int], most_tokens: float) -> bool:
    """Return whether the lines *shown* take at most *most_tokens*, their numbers included."""
    return estimate_tokens("".join(numbered(lines, shown))) <= most_tokens


def numbered(lines: Sequence[str], shown: Collection[int]) -> Iterator[str]:
    """Yield the lines *shown*, from 0, each behind its number from 1; three dots stand for those between and after."""
    previous = -1
    for number in sorted(shown):
        if number >= len(lines):
            return
        if number > previous + 1:
            yield "...\n"
        # Python 3.11 allows no backslash between the braces of an f-string.
        yield f"{number + 1:>5} {lines[number].rstrip(chr(13) + chr(10))}\n"
        previous = number
    if previous + 1 < len(lines):
        yield "...\n"


def _outermost_functions(definitions: Sequence[Definition]) -> list[Definition]:
    """Return the functions and methods that lie in no other function, in their order."""
    functions = [one for one in definitions if one.kind in ("function", "method")]
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
        # By shares: how many tokens lines take is known only once they are counted, which is too slow line by line.
        shown = set(sorted(shown)[: len(shown) * 3 // 4])
    return shown
