"""``isinstance`` in conditions: what it says of a name where the condition holds."""

from __future__ import annotations

from tree_sitter import Node

from rolecall_analysis.flow.reading.builder import Builder
from rolecall_analysis.flow.reading.dispatch import value
from rolecall_analysis.flow.reading.kinds import BOOLEAN, PARENTHESIZED, TRIVIA
from rolecall_analysis.grammar import CALL, IDENTIFIER, child_of


def narrowed_by(builder: Builder, condition: Node) -> dict[str, int]:
    """For each name whose type *condition* checks, a variable that holds what passes."""
    found: dict[str, int] = {}
    stack = [condition]
    while stack:
        node = stack.pop()
        if node.kind_id == PARENTHESIZED:
            stack.extend(node.named_children)
        elif node.kind_id == BOOLEAN and (operator := child_of(node, "operator")) and operator.type == "and":
            # The left side is taken first: the right side checks what it lets through.
            stack.extend(child for child in (child_of(node, "right"), child_of(node, "left")) if child is not None)
        elif node.kind_id == CALL:
            _narrow_by_call(builder, node, found)
    return found


def _narrow_by_call(builder: Builder, node: Node, found: dict[str, int]) -> None:
    function, arguments = child_of(node, "function"), child_of(node, "arguments")
    given = (
        [child for child in arguments.named_children if child.kind_id not in TRIVIA] if arguments is not None else []
    )
    if function is None or len(given) != 2 or given[0].kind_id != IDENTIFIER or builder.text(function) != "isinstance":
        return
    name, kind = builder.text(given[0]), value(builder, given[1])
    if kind >= 0:
        passed = builder.variable()
        builder.block.checks.append((passed, found.get(name, builder.read(name)), kind))
        found[name] = passed
