"""The places where the lines of a text begin: byte offsets to lines and columns, and back."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate

from rolecall_analysis.text import CodePoints, wide_bytes
from rolecall_analysis.values import Position, Span


class Layout:
    """The lines of a text, from the lengths that packed facts keep."""

    def __init__(self, line_lengths: Iterable[int], wide_gaps: Iterable[int]) -> None:
        self._starts = [0, *accumulate(length + 1 for length in line_lengths)]
        self._columns = CodePoints(tuple(accumulate(wide_gaps)))

    def place(self, byte: int) -> tuple[int, int]:
        """Return the line and column, in code points, of a byte offset."""
        line = bisect_right(self._starts, byte) - 1
        column = byte - self._starts[line]
        return line, self._columns.column(byte, column) if self._columns.continuation_bytes else column

    def span(self, start: int, end: int) -> Span:
        """Return the span between two byte offsets."""
        return Span(Position(*self.place(start)), Position(*self.place(end)))

    def byte(self, line: int, column: int) -> int:
        """Return the offset of a line and column, in a text without wide characters."""
        return self._starts[line] + column

    def bytes_of(self, span: Span) -> tuple[int, int]:
        """Return the offsets of the ends of *span*, in a text without wide characters."""
        return self.byte(span.start.line, span.start.column), self.byte(span.end.line, span.end.column)


def line_lengths(source: bytes) -> list[int]:
    """Return the number of bytes in each line of *source*, without its line ending."""
    return list(map(len, source.split(b"\n")))


def wide_gaps(source: bytes) -> list[int]:
    """Return the distance of each byte of *source* that does not begin a character from the one before; nothing for
    ASCII.
    """
    offsets = wide_bytes(source)
    return [after - before for before, after in zip((0, *offsets), offsets, strict=False)]


def lengths_that_hold(places: Iterable[tuple[int, int]]) -> list[int]:
    """Line lengths of a made-up text that has all the *places*, lines and columns: the text itself may be gone."""
    widths: dict[int, int] = {}
    for line, column in places:
        widths[line] = max(column, widths.get(line, 0))
    return [widths.get(line, 0) for line in range(max(widths, default=0) + 1)]
