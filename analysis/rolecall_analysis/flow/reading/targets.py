"""The targets that assignments, loops and comprehensions bind, and what they are bound to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tree_sitter import Node

from rolecall_analysis.flow.code import NOTHING
from rolecall_analysis.flow.reading.builder import Builder
from rolecall_analysis.flow.reading.dispatch import constant_key, value
from rolecall_analysis.flow.reading.kinds import DICTIONARY_SPLAT, LIST_SPLAT, SEQUENCES, SLICE, TRIVIA
from rolecall_analysis.flow.reading.parameters import is_first_parameter
from rolecall_analysis.grammar import ATTRIBUTE, IDENTIFIER, SUBSCRIPT, child_of


def assign(builder: Builder, target: Node, source: int) -> None:
    """Let *target*, a name, an attribute, an item or a nest of them, take the value *source*."""
    stack = [(target, source)]
    while stack:
        node, held = stack.pop()
        kind = node.kind_id
        if kind == IDENTIFIER:
            builder.assign(builder.text(node), held)
        elif kind == ATTRIBUTE:
            _assign_attribute(builder, node, held)
        elif kind == SUBSCRIPT:
            _assign_item(builder, node, held)
        elif kind in SEQUENCES:
            stack.extend(_unpacked(builder, node.named_children, held))
        elif kind in LIST_SPLAT or kind in DICTIONARY_SPLAT:
            rest = _rest_of(builder, held)
            stack.extend((child, rest) for child in node.named_children)
        else:
            stack.extend((child, held) for child in node.named_children)


def iterate(builder: Builder, iterable: int, node: Node) -> int:
    """Return one element of *iterable*, which is written at *node*."""
    if iterable < 0:
        return iterable
    element = builder.variable()
    builder.block.iterations.append((element, iterable, node.start_byte, node.end_byte))
    return element


def element_of(builder: Builder, held: int, key: str | None = None) -> int:
    """Return the element *key* of *held*, by default any element; no call is made for it."""
    if held < 0:
        return held
    element = builder.variable()
    builder.block.item_loads.append((element, held, key, -1, -1))
    return element


@dataclass(frozen=True, slots=True)
class Item:
    """``owner[key]``."""

    owner: int
    key: str | None
    """The name of a literal key."""
    key_variable: int
    """Where the key is one expression, and not literal."""
    is_slice: bool


def read_item(builder: Builder, node: Node) -> Item:
    """Read a subscript and return its parts."""
    owner_node = child_of(node, "value")
    if owner_node is None:
        return Item(NOTHING, None, NOTHING, is_slice=False)
    owner = value(builder, owner_node)
    keys = [child for child in node.named_children if child != owner_node and child.kind_id not in TRIVIA]
    held = [value(builder, key) for key in keys]
    key = constant_key(builder, keys[0]) if len(keys) == 1 else None
    key_variable = held[0] if len(keys) == 1 and key is None else NOTHING
    return Item(owner, key, key_variable, is_slice=any(key.kind_id == SLICE for key in keys))


def names_in(builder: Builder, target: Node) -> list[str]:
    """Return the names that an assignment to *target* binds."""
    names: list[str] = []
    stack = [target]
    while stack:
        node = stack.pop()
        if node.kind_id == IDENTIFIER:
            names.append(builder.text(node))
        elif node.kind_id not in (ATTRIBUTE, SUBSCRIPT):
            stack.extend(node.named_children)
    return names


def _unpacked(builder: Builder, targets: list[Node], held: int) -> Iterable[tuple[Node, int]]:
    targets = [node for node in targets if node.kind_id not in TRIVIA]
    if held < 0:
        return [(node, held) for node in targets]
    star = next((place for place, node in enumerate(targets) if node.kind_id in LIST_SPLAT), len(targets))
    pieces: list[tuple[Node, int]] = []
    for place, node in enumerate(targets):
        if place == star and node.named_child_count:
            pieces.append((node.named_children[0], _rest_of(builder, held)))
        elif place >= star:
            # Counted from the end: any element may be meant.
            pieces.append((node, element_of(builder, held)))
        else:
            pieces.append((node, element_of(builder, held, f"{place}")))
    return pieces


def _rest_of(builder: Builder, held: int) -> int:
    rest = builder.variable()
    builder.block.containers.append((rest, "list", ((None, element_of(builder, held)),)))
    return rest


def _assign_attribute(builder: Builder, node: Node, held: int) -> None:
    owner_node, name_node = child_of(node, "object"), child_of(node, "attribute")
    if owner_node is None or name_node is None:
        return
    owner, name = value(builder, owner_node), builder.text(name_node)
    if owner < 0:
        return
    builder.block.stores.append((owner, name, builder.held(held), name_node.start_byte, node.end_byte))
    if is_first_parameter(builder.scope, owner) and builder.scope.parent is not None:
        builder.scope.self_stores.add(name)
        builder.scope.parent.self_stores.add(name)


def _assign_item(builder: Builder, node: Node, held: int) -> None:
    item = read_item(builder, node)
    # `items[1:] = others` puts the elements of the others in, not the others.
    source = builder.held(element_of(builder, held) if item.is_slice else held)
    if item.owner < 0:
        return
    if item.key_variable >= 0:
        step = (item.owner, item.key_variable, source, node.start_byte, node.end_byte)
        builder.block.keyed_stores.append(step)
    else:
        builder.block.item_stores.append((item.owner, item.key, source, node.start_byte, node.end_byte))
