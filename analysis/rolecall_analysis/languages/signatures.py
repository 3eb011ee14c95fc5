"""The header of a definition as one line."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from tree_sitter import Node

from rolecall_analysis.values import DefinitionKind

MAX_SIGNATURE_CHARACTERS = 300
MAX_VALUE_CHARACTERS = 80
"""A variable's value longer than this is left out of its signature."""

_HEADER_END = re.compile(r"(?<!\s)(?:\s*+(?:\{|=>|(?<![=!<>r])=|\bwhere)){1,8}+$")


def signature(
    text_between: Callable[[int, int], str],
    kind: DefinitionKind,
    start: Node,
    whole: Node,
    *,
    body: Node | None,
    attributes: Sequence[Node],
) -> str:
    """Return the header of the definition that *whole* is, without its body; it is written from *start* on."""
    first = max((one.end_byte for one in attributes if one.start_byte >= start.start_byte), default=start.start_byte)
    if first > (body.start_byte if body else whole.end_byte):
        first = start.start_byte
    is_short_type = kind == "type" and body is not None and body.end_byte - body.start_byte <= MAX_VALUE_CHARACTERS
    last = body.start_byte if body is not None and not is_short_type else start.end_byte
    if kind == "variable" and body is None:
        value = whole.child_by_field_name("value") or whole.child_by_field_name("right")
        if value is not None and value.end_byte - value.start_byte > MAX_VALUE_CHARACTERS:
            return _one_line(text_between(first, value.start_byte)) + " ..."
    # Much of a header may be blanks, which go: it is cut first only to bound the work.
    return _one_line(text_between(first, min(last, first + 8 * MAX_SIGNATURE_CHARACTERS)))


def attribute_name(text: str) -> str:
    """Return a decorator or an attribute without the signs around it."""
    return " ".join(text.split()).removeprefix("@").removeprefix("#").removeprefix("[").removesuffix("]").strip()


def _one_line(text: str) -> str:
    line = _HEADER_END.sub("", " ".join(text.split())).removesuffix(";")
    line = line.replace("( ", "(").replace(" )", ")").replace(",)", ")")
    return line if len(line) <= MAX_SIGNATURE_CHARACTERS else line[: MAX_SIGNATURE_CHARACTERS - 4] + " ..."
