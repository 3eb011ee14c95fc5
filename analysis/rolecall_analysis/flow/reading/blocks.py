"""Blocks of statements, read one after the other without recursion."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tree_sitter import Node

from rolecall_analysis.flow.reading.builder import Builder
from rolecall_analysis.flow.reading.dispatch import HANDLERS, value
from rolecall_analysis.grammar import IDENTIFIER

Step = Node | dict[str, int]
"""A statement to read, or what type checks say of names from here on."""

Handler = Callable[[Builder, Node], Sequence[Step]]
"""Reads a statement: the statements in it that are still to read."""

STATEMENTS: dict[int, Handler] = {}
"""What reads each kind of statement, by the number of the kind; the modules of this package fill it."""


def read_statements(builder: Builder, nodes: list[Node]) -> None:
    """Read *nodes* and every statement in them, except the bodies of functions and classes."""
    stack: list[Step] = list(reversed(nodes))
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            builder.narrowed = node
            continue
        kind = node.kind_id
        handle = STATEMENTS.get(kind)
        if handle is not None:
            stack.extend(reversed(handle(builder, node)))
        elif kind == IDENTIFIER or kind in HANDLERS:
            value(builder, node)
        else:
            stack.extend(reversed(node.named_children))
