"""Positions: an editor counts lines and code units, the rest of Rolecall counts code points of a text."""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Sequence
from itertools import accumulate

from lsprotocol import types

from rolecall_server.workspace import split_lines

Encoding = types.PositionEncodingKind


def choose_encoding(capabilities: types.ClientCapabilities) -> Encoding:
    """Return the encoding both sides can count in; UTF-16 where the client offers none, as the specification says.

    UTF-32 comes first where it is offered: its units are our own.
    """
    offered = (capabilities.general.position_encodings if capabilities.general else None) or ()
    wanted = (Encoding.Utf32, Encoding.Utf8)
    return next((encoding for encoding in wanted if encoding in offered), Encoding.Utf16)


def place_at(lines: Sequence[str], position: types.Position, encoding: Encoding) -> tuple[int, int]:
    """Return the line of *position* and the code points before it in that line.

    A position past the end of a line means the line's end, one past the last line the start of a line after it, and
    one inside a character that takes several units the start of that character.
    """
    if position.line >= len(lines):
        return len(lines), 0
    return position.line, _code_points(lines[position.line].rstrip("\r\n"), position.character, encoding)


def positions_at(text: str, offsets: Sequence[int], encoding: Encoding) -> list[types.Position]:
    """Return the positions of the code points at *offsets* of *text*, as an editor counts."""
    lines = split_lines(text)
    starts = [0, *accumulate(len(line) for line in lines)]
    ends_open = bool(lines) and not lines[-1].endswith(("\n", "\r"))

    def position(offset: int) -> types.Position:
        # Below a last line with a line end an editor has one more line, which is empty.
        if offset >= len(text) and not ends_open:
            return types.Position(len(lines), 0)
        line = min(bisect.bisect_right(starts, offset), len(lines)) - 1
        return types.Position(line, n_units(lines[line][: offset - starts[line]], encoding))

    return [position(offset) for offset in offsets]


def n_units(text: str, encoding: Encoding) -> int:
    """Return the number of code units of *encoding* that *text* takes."""
    return len(text) if encoding == Encoding.Utf32 or text.isascii() else sum(_widths(text, encoding))


def _code_points(line: str, units: int, encoding: Encoding) -> int:
    """Return the number of characters of *line* that lie wholly within its first *units*."""
    line = line[:units]  # no character takes less than one
    if encoding == Encoding.Utf32 or line.isascii():
        return len(line)
    return bisect.bisect_right(list(accumulate(_widths(line, encoding))), units)


def _widths(text: str, encoding: Encoding) -> Iterator[int]:
    """Return the number of code units of each character, in UTF-8 or UTF-16."""
    if encoding == Encoding.Utf8:
        return (1 + (each > "\x7f") + (each > "\u07ff") + (each > "\uffff") for each in text)
    return (1 + (each > "\uffff") for each in text)
