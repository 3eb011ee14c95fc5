"""``__all__``: the names that a module exports, where its source says them outright."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tree_sitter import Node

from rolecall_analysis.grammar import (
    ARGUMENTS,
    ATTRIBUTE,
    CALL,
    CLASS,
    COMMENT,
    FUNCTION,
    STRING,
    child_of,
    kind_id,
)
from rolecall_analysis.python.reading import ModuleReading, clean

_ALL = "__all__"
_ASSIGNMENT = kind_id("assignment")
_AUGMENTED = kind_id("augmented_assignment")
_CONCATENATED = kind_id("concatenated_string")
_CONTENT = kind_id("string_content")
_SUM = kind_id("binary_operator")
# The arguments of `extend` and `append` are read like a list.
_COLLECTIONS = frozenset(
    {ARGUMENTS, *map(kind_id, ("list", "tuple", "set", "expression_list", "parenthesized_expression", "list_splat"))}
)
_COPIES = frozenset({"list", "tuple", "set", "sorted"})


def exported_names(reading: ModuleReading, root: Node) -> tuple[str, ...] | None:
    """Return the entries of ``__all__`` in their order, ``price.__all__`` for those of another module.

    None if there is no ``__all__``, or a part of it is computed. Branches of a condition count together.
    """
    if _ALL not in reading.text:
        return None
    found: dict[str, None] = {}
    changes = list(_changes(reading, _module_statements(root)))
    for operation, value in changes:
        entries = _entries(reading, value)
        if entries is None:
            return None
        if operation == "remove":
            found = {name: None for name in found if name not in entries}
        else:
            found.update(dict.fromkeys(entries))
    return tuple(found) if changes else None


def _module_statements(root: Node) -> Iterator[Node]:
    """Yield the assignments and calls outside of classes and functions."""
    stack = [root]
    while stack:
        node = stack.pop()
        if node.kind_id in (_ASSIGNMENT, _AUGMENTED, CALL):
            yield node
        if node.kind_id not in (CLASS, FUNCTION, CALL):
            stack.extend(reversed(node.named_children))


def _changes(reading: ModuleReading, statements: Iterable[Node]) -> Iterator[tuple[str, Node]]:
    """Yield the changes of ``__all__``: what is done to it, and with what."""
    for node in statements:
        value = None
        operation = "add"
        if node.kind_id in (_ASSIGNMENT, _AUGMENTED):
            left = child_of(node, "left")
            if left is not None and reading.cut(left) == _ALL:
                value = child_of(node, "right")
        elif node.kind_id == CALL:
            called, _, operation = reading.cut(node.children[0]).rpartition(".")
            if called == _ALL and operation in ("append", "extend", "remove"):
                value = child_of(node, "arguments")
        if value is not None:
            yield operation, value


def _entries(reading: ModuleReading, value: Node) -> list[str] | None:
    """Return the names in a list of strings, a sum of such lists, or another module's; None if some are computed."""
    entries: list[str] = []
    stack = [value]
    while stack:
        node = stack.pop()
        kind = node.kind_id
        # `__all__ = names = […]`: the value of the first assignment is the second one.
        if kind in _COLLECTIONS or kind == _ASSIGNMENT:
            stack.extend(reversed(node.named_children[1:] if kind == _ASSIGNMENT else node.named_children))
        elif kind == _SUM and node.children[1].type == "+":
            stack.extend((node.children[-1], node.children[0]))
        elif kind == CALL and reading.cut(node.children[0]) in _COPIES:
            stack.append(node.children[-1])
        elif kind in (STRING, _CONCATENATED) and (text := _plain_text(reading, node)) is not None:
            entries.append(text)
        elif kind == ATTRIBUTE and reading.cut(node.children[-1]) == _ALL:
            entries.append("".join(clean(reading.cut(node)).split()))
        elif kind != COMMENT:
            return None
    return entries


def _plain_text(reading: ModuleReading, literal: Node) -> str | None:
    """Return the text of a string, or of several adjacent ones; None unless all of the text is literal."""
    strings = [literal] if literal.kind_id == STRING else literal.named_children
    contents: list[str] = []
    for string in strings:
        for part in string.named_children[1:-1]:
            if part.kind_id != _CONTENT or part.named_child_count:
                return None
            contents.append(clean(reading.cut(part)))
    return "".join(contents)
