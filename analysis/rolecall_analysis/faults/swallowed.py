"""Exceptions of any kind that vanish without a trace."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from rolecall_analysis.faults.possible import PossibleFault
from rolecall_analysis.faults.reading import EXCEPT, LAMBDA, ParsedFile, Reader, caught_by
from rolecall_analysis.grammar import CALL, COMMENT, FUNCTION, IDENTIFIER, child_of, kind_id

_FINALLY = kind_id("finally_clause")
_LEAVING = frozenset({"return_statement", "break_statement", "continue_statement"})
_LOOPS = frozenset({"for_statement", "while_statement"})
_QUIET = frozenset({"pass_statement", "continue_statement", "break_statement", "expression_statement", "comment"})


def swallowed_exceptions(source: ParsedFile, _reader: Reader) -> Iterator[PossibleFault]:
    """Yield the ``except`` clauses that catch everything and say nothing, and ``finally`` clauses that are left."""
    for clause in source.of_kind(EXCEPT):
        if caught_by(source, clause) & {"", "Exception", "BaseException"} and _says_nothing(source, clause):
            yield source.fault(
                clause,
                "Every exception is caught here, and nobody learns of it.",
                source.waypoint(clause, "whatever went wrong ends here, without a trace"),
            )
    for clause in source.of_kind(_FINALLY):
        leaving = next(_leaving(clause), None)
        if leaving is not None:
            word = leaving.type.partition("_")[0]
            message = f"`{word}` in `finally` drops the exception that is on its way."
            yield source.fault(leaving, message, source.waypoint(leaving, "an exception on its way is dropped"))


def _says_nothing(source: ParsedFile, clause: Node) -> bool:
    """Return whether a clause does nothing at all; a comment in it, or a call, is a reason that somebody gave."""
    block = next((child for child in clause.named_children if child.type == "block"), None)
    if block is None or _has_comment(source, clause) or _uses_exception(source, clause, block):
        return False
    return all(
        child.type in _QUIET and not any(part.kind_id in (CALL, kind_id("yield")) for part in _parts(child))
        for child in block.named_children
    )


def _uses_exception(source: ParsedFile, clause: Node, block: Node) -> bool:
    value = child_of(clause, "value")
    alias = child_of(value, "alias") if value is not None and value.type == "as_pattern" else None
    name = source.words(alias) if alias is not None else ""
    return any(part.kind_id == IDENTIFIER and source.words(part) == name for part in _parts(block))


def _has_comment(source: ParsedFile, clause: Node) -> bool:
    """Return whether the lines from the clause to its end, and the one above, have a comment."""
    first, last = clause.start_point[0] - 1, clause.end_point[0] + 1
    return any(first < comment.start_point[0] <= last for comment in source.of_kind(COMMENT))


def _parts(node: Node) -> Iterator[Node]:
    stack = [node]
    while stack:
        part = stack.pop()
        yield part
        stack.extend(part.named_children)


def _leaving(clause: Node) -> Iterator[Node]:
    """Yield the statements that leave the ``finally`` itself, not a loop or a function inside it."""
    stack = [(child, False) for child in clause.named_children]
    while stack:
        node, in_loop = stack.pop()
        if node.type in _LEAVING and not (in_loop and node.type != "return_statement"):
            yield node
        if node.kind_id not in (FUNCTION, LAMBDA):
            stack.extend((child, in_loop or node.type in _LOOPS) for child in node.named_children)
