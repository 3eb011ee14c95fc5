"""``case`` patterns: the names they bind."""

from __future__ import annotations

from tree_sitter import Node

from rolecall_analysis.flow.reading.blocks import Handler
from rolecall_analysis.flow.reading.builder import Builder
from rolecall_analysis.flow.reading.kinds import CASE_PATTERN
from rolecall_analysis.grammar import DOTTED, IDENTIFIER, kind_id


def _read_case(builder: Builder, node: Node) -> list[Node]:
    for pattern in (child for child in node.named_children if child.kind_id == CASE_PATTERN):
        _read_pattern(builder, pattern)
    return [child for child in node.named_children if child.kind_id != CASE_PATTERN]


def _read_pattern(builder: Builder, pattern: Node) -> None:
    stack = [pattern]
    while stack:
        node = stack.pop()
        kind, children = node.kind_id, node.named_children
        if kind in _HEADED:
            stack.extend(children[1:])
        elif kind == IDENTIFIER or (kind == DOTTED and len(children) == 1):
            builder.bind(builder.text(node))
        elif kind != DOTTED:
            stack.extend(children)


_HEADED = frozenset({kind_id("class_pattern"), kind_id("keyword_pattern")})
"""Patterns that begin with a name they do not bind."""


RULES: dict[int, Handler] = {
    kind_id("case_clause"): _read_case,
}
