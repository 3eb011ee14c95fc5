"""Bytes of a source as positions, and back."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

from rolecall_analysis.text import CodePoints, code_points
from rolecall_analysis.values import Position, Span


@dataclass(frozen=True, slots=True)
class SourcePositions:
    """The places where the lines of a source begin."""

    source: bytes
    line_starts: tuple[int, ...]
    points: CodePoints

    def span(self, start: int, end: int) -> Span:
        """Return the text between two bytes."""
        return Span(self.position(start), self.position(end))

    def position(self, byte: int) -> Position:
        """Return the place before a byte."""
        line = bisect_right(self.line_starts, byte) - 1
        return Position(line, self.points.column(byte, byte - self.line_starts[line]))

    def offset(self, position: Position) -> int:
        """Return the byte offset of a position; past the end of a line, or of the text, the offset of that end."""
        if position.line >= len(self.line_starts):
            return len(self.source)
        start = self.line_starts[position.line]
        ends = self.line_starts[position.line + 1 : position.line + 2]
        line = self.source[start : ends[0] if ends else len(self.source)].decode("utf-8", "replace").rstrip("\r\n")
        return start + len(line[: position.column].encode("utf-8", "replace"))


def places_in(source: bytes) -> SourcePositions:
    """Return the places of *source*, whose lines end with LF or CRLF."""
    starts = [0]
    end = source.find(b"\n")
    while end >= 0:
        starts.append(end + 1)
        end = source.find(b"\n", end + 1)
    return SourcePositions(source, tuple(starts), code_points(source))
