"""The header of a definition: its signature and its docstring."""

from __future__ import annotations

import inspect
from collections.abc import Sequence

from tree_sitter import Node

from rolecall_analysis.grammar import COMMENT, EXPRESSION, STRING, STRING_END, STRING_START
from rolecall_analysis.python.reading import ModuleReading, clean

_STRING_BEGINS = frozenset("\"'rRuU")


def one_line(header: str) -> str:
    """Return the header of a class or function on one line, unless that could change what it says."""
    if "\n" not in header:
        return header
    header = header.replace("\r\n", "\n")
    if "#" in header or '"""' in header or "'''" in header:
        return header
    first, *rest = (line.strip() for line in header.split("\n"))
    for line in rest:
        closes, opens = line[:1] in {")", "]", "}"}, first[-1:] in {"(", "[", "{"}
        first = (first.removesuffix(",") if closes else first) + ("" if closes or opens else " ") + line
    return first


def docstring(reading: ModuleReading, statements: Sequence[Node]) -> str:
    """Return the plain string that a body begins with, dedented, escapes as written; empty without one."""
    for first in statements:
        if first.kind_id != COMMENT:
            break
    else:
        return ""
    if reading.text[first.start_byte : first.start_byte + 1] not in _STRING_BEGINS:
        return ""
    if first.kind_id != EXPRESSION or first.named_child_count != 1:
        return ""
    literal = first.named_children[0]
    parts = literal.named_children
    if literal.kind_id != STRING or len(parts) < 2 or parts[0].kind_id != STRING_START:
        return ""
    prefix = reading.cut(parts[0]).rstrip("\"'").lower()
    if parts[-1].kind_id != STRING_END or not set(prefix) <= {"r", "u"}:
        return ""
    return inspect.cleandoc(clean(reading.text[parts[0].end_byte : parts[-1].start_byte]).replace("\r\n", "\n"))
