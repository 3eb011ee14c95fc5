"""How a definition introduces itself: its signature and its docstring."""

from __future__ import annotations

import inspect

from tree_sitter import Node

from rolecall_analysis.grammar import COMMENT, EXPRESSION, STRING, STRING_END, STRING_START, child_of
from rolecall_analysis.names import text_of

MAX_VALUE_CHARACTERS = 80
"""A variable's value longer than this is left out of its signature."""


def signature(source: bytes, node: Node, body: Node) -> str:
    """The header of a class or function up to the colon before *body*; one line, unless that could change it."""
    before_body = (child for child in reversed(node.children) if child.end_byte <= body.start_byte)
    colon = next((child for child in before_body if child.type == ":"), None)
    end = colon.start_byte if colon else body.start_byte
    header = source[node.start_byte : end].decode("utf-8", "replace").replace("\r\n", "\n").rstrip()
    if "\n" not in header or "#" in header or '"""' in header or "'''" in header:
        return header
    lines = [line.strip() for line in header.split("\n")]
    joined = lines[0]
    for line in lines[1:]:
        closes, opens = line[:1] in {")", "]", "}"}, joined[-1:] in {"(", "[", "{"}
        joined = (joined.removesuffix(",") if closes else joined) + ("" if closes or opens else " ") + line
    return joined


def docstring(source: bytes, body: Node) -> str:
    """The plain string that *body* begins with, dedented, escapes as written; empty without one."""
    children = map(body.named_child, range(body.named_child_count))
    first = next((child for child in children if child and child.kind_id != COMMENT), None)
    if first is None or first.kind_id != EXPRESSION or first.named_child_count != 1:
        return ""
    literal = first.named_children[0]
    parts = literal.named_children
    if literal.kind_id != STRING or len(parts) < 2 or parts[0].kind_id != STRING_START:
        return ""
    prefix = text_of(source, parts[0]).rstrip("\"'").lower()
    if parts[-1].kind_id != STRING_END or not set(prefix) <= {"r", "u"}:
        return ""
    content = source[parts[0].end_byte : parts[-1].start_byte].decode("utf-8", "replace")
    return inspect.cleandoc(content.replace("\r\n", "\n"))


def variable_signature(source: bytes, statement: Node) -> str:
    """The assignment on one line, without a value that is long."""
    value = child_of(statement, "right")
    if value is None or value.end_byte - value.start_byte <= MAX_VALUE_CHARACTERS:
        text = text_of(source, statement)
    else:
        text = source[statement.start_byte : value.start_byte].decode("utf-8", "replace") + "..."
    return " ".join(text.split())
