"""Positions: an editor counts lines and code units, the rest of Rolecall counts code points of a text."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from itertools import accumulate

from lsprotocol import types

from rolecall_server.workspace import split_lines

Encoding = types.PositionEncodingKind


def choose_encoding(offered: Sequence[Encoding | str] | None) -> Encoding:
    """The encoding both sides can count in; UTF-16 where the client offers none, as the specification says.

    UTF-32 comes first where it is offered: its units are our own.
    """
    for encoding in (Encoding.Utf32, Encoding.Utf8, Encoding.Utf16):
        if encoding in (offered or ()):
            return encoding
    return Encoding.Utf16


def offset_at(text: str, position: types.Position, encoding: Encoding) -> int:
    """The code points of *text* before *position*.

    A position past the end of a line means the line's end, one past the last line the end of the text, and one
    inside a character that takes several units the start of that character.
    """
    lines = split_lines(text)
    if position.line >= len(lines):
        return len(text)
    before = sum(len(line) for line in lines[: position.line])
    return before + _code_points(lines[position.line].rstrip("\r\n"), position.character, encoding)


def position_at(text: str, offset: int, encoding: Encoding) -> types.Position:
    """Where the code point *offset* of *text* lies, as an editor says it."""
    lines = split_lines(text)
    starts = [0, *accumulate(len(line) for line in lines)]
    if offset >= len(text) and (not lines or lines[-1].endswith(("\n", "\r"))):
        return types.Position(len(lines), 0)
    line = min(bisect.bisect_right(starts, offset), len(lines)) - 1
    return types.Position(line, n_units(lines[line][: offset - starts[line]], encoding))


def n_units(text: str, encoding: Encoding) -> int:
    """How many code units of *encoding* *text* takes."""
    if encoding == Encoding.Utf32:
        return len(text)
    if encoding == Encoding.Utf8:
        return len(text.encode("utf-8", "surrogatepass"))
    return len(text) + sum(character > "\uffff" for character in text)


def _code_points(line: str, units: int, encoding: Encoding) -> int:
    if encoding == Encoding.Utf32 or line.isascii():
        return min(units, len(line))
    taken = 0
    for at, character in enumerate(line):
        taken += n_units(character, encoding)
        if taken > units:
            return at
    return len(line)
