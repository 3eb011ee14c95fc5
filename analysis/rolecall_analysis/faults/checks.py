"""Conditions that always come out the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tree_sitter import Node

from rolecall_analysis.faults.possible import ConstantClaim, PossibleFault
from rolecall_analysis.faults.reading import EXCEPT, PARENTHESES, ParsedFile, Reader
from rolecall_analysis.grammar import ATTRIBUTE, CALL, COMMENT, IDENTIFIER, STRING, child_of, kind_id
from rolecall_analysis.unbound.conditions import condition_of, truth_of, without_parentheses

_ASSERT = kind_id("assert_statement")
_BOOLEAN, _COMPARISON, _NOT = kind_id("boolean_operator"), kind_id("comparison_operator"), kind_id("not_operator")
_IF, _ELIF = kind_id("if_statement"), kind_id("elif_clause")
_LITERALS = frozenset({STRING, *map(kind_id, ("integer", "float", "list", "dictionary", "set", "concatenated_string"))})
_TESTED = frozenset({"if_statement", "elif_clause", "while_statement", "assert_statement", "not_operator"})
_LEAVING = frozenset({"return_statement", "raise_statement", "continue_statement", "break_statement"})
_Found = Iterator[tuple[Node, str, tuple[Node, bool] | None]]
"""A place, what is wrong there, and the expression that always comes out the same, where a run can tell of that."""


def constant_checks(source: ParsedFile, _reader: Reader) -> Iterator[PossibleFault]:
    """Yield the conditions that cannot be false, or cannot be true."""
    for find in _FINDERS:
        for node, message, constant in find(source):
            claim = ConstantClaim(source.span(constant[0]), constant[1]) if constant is not None else None
            yield source.fault(node, message, source.waypoint(node, "it always comes out the same"), claim=claim)


def _tuples(source: ParsedFile) -> _Found:
    for statement in source.of_kind(_ASSERT):
        parts = [part for part in statement.named_children if part.kind_id != COMMENT]
        if len(parts) == 1 and without_parentheses(parts[0]).type == "tuple" and parts[0].named_child_count:
            yield statement, "A tuple with something in it is always true: this `assert` never fails.", None


def _identities(source: ParsedFile) -> _Found:
    for node in source.of_kind(_COMPARISON):
        operator = _operator(source, node)
        if operator in ("is", "is not") and any(part.kind_id in _LITERALS for part in node.named_children):
            told = "whether two objects are one, which says nothing of a literal's value"
            yield node, f"`{operator}` asks {told}: use `{'==' if operator == 'is' else '!='}`.", None


def _operator(source: ParsedFile, node: Node) -> str:
    """Return the operator of a comparison of two."""
    if node.named_child_count != 2:
        return ""
    left, right = node.named_children
    return " ".join(source.source[left.end_byte : right.start_byte].decode("utf-8", "replace").strip(" ()").split())


def _alternatives(source: ParsedFile) -> _Found:
    for node in source.of_kind(_BOOLEAN):
        left, operator, right = (child_of(node, field) for field in ("left", "operator", "right"))
        if left is None or operator is None or right is None:
            continue
        is_test = _is_tested(node)
        if (
            operator.type == "or"
            and is_test
            and left.kind_id in (_COMPARISON, _BOOLEAN)
            and truth_of(source.source, without_parentheses(right))
        ):
            yield node, f"`{source.quoted(right)}` is always true, and so is this; compare it too.", (node, True)
        first, second = _compared(source, left), _compared(source, right)
        if first is not None and second is not None and first[0] == second[0] and first[2] != second[2]:
            if operator.type == "or" and first[1] == second[1] == "!=":
                yield node, f"`{first[0]}` always differs from one of the two: `and` is meant.", (node, True)
            if operator.type == "and" and first[1] == second[1] == "==":
                yield node, f"`{first[0]}` cannot equal both: `or` is meant.", (node, False)


def _is_tested(node: Node) -> bool:
    outer = node.parent
    while outer is not None and outer.kind_id in (PARENTHESES, _BOOLEAN):
        outer = outer.parent
    return outer is not None and outer.type in _TESTED


def _compared(source: ParsedFile, node: Node) -> tuple[str, str, str] | None:
    """Return name, operator and literal of a comparison."""
    node = without_parentheses(node)
    if node.kind_id != _COMPARISON or node.named_child_count != 2:
        return None
    left, right = node.named_children
    is_plain = left.kind_id in (IDENTIFIER, ATTRIBUTE) and right.kind_id in (STRING, kind_id("integer"))
    return (source.words(left), _operator(source, node), source.words(right)) if is_plain else None


def _sizes(source: ParsedFile) -> _Found:
    for node in source.of_kind(_COMPARISON):
        if node.named_child_count != 2:
            continue
        left, right = node.named_children
        said = _operator(source, node)
        if left.kind_id == CALL and source.callee(left) == "len" and source.words(right) == "0" and said in (">=", "<"):
            told = f"A length is never below 0: this is always {'true' if said == '>=' else 'false'}."
            yield node, told, (node, said == ">=")


def _members(source: ParsedFile) -> _Found:
    for node in source.of_kind(_COMPARISON):
        if _operator(source, node) not in ("in", "not in"):
            continue
        right = node.named_children[1]
        text = source.words(without_parentheses(right))
        # One letter with its quotes takes three: found in the text, it would be found in the tuple.
        if right.kind_id == PARENTHESES and without_parentheses(right).kind_id == STRING and len(text) > 3:
            yield node, f"{text} in parentheses is one text, not a tuple: its parts are found in it as well.", None


def _caught_alternatives(source: ParsedFile) -> _Found:
    for clause in source.of_kind(EXCEPT):
        value = child_of(clause, "value")
        if value is not None and value.type == "as_pattern":
            value = value.named_children[0]
        if value is not None and without_parentheses(value).kind_id == _BOOLEAN:
            yield value, "`or` between exceptions leaves the first: write a tuple to catch each.", None


def _repeated_branches(source: ParsedFile) -> _Found:
    for statement in source.of_kind(_IF):
        seen: set[str] = set()
        clauses = [statement, *(child for child in statement.named_children if child.kind_id == _ELIF)]
        for clause in clauses:
            condition = child_of(clause, "condition")
            if condition is None or condition_of(source.source, without_parentheses(condition)) is None:
                continue
            words = source.words(without_parentheses(condition))
            if words in seen:
                told = f"`{source.quoted(condition)}` was tested above: this branch is never taken."
                yield clause, told, (condition, False)
            seen.add(words)
        yield from _tested_again(source, statement)


def _tested_again(source: ParsedFile, statement: Node) -> _Found:
    """Yield the next ``if`` where it has the condition of *statement*, which is left wherever that holds."""
    following, body = statement.next_named_sibling, child_of(statement, "consequence")
    condition = child_of(statement, "condition")
    if following is None or following.kind_id != _IF or body is None or condition is None or not body.named_children:
        return
    again = child_of(following, "condition")
    is_left = body.named_children[-1].type in _LEAVING
    is_alone = not any(child.type in ("elif_clause", "else_clause") for child in statement.named_children)
    if again is None or not is_left or not is_alone or condition_of(source.source, condition) is None:
        return
    if source.words(condition) == source.words(again):
        told = f"`{source.quoted(again)}` cannot hold here: the code above is left where it does."
        yield following, told, (again, False)


_FINDERS: tuple[Callable[[ParsedFile], _Found], ...] = (
    _tuples,
    _identities,
    _alternatives,
    _sizes,
    _members,
    _caught_alternatives,
    _repeated_branches,
)
