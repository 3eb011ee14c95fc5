"""Statements and patterns that bind names."""

from __future__ import annotations

from collections.abc import Sequence

from tree_sitter import Node

from rolecall_analysis.facts.packed import DefinitionRow
from rolecall_analysis.grammar import (
    ATTRIBUTE,
    CONSTRAINED_TYPE,
    DOTTED,
    GENERIC_TYPE,
    GLOBAL,
    IDENTIFIER,
    TYPE,
    TYPED_PARAMETER,
    child_of,
)
from rolecall_analysis.names import bound_names
from rolecall_analysis.python.reading import ModuleReading
from rolecall_analysis.python.region import Region

MAX_VALUE_LENGTH = 80
"""Bytes; a variable's value longer than this is left out of its signature."""


def bind_targets(reading: ModuleReading, target: Node, bound: set[str]) -> list[Node]:
    """Add the names in *target* to *bound*; returns the parts of it that are read instead."""
    if target.kind_id == IDENTIFIER:
        bound.add(reading.cut(target))
        return []
    names, rest = bound_names(target)
    bound.update(map(reading.cut, names))
    return rest


def bind_parameters(reading: ModuleReading, parameters: Node, bound: set[str]) -> list[Node]:
    """Add the *parameters* to *bound*; returns their annotations and defaults, which are evaluated outside."""
    read: list[Node] = []
    for parameter in parameters.named_children:
        if parameter.kind_id == IDENTIFIER:
            bound.add(reading.cut(parameter))
            continue
        name = child_of(parameter, "name")
        if name is None and parameter.kind_id == TYPED_PARAMETER and parameter.named_child_count:
            name = parameter.named_children[0]
        read.extend(bind_targets(reading, name or parameter, bound))
        read.extend(part for part in (child_of(parameter, "type"), child_of(parameter, "value")) if part)
    return read


def bind_type_parameters(reading: ModuleReading, parameters: Node, bound: set[str]) -> list[Node]:
    """Add to *bound* the names in the square brackets of a class, a function or an alias; returns their bounds."""
    read: list[Node] = []
    for parameter in parameters.named_children:
        children = parameter.named_children
        if parameter.kind_id == TYPE and len(children) == 1 and children[0].kind_id == CONSTRAINED_TYPE:
            name, *bounds = children[0].named_children
            read.extend((*bind_targets(reading, name, bound), *bounds))
        else:
            read.extend(bind_targets(reading, parameter, bound))
    return read


def read_assignment(reading: ModuleReading, region: Region, node: Node) -> None:
    """An assignment or an annotated name."""
    children = node.children
    region.stack.append(children[-1])
    # `name: type = value`; with a value or a type alone there are three parts.
    if len(children) > 3:
        region.push(children[2:-1])
    left = children[0]
    kind = left.kind_id
    if kind == IDENTIFIER:
        define_variable(reading, region, left, node)
        return
    names, rest = ([], [left]) if kind == ATTRIBUTE else bound_names(left)
    for name in names:
        define_variable(reading, region, name, node)
    region.push(rest)
    if region.receiver:
        _define_attributes(reading, region, rest, node)


def define_variable(reading: ModuleReading, region: Region, name_node: Node, statement: Node) -> None:
    """A variable of a module or a class body is a definition, of a function a local name."""
    name = reading.text[name_node.start_byte : name_node.end_byte]
    if region.kind is not None and region.kind != "class":
        region.bound.add(name)
    elif name:
        reading.definitions.append(_row(reading, name, region.name, name_node, statement))


def _define_attributes(reading: ModuleReading, region: Region, targets: Sequence[Node], statement: Node) -> None:
    """Define what a method assigns on its own object as an attribute of the class."""
    holder = region.name.rpartition(".")[0]
    for target in targets:
        if target.kind_id == ATTRIBUTE:
            receiver, name_node = target.children[0], target.children[-1]
            if reading.cut(receiver) == region.receiver and (name := reading.cut(name_node)):
                reading.attributes.append(_row(reading, name, holder, name_node, statement))


def _row(reading: ModuleReading, name: str, scope: str, name_node: Node, statement: Node) -> DefinitionRow:
    qualified_name = f"{scope}.{name}" if scope else name
    places = (statement.start_byte, statement.end_byte, name_node.start_byte, name_node.end_byte)
    return (name, qualified_name, scope, "variable", _signature(reading, statement), "", (), (), *places)


def _signature(reading: ModuleReading, statement: Node) -> str:
    start, end = statement.start_byte, statement.end_byte
    value = child_of(statement, "right") if end - start > MAX_VALUE_LENGTH else None
    if value is None or value.end_byte - value.start_byte <= MAX_VALUE_LENGTH:
        return " ".join(reading.clean(start, end).split())
    return " ".join((reading.clean(start, value.start_byte) + "...").split())


def read_type_alias(reading: ModuleReading, region: Region, node: Node) -> None:
    """``type X[T] = ...``: a variable, whose value sees its parameters."""
    left, right = child_of(node, "left"), child_of(node, "right")
    if left is None or right is None or not left.named_child_count:
        region.push(node.named_children)
        return
    name = left.named_children[0]
    if name.kind_id not in (IDENTIFIER, GENERIC_TYPE):  # the grammar takes ``type(x).name = value`` for an alias
        region.push([name, *right.named_children])
        return
    if name.kind_id == GENERIC_TYPE:
        name, *parameters = name.named_children
        inner = reading.begin_unnamed("type", region, [right])
        for one in parameters:
            inner.stack.extend(bind_type_parameters(reading, one, inner.bound))
    else:
        region.stack.append(right)
    if name.kind_id == IDENTIFIER:
        define_variable(reading, region, name, node)


def read_loop(reading: ModuleReading, region: Region, node: Node) -> None:
    """A ``for``, of a statement or of a comprehension: it binds its targets."""
    target = child_of(node, "left")
    region.stack.extend(child for child in reversed(node.named_children) if child != target)
    if target is not None:
        region.push(bind_targets(reading, target, region.bound))


def read_as(reading: ModuleReading, region: Region, node: Node) -> None:
    """``value as target``, of a ``with``, an ``except`` or a pattern."""
    children = node.named_children
    for target in children[1:]:
        region.push(bind_targets(reading, target, region.bound))
    region.stack.extend(children[:1])


def read_splat(reading: ModuleReading, region: Region, node: Node) -> None:
    """``*rest`` in a pattern."""
    for child in node.named_children:
        region.push(bind_targets(reading, child, region.bound))


def read_case_pattern(reading: ModuleReading, region: Region, node: Node) -> None:
    """A pattern; one that is a single name captures the value."""
    children = node.named_children
    if len(children) == 1 and _is_capture(children[0]):
        region.bound.add(reading.cut(children[0]))
    else:
        region.push(children)


def read_keyword_pattern(reading: ModuleReading, region: Region, node: Node) -> None:
    """``name=pattern`` in the pattern of a class."""
    values = node.named_children[1:]
    region.bound.update(reading.cut(value) for value in values if _is_capture(value))
    region.stack.extend(value for value in reversed(values) if not _is_capture(value))


def _is_capture(pattern: Node) -> bool:
    return pattern.kind_id == DOTTED and pattern.named_child_count == 1


def read_rebinding(reading: ModuleReading, region: Region, node: Node) -> None:
    """``global`` and ``nonlocal``."""
    names = frozenset(map(reading.cut, node.named_children))
    region.rebound |= names
    if node.kind_id == GLOBAL:
        region.shared |= names
