"""The meaning of the tests in code: constants, and conditions that may come again."""

from __future__ import annotations

from tree_sitter import Node

from rolecall_analysis.grammar import ATTRIBUTE, CALL, IDENTIFIER, STRING, child_of, kind_id
from rolecall_analysis.names import dotted_name, text_of
from rolecall_analysis.unbound.flowgraph import Condition

MAX_CONDITION_BYTES = 200
"""Longer conditions seldom come again."""

_PARENTHESES = kind_id("parenthesized_expression")
_COMPARISON = kind_id("comparison_operator")
_INTEGER = kind_id("integer")
_TRUE, _FALSE, _NONE = kind_id("true"), kind_id("false"), kind_id("none")
_CONSTANTS = {_TRUE: True, _FALSE: False, _NONE: False}
_LIST_LIKE = frozenset({kind_id("list"), kind_id("tuple"), kind_id("set"), kind_id("expression_list")})
_DICTIONARY = kind_id("dictionary")
_SPLATS = frozenset({kind_id("list_splat"), kind_id("dictionary_splat"), kind_id("comment")})
_NOT_NONE = _LIST_LIKE | {
    _DICTIONARY,
    STRING,
    _INTEGER,
    _TRUE,
    _FALSE,
    kind_id("binary_operator"),
    kind_id("comparison_operator"),
    kind_id("concatenated_string"),
    kind_id("dictionary_comprehension"),
    kind_id("float"),
    kind_id("lambda"),
    kind_id("list_comprehension"),
    kind_id("set_comprehension"),
    kind_id("unary_operator"),
}
"""Kinds of expressions whose value is never None; an operator that gives None would be a surprise."""
_CHANGING = frozenset({kind_id("await"), kind_id("named_expression"), kind_id("yield")})
_SAME_ANSWER = frozenset(
    {
        "all",
        "any",
        "bool",
        "callable",
        "endswith",
        "exists",
        "get",
        "getattr",
        "hasattr",
        "isclass",
        "isdir",
        "isfile",
        "isinstance",
        "issubclass",
        "len",
        "startswith",
        "type",
    }
)
"""Calls that answer the same when asked again; others may not."""

_WRAPPERS = frozenset({"enumerate", "list", "reversed", "set", "sorted", "tuple"})
_VIEWS = frozenset({"items", "keys", "values"})
_OPPOSITES = {"is not": "is", "!=": "==", "not in": "in"}


def without_parentheses(node: Node) -> Node:
    """Return the expression inside any number of parentheses."""
    while node.kind_id == _PARENTHESES and node.named_child_count == 1:
        node = node.named_children[0]
    return node


def truth_of(source: bytes, node: Node) -> bool | None:
    """Return whether a constant counts as true; None for anything else. ``TYPE_CHECKING`` is false when code runs."""
    kind = node.kind_id
    if kind in _CONSTANTS:
        return _CONSTANTS[kind]
    if kind == _INTEGER:
        # `0`, `00` and `0_0` are all zero.
        return text_of(source, node).strip("0_") != ""
    if kind == STRING:
        # The two quotes are children of a string too: an empty one has no third.
        return node.named_child_count > 2 if not _has_interpolation(node) else None
    if kind in _LIST_LIKE or kind == _DICTIONARY:
        return _has_elements(node)
    return False if is_type_checking(source, node) else None


def is_type_checking(source: bytes, node: Node) -> bool:
    """Return whether *node* is the constant that only type checkers take for true."""
    return dotted_name(source, node)[0] in ("TYPE_CHECKING", "typing.TYPE_CHECKING", "t.TYPE_CHECKING")


def is_none(node: Node) -> bool | None:
    """Return whether an expression is None; None where that cannot be told."""
    if node.kind_id == _NONE:
        return True
    return False if node.kind_id in _NOT_NONE else None


def _has_interpolation(string: Node) -> bool:
    return any(child.type == "interpolation" for child in string.named_children)


def _has_elements(node: Node) -> bool | None:
    """Return whether a list, set, tuple or dictionary display has elements; None if that depends on what is unpacked
    into it.
    """
    kinds = [child.kind_id for child in node.named_children]
    if any(kind not in _SPLATS for kind in kinds):
        return True
    return None if kinds else False


def condition_of(source: bytes, node: Node) -> tuple[Condition, bool] | None:
    """Return *node* as a condition, and whether it states that condition or its opposite; None if a second test may
    answer otherwise.
    """
    if node.end_byte - node.start_byte > MAX_CONDITION_BYTES:
        return None
    names = _stable_names(source, node)
    if not names:
        return None
    operator, opposite = _opposite(source, node)
    text = _text(source, node)
    if operator:
        left, right = node.named_children
        text = f"{_text(source, left)} {opposite} {_text(source, right)}"
    return Condition(text, names), not operator


def _opposite(source: bytes, node: Node) -> tuple[str, str]:
    """Return the operator of a comparison, and the one that says the opposite."""
    if node.kind_id != _COMPARISON or node.named_child_count != 2:
        return "", ""
    left, right = node.named_children
    operator = " ".join(source[left.end_byte : right.start_byte].decode("utf-8", "replace").split())
    return (operator, _OPPOSITES[operator]) if operator in _OPPOSITES else ("", "")


def _text(source: bytes, node: Node) -> str:
    return " ".join(text_of(source, without_parentheses(node)).split())


def _stable_names(source: bytes, node: Node) -> frozenset[str]:
    """Return the names in an expression that has no effect; none for one that may."""
    names: set[str] = set()
    stack = [node]
    while stack:
        part = stack.pop()
        if part.kind_id in _CHANGING:
            return frozenset()
        if part.kind_id == IDENTIFIER:
            names.add(text_of(source, part))
        elif part.kind_id == ATTRIBUTE:
            name, rest = dotted_name(source, part)
            if rest is None:
                pieces = name.split(".")
                names.update(".".join(pieces[: n + 1]) for n in range(len(pieces)))
            else:
                stack.append(rest)
        elif part.kind_id == CALL:
            function, arguments = child_of(part, "function"), child_of(part, "arguments")
            callee = dotted_name(source, function)[0] if function is not None else ""
            if not _answers_the_same(callee.rpartition(".")[2]) or function is None or arguments is None:
                return frozenset()
            stack += [function, arguments]
        else:
            stack.extend(part.named_children)
    return frozenset(names)


def _answers_the_same(name: str) -> bool:
    return name in _SAME_ANSWER or name.startswith(("is_", "has_"))


def iterated(source: bytes, node: Node) -> Node:
    """Return the node that has as many elements as *node*: ``rows`` in ``enumerate(rows)`` and ``rows.items()``."""
    while node.kind_id == CALL:
        function, arguments = child_of(node, "function"), child_of(node, "arguments")
        if function is None or arguments is None:
            break
        if function.kind_id == IDENTIFIER and arguments.named_child_count and text_of(source, function) in _WRAPPERS:
            node = arguments.named_children[0]
            continue
        view = child_of(function, "attribute")
        value = child_of(function, "object")
        if view is None or value is None or arguments.named_child_count or text_of(source, view) not in _VIEWS:
            break
        node = value
    return node


def counts_at_least_once(source: bytes, node: Node) -> bool:
    """Return whether *node* is ``range`` of a positive number."""
    function, arguments = child_of(node, "function"), child_of(node, "arguments")
    if node.kind_id != CALL or function is None or arguments is None or text_of(source, function) != "range":
        return False
    bounds = arguments.named_children
    return len(bounds) == 1 and bounds[0].kind_id == _INTEGER and bool(truth_of(source, bounds[0]))
