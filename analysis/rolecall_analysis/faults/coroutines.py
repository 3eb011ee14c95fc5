"""Coroutines that are made and never awaited."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from rolecall_analysis.faults.possible import PossibleFault
from rolecall_analysis.faults.reading import ParsedFile, Reader, outside_parentheses
from rolecall_analysis.grammar import CALL, EXPRESSION, FUNCTION, child_of, kind_id
from rolecall_analysis.unbound.exits import own_nodes
from rolecall_analysis.values import Definition

_OF_LIBRARY = frozenset({"asyncio.sleep", "asyncio.to_thread", "asyncio.wait", "asyncio.wait_for"})
_YIELD = kind_id("yield")
_USING = frozenset(
    {
        "attribute",
        "binary_operator",
        "comparison_operator",
        "for_in_clause",
        "for_statement",
        "if_statement",
        "interpolation",
        "not_operator",
        "subscript",
        "unary_operator",
        "while_statement",
    }
)
"""Expressions and statements that want the result, not the coroutine."""


def forgotten_awaits(source: ParsedFile, reader: Reader) -> Iterator[PossibleFault]:
    """Yield the calls of coroutine functions that are dropped, or used as if they had run."""
    for call in source.of_kind(CALL):
        whole = outside_parentheses(call)
        holder = whole.parent
        if holder is None or not (holder.kind_id == EXPRESSION or _wants_result(holder, whole)):
            continue
        if source.callee(call) in _OF_LIBRARY or any(
            _is_coroutine(reader, callee) for callee in (one.definition for one in source.targets(call))
        ):
            what = "is dropped, so it never runs" if holder.kind_id == EXPRESSION else "is used as if it had run"
            message = f"`{source.quoted(call)}` makes a coroutine that {what}: `await` is missing."
            yield source.fault(call, message, source.waypoint(call, "a coroutine is made and not awaited"))


def _wants_result(holder: Node, value: Node) -> bool:
    if holder.type not in _USING:
        return False
    parts = [child_of(holder, field) for field in ("body", "consequence", "left")]
    return holder.type not in ("for_statement", "for_in_clause") or value not in parts


def _is_coroutine(reader: Reader, definition: Definition) -> bool:
    if not definition.signature.startswith("async def"):
        return False
    if any(
        one.partition("(")[0].rpartition(".")[2] not in ("staticmethod", "classmethod", "override")
        for one in definition.decorators
    ):
        return False
    found = reader.function(definition)
    body = child_of(found[1], "body") if found is not None and found[1].kind_id == FUNCTION else None
    # With a `yield` it is an asynchronous generator: that is iterated over, and never awaited.
    return body is not None and not any(node.kind_id == _YIELD for node in own_nodes(body))
