"""Texts in which every character is known, whatever happens around it: what an edit removed is told without a diff."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

Key = tuple[str, str]
"""A proposal and one of its hunks."""

_ids = itertools.count(1)
# The protocol knows these ends of lines alone; `str.splitlines` knows more.
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


@dataclass(frozen=True)
class Traced:
    """A text, who each of its characters is, and the hunks it is known to hold."""

    text: str = ""
    ids: tuple[int, ...] = ()
    landed: frozenset[Key] = frozenset()

    def __len__(self) -> int:
        return len(self.text)

    def piece(self, start: int, end: int) -> Traced:
        """The characters from *start* to *end*, with their identities."""
        return Traced(self.text[start:end], self.ids[start:end])

    def spliced(self, start: int, end: int, piece: Traced) -> Traced:
        """The text with *piece* in place of what lies between *start* and *end*."""
        text = self.text[:start] + piece.text + self.text[end:]
        return replace(self, text=text, ids=self.ids[:start] + piece.ids + self.ids[end:])

    def lines(self) -> list[Traced]:
        """Its lines with their endings."""
        return [self.piece(start, end) for start, end in line_spans(self.text)]


def fresh(text: str) -> Traced:
    """*text* as somebody just typed it: no character was there before."""
    return Traced(text, tuple(next(_ids) for _ in text))


def joined(pieces: Iterable[Traced]) -> Traced:
    """The pieces one after the other."""
    kept = list(pieces)
    return Traced("".join(piece.text for piece in kept), tuple(i for piece in kept for i in piece.ids))


def line_spans(text: str) -> list[tuple[int, int]]:
    """Where each line of *text* begins, and where it ends with its ending."""
    return [match.span() for match in _LINE.finditer(text)]


def content(line: str) -> str:
    """A line without its ending."""
    return line.rstrip("\r\n")


def edited_lines(text: Traced, edit: Callable[[str], str]) -> Traced:
    """*text* with each line edited; what a line keeps at its start and end is the same characters."""
    return joined(_kept(line, edit(line.text)) for line in text.lines())


def _kept(old: Traced, new: str) -> Traced:
    head = _common(old.text, new)
    tail = _common(old.text[head:][::-1], new[head:][::-1])
    return old.spliced(head, len(old) - tail, fresh(new[head : len(new) - tail]))


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
