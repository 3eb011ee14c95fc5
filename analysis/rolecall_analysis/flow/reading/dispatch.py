"""Reading expressions of any kind: which rule reads which, and how deep nesting is kept off the stack."""

from __future__ import annotations

from collections.abc import Callable

from tree_sitter import Node, Parser, Range

from rolecall_analysis.flow.code import NOTHING
from rolecall_analysis.flow.reading.builder import MAX_DEPTH, Builder
from rolecall_analysis.flow.reading.kinds import ESCAPE, INTEGER, STRING_CONTENT
from rolecall_analysis.grammar import IDENTIFIER, INTERPOLATION, PYTHON, STRING

MAX_TEXT_BYTES = 60
"""Longer strings are not names, keys or modules."""

Handler = Callable[[Builder, Node], int]
"""Reads an expression: the variable that holds its value, ``NOTHING`` or ``LITERAL``."""

HANDLERS: dict[int, Handler] = {}
"""The functions that read each kind of expression, by the number of the kind; the modules of this package fill it."""


def value(builder: Builder, node: Node) -> int:
    """Return the variable that holds the value of an expression, ``NOTHING`` or ``LITERAL``."""
    kind = node.kind_id
    if kind == IDENTIFIER:
        return builder.read(builder.text(node))
    handle = HANDLERS.get(kind)
    if handle is None:
        return parts_only(builder, node)
    if builder.depth >= MAX_DEPTH:
        result = builder.variable()
        builder.later.append((node, result, builder.place()))
        return result
    builder.depth += 1
    result = handle(builder, node)
    builder.depth -= 1
    return result


def followed(builder: Builder, node: Node) -> int:
    """Return the variable of the value of *node*; note the text if it is a short string."""
    text = plain_text(builder, node)
    if text is None:
        return value(builder, node)
    result = builder.variable()
    builder.block.texts.append((result, text))
    return result


def parts_only(builder: Builder, node: Node) -> int:
    """Read the parts of *node* for what they call; its own value is ``NOTHING``."""
    stack = list(reversed(node.named_children))
    while stack:
        child = stack.pop()
        if child.kind_id == IDENTIFIER or child.kind_id in HANDLERS:
            value(builder, child)
        else:
            stack.extend(reversed(child.named_children))
    return NOTHING


def read_later(builder: Builder) -> None:
    """Read the expressions that were nested too deeply."""
    while builder.later:
        node, result, place = builder.later.popleft()
        builder.move_to(place)
        builder.copy(result, value(builder, node))


def plain_text(builder: Builder, node: Node) -> str | None:
    """Return the text of a short string literal; ``None`` for any other node."""
    if node.kind_id != STRING or node.end_byte - node.start_byte > MAX_TEXT_BYTES:
        return None
    parts: list[str] = []
    for child in node.named_children:
        if child.kind_id == STRING_CONTENT:
            if child.named_child_count:
                return None
            parts.append(builder.text(child))
        elif child.kind_id in (INTERPOLATION, ESCAPE):
            return None
    return "".join(parts)


def constant_key(builder: Builder, node: Node) -> str | None:
    """Return the name of a literal key; None if it is not literal."""
    if node.kind_id == INTEGER:
        return builder.text(node)
    text = plain_text(builder, node)
    return None if text is None else repr(text)


def parsed_text(builder: Builder, literal: Node) -> Node | None:
    """Parse the code that a plain string holds and return its tree, with positions in the file."""
    content = [child for child in literal.named_children if child.kind_id == STRING_CONTENT]
    if len(content) != 1 or content[0].named_child_count or plain_text(builder, literal) is None:
        return None
    part = content[0]
    inside = Range(part.start_point, part.end_point, part.start_byte, part.end_byte)
    return Parser(PYTHON, included_ranges=[inside]).parse(builder.source).root_node
