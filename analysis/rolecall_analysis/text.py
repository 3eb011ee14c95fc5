"""Text as an editor counts it (lines, code points) and as a parser does (UTF-8 bytes)."""

from __future__ import annotations

import io
import re
import tokenize
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from rolecall_analysis.values import Position, Span

_LINE_BREAK = re.compile(r"\r\n|\r|\n")
_LONE_CR = re.compile(r"\r(?!\n)")
_CONTINUATION_BYTE = re.compile(rb"[\x80-\xbf]")
_BOM = "\ufeff"


@dataclass(frozen=True, slots=True)
class Edit:
    """*new_text* in place of the text from *start* to *end*."""

    start: Position
    end: Position
    new_text: str


def apply_edits(text: str, edits: Sequence[Edit]) -> str:
    """Return *text* after *edits*, one after the other, each in the coordinates of its predecessor's result.

    A position past the end of a line, or of the text, means that end.
    """
    for edit in edits:
        starts = _line_starts(text)
        start, end = sorted((_offset(text, starts, edit.start), _offset(text, starts, edit.end)))
        text = text[:start] + edit.new_text + text[end:]
    return text


def text_in(text: str, span: Span) -> str:
    """Return the part of *text* that *span* covers."""
    starts = _line_starts(text)
    return text[_offset(text, starts, span.start) : _offset(text, starts, span.end)]


def _line_starts(text: str) -> list[int]:
    return [0, *(line_break.end() for line_break in _LINE_BREAK.finditer(text))]


def _offset(text: str, starts: list[int], position: Position) -> int:
    if position.line >= len(starts):
        return len(text)
    start = starts[position.line]
    end = starts[position.line + 1] if position.line + 1 < len(starts) else len(text)
    line = text[start:end]
    return start + min(position.column, len(line.rstrip("\r\n")))


def encode(text: str) -> bytes:
    """Return *text* as the parser reads it: UTF-8, each lone CR turned into LF so that the parser sees the line end.

    Lone surrogates become question marks: no position moves.
    """
    return _LONE_CR.sub("\n", text).encode("utf-8", "replace")


def decode(content: bytes) -> tuple[str, str | None]:
    """Return a Python file's text without its byte order mark, by its encoding cookie, and what was wrong with it."""
    try:
        # A cookie counts in the first two lines only; the few files that may have one are worth the slow way.
        if not any(b"coding" in line for line in content.split(b"\n", 2)[:2]):
            return content.decode().removeprefix(_BOM), None
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
        return content.decode(encoding).removeprefix(_BOM), None
    except (SyntaxError, LookupError, ValueError):
        text = content.decode("utf-8", "replace").removeprefix(_BOM)
        return text, "The file is not in the encoding it declares, or not UTF-8."


@dataclass(frozen=True, slots=True)
class CodePoints:
    """The places of the characters of some UTF-8 text that take more than one byte."""

    continuation_bytes: tuple[int, ...]
    """The offsets of bytes that do not begin a character, ascending; empty for ASCII."""

    def column(self, byte: int, byte_column: int) -> int:
        """Return the column, in code points, of the byte offset *byte*, which is *byte_column* bytes into its line."""
        if not self.continuation_bytes:
            return byte_column
        before = bisect_left(self.continuation_bytes, byte)
        return byte_column - before + bisect_left(self.continuation_bytes, byte - byte_column)


def code_points(source: bytes) -> CodePoints:
    """Return the table that turns byte columns of *source* into code points."""
    return CodePoints(wide_bytes(source))


def wide_bytes(source: bytes) -> tuple[int, ...]:
    """Return the offsets of the bytes of *source* that do not begin a character; none in ASCII."""
    if source.isascii():
        return ()
    return tuple(found.start() for found in _CONTINUATION_BYTE.finditer(source))
