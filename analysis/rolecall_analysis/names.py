"""The names in an expression, and those that an assignment binds."""

from __future__ import annotations

from tree_sitter import Node

from rolecall_analysis.grammar import ATTRIBUTE, CALL, IDENTIFIER, TARGET_LISTS, child_of


def text_of(source: bytes, node: Node) -> str:
    """Return the text of *node* in *source*."""
    return source[node.start_byte : node.end_byte].decode("utf-8", "replace")


def dotted_name(source: bytes, node: Node) -> tuple[str, Node | None]:
    """Return the dotted name of an expression ("" if it has none), and the part of it that is not a name."""
    parts: list[str] = []
    while node.kind_id == ATTRIBUTE:
        value, attribute = child_of(node, "object"), child_of(node, "attribute")
        if value is None or attribute is None:
            break
        parts.append(text_of(source, attribute))
        node = value
    if node.kind_id == IDENTIFIER:
        return ".".join((text_of(source, node), *reversed(parts))), None
    if not parts:
        return "", node
    head = "super()" if _is_super(source, node) else "?"
    return ".".join((head, *reversed(parts))), node


def _is_super(source: bytes, node: Node) -> bool:
    function = child_of(node, "function") if node.kind_id == CALL else None
    return function is not None and function.kind_id == IDENTIFIER and text_of(source, function) == "super"


def bound_names(target: Node) -> tuple[list[Node], list[Node]]:
    """Return the identifiers that an assignment to *target* binds, and the subscripts and attributes it reads."""
    names: list[Node] = []
    rest: list[Node] = []
    stack = [target]
    while stack:
        node = stack.pop()
        if node.kind_id == IDENTIFIER:
            names.append(node)
        elif node.kind_id in TARGET_LISTS:
            stack.extend(reversed(node.named_children))
        else:
            rest.append(node)
    return names, rest
