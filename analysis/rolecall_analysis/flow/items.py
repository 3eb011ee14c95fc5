"""Elements: of containers, of what is iterated over, of what ``with`` enters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from rolecall_analysis.flow.classes import defines, has_outside_base, instance_lookup, is_enumeration
from rolecall_analysis.flow.code import KEYS, SLICED, YIELDED, Arguments, CallKind
from rolecall_analysis.flow.graph import MERGED, SURE, weakened
from rolecall_analysis.flow.sites import Site, Spot, implied
from rolecall_analysis.flow.state import Flow, container, instance_of, is_literal, something_outside
from rolecall_analysis.flow.values import (
    ClassValue,
    ContainerValue,
    GeneratorValue,
    InstanceValue,
    OutsideValue,
    TextValue,
    Value,
)


def field_of(flow: Flow, owner: ContainerValue, key: str) -> int:
    """Return the node of the element *key* of a container."""
    node = owner.fields.get(key)
    if node is None:
        node = owner.fields[key] = flow.graph.node()
        flow.graph.link(node, owner.every)
        for listener in tuple(owner.listeners):
            listener(key, node)
    return node


def store_field(flow: Flow, owner: ContainerValue, key: str | None, source: int, reason: int = SURE) -> None:
    """Let an element of a container be what the node *source* holds."""
    target = owner.somewhere
    if key is not None:
        target = owner.keys if key == KEYS else field_of(flow, owner, key)
    flow.graph.link_because(source, target, reason)


def spread_into(flow: Flow, owner: ContainerValue, token: int) -> None:
    """Let a container have the elements of the iterable or mapping *token*, by key where they have one."""
    other = flow.value_of(token)
    if not isinstance(other, ContainerValue):
        element = flow.graph.node()
        iterate(flow, None, element, token)
        flow.graph.link(element, owner.somewhere)
        return
    if other is owner or owner.kind != "dict" or other.kind != "dict":
        flow.graph.link(other.every if other.kind != "dict" else other.keys, owner.somewhere)
        return

    def copy(key: str, node: int) -> None:
        flow.graph.link(node, field_of(flow, owner, key))

    other.listeners.append(copy)
    # A list of its own: two dictionaries that take each other in get more keys meanwhile.
    for key, node in list(other.fields.items()):
        copy(key, node)
    flow.graph.link(other.somewhere, owner.somewhere)
    flow.graph.link(other.keys, owner.keys)


def load_item(flow: Flow, spot: Spot | None, step: tuple[int, str | None], token: int) -> None:
    """Let (result, key) have that element of the owner *token*; a key of None means any."""
    result, key = step
    owner, reason = flow.value_of(token), token & 3
    graph = flow.graph
    if key == SLICED:
        graph.add(result, _sliced(flow, owner, result) | reason)
    elif isinstance(owner, ContainerValue):
        _load_field(flow, owner, key, result, reason)
    elif isinstance(owner, GeneratorValue):
        graph.link_because(owner.frame.first_node + YIELDED, result, reason)
    elif isinstance(owner, InstanceValue):
        if defines(owner.of, "__getitem__"):
            _call_method(flow, spot, "operator", owner, "__getitem__", result=result, reason=reason)
        # `first, rest = pair` takes elements by their places, though Python only iterates.
        elif defines(owner.of, "__iter__"):
            iterate(flow, spot, result, token)
    # `Cart[int]` is the class itself, `Color["RED"]` a member of the enumeration.
    elif isinstance(owner, ClassValue):
        graph.add(result, instance_of(flow, owner) | reason if is_enumeration(owner) else token)
    elif isinstance(owner, OutsideValue):
        graph.add(result, something_outside(flow) | reason if is_literal(owner) else token)


def _sliced(flow: Flow, owner: Value, result: int) -> int:
    """Return the token of some elements of *owner* for the node *result*: for most values, a value of the same kind."""
    if not isinstance(owner, ContainerValue):
        return owner.number << 2
    made = container(flow, ("sliced", result, owner.number), owner.kind)
    flow.graph.link(owner.every, made.somewhere)
    return made.number << 2


def _load_field(flow: Flow, owner: ContainerValue, key: str | None, result: int, reason: int) -> None:
    is_mapping = owner.kind == "dict"
    if key is None or not (is_mapping or owner.fields):
        flow.graph.link_because(owner.every, result, max(reason, MERGED) if is_mapping else reason)
    else:
        flow.graph.link_because(field_of(flow, owner, key), result, reason)
        flow.graph.link_because(owner.somewhere, result, reason)


def store_item(flow: Flow, spot: Spot | None, step: tuple[str | None, int], token: int) -> None:
    """Let the element (key, source) of the owner *token* be what *source* holds."""
    key, source = step
    owner, reason = flow.value_of(token), token & 3
    if isinstance(owner, ContainerValue):
        store_field(flow, owner, key, source, reason)
    elif isinstance(owner, InstanceValue) and spot is not None and defines(owner.of, "__setitem__"):
        given = Arguments((flow.graph.node(), source))
        site = implied(spot, "operator", "__setitem__", flow.graph.node(), given)
        _call_lookup(flow, site, owner, "__setitem__", reason)


def _call_method(
    flow: Flow, spot: Spot | None, kind: CallKind, owner: InstanceValue, name: str, *, result: int, reason: int
) -> None:
    if spot is not None:
        _call_lookup(flow, implied(spot, kind, name, result), owner, name, reason)


def _call_lookup(flow: Flow, site: Site, owner: InstanceValue, name: str, reason: int) -> None:
    method = instance_lookup(flow, owner.of, name).node
    flow.graph.watch(method, lambda found: flow.call_value(flow, site, weakened(found, reason)))


def iterate(flow: Flow, spot: Spot | None, element: int, token: int) -> None:
    """Let *element* be what iterating over *token* gives; the methods of an iterator are called at *spot*."""
    owner, reason = flow.value_of(token), token & 3
    graph = flow.graph
    if isinstance(owner, ContainerValue):
        graph.link_because(owner.keys if owner.kind == "dict" else owner.every, element, reason)
    elif isinstance(owner, GeneratorValue):
        graph.link_because(owner.frame.first_node + YIELDED, element, reason)
    elif isinstance(owner, InstanceValue):
        _iterate_instance(flow, spot, owner, element, reason)
    elif isinstance(owner, ClassValue) and is_enumeration(owner):
        graph.add(element, instance_of(flow, owner) | reason)
    elif isinstance(owner, OutsideValue):
        graph.add(element, something_outside(flow) | reason)


def _iterate_instance(flow: Flow, spot: Spot | None, owner: InstanceValue, element: int, reason: int) -> None:
    for opening, following in (("__iter__", "__next__"), ("__aiter__", "__anext__")):
        if defines(owner.of, opening):
            iterator = flow.graph.node()
            _call_method(flow, spot, "iteration", owner, opening, result=iterator, reason=reason)
            further = replace(spot, owner=iterator) if spot is not None else None
            flow.graph.watch(iterator, partial(_advance, flow, further, (following, element), reason))
            return
    # Python iterates by index over what has no `__iter__`.
    if defines(owner.of, "__getitem__"):
        _call_method(flow, spot, "iteration", owner, "__getitem__", result=element, reason=reason)


def _advance(flow: Flow, spot: Spot | None, step: tuple[str, int], reason: int, token: int) -> None:
    """Let an element be what a method of the iterator *token* gives: (method, element)."""
    following, element = step
    found = flow.value_of(token)
    if not isinstance(found, InstanceValue):
        iterate(flow, spot, element, weakened(token, reason))
    elif defines(found.of, following):
        _call_method(flow, spot, "iteration", found, following, result=element, reason=reason)


def enter(flow: Flow, spot: Spot, entered: int, token: int) -> None:
    """Let *entered* be what ``with`` makes of the manager *token*."""
    owner, reason = flow.value_of(token), token & 3
    graph = flow.graph
    if isinstance(owner, InstanceValue):
        for opening, closing in (("__enter__", "__exit__"), ("__aenter__", "__aexit__")):
            if defines(owner.of, opening):
                _call_method(flow, spot, "with", owner, opening, result=entered, reason=reason)
            # An `__enter__` from outside is taken to return the object itself, as most do.
            elif has_outside_base(owner.of):
                graph.add(entered, token)
            if defines(owner.of, closing):
                _call_method(flow, spot, "with", owner, closing, result=graph.node(), reason=reason)
    # `contextmanager` is taken to change nothing, so it is a generator that is entered.
    elif isinstance(owner, GeneratorValue):
        graph.link_because(owner.frame.first_node + YIELDED, entered, reason)
    elif isinstance(owner, OutsideValue):
        graph.add(entered, something_outside(flow) | reason)


def with_each_key(flow: Flow, node: int, act: Callable[[str | None], None]) -> None:
    """Call *act* with every key that the node *node* may hold: a text, or None for any other.

    If it turns out to hold nothing that is known, *act* is called with None in the end.
    """
    seen: set[str | None] = set()

    def tell(token: int) -> None:
        found = flow.value_of(token)
        key = repr(found.text) if isinstance(found, TextValue) else None
        if key not in seen:
            seen.add(key)
            act(key)

    flow.graph.watch(node, tell)
    flow.unknown_keys.append((node, act))
