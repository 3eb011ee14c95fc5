"""Default values that one call changes for all that follow."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from rolecall_analysis.faults.possible import PossibleFault
from rolecall_analysis.faults.reading import ParsedFile, Reader
from rolecall_analysis.faults.ways import Sight, find_way
from rolecall_analysis.grammar import ATTRIBUTE, CALL, SUBSCRIPT, child_of, kind_id
from rolecall_analysis.names import text_of
from rolecall_analysis.unbound.flowgraph import Act, Event, FlowGraph

_DEFAULTS = frozenset({kind_id("default_parameter"), kind_id("typed_default_parameter")})
_DISPLAYS = frozenset({kind_id("list"), kind_id("dictionary"), kind_id("set")})
_MAKERS = frozenset({"list", "dict", "set", "bytearray", "collections.defaultdict", "defaultdict", "deque", "Counter"})
_CHANGES = frozenset(
    {
        "add",
        "append",
        "appendleft",
        "clear",
        "discard",
        "extend",
        "insert",
        "pop",
        "popitem",
        "remove",
        "reverse",
        "setdefault",
        "sort",
        "update",
    }
)


def changed_defaults(source: ParsedFile, _reader: Reader) -> Iterator[PossibleFault]:
    """Yield the changes of a parameter that reach its default value."""
    for graph in source.graphs:
        parameters = child_of(graph.node, "parameters") if graph.node is not None else None
        for parameter in parameters.named_children if parameters is not None else ():
            value = child_of(parameter, "value") if parameter.kind_id in _DEFAULTS else None
            name = child_of(parameter, "name")
            if value is not None and name is not None and _is_mutable(source, value):
                yield from _changed(source, graph, parameter, source.words(name))


def _is_mutable(source: ParsedFile, value: Node) -> bool:
    return value.kind_id in _DISPLAYS or (value.kind_id == CALL and source.callee(value) in _MAKERS)


def _changed(source: ParsedFile, graph: FlowGraph, parameter: Node, name: str) -> Iterator[PossibleFault]:
    n_bound = 0

    def judge(event: Event) -> Sight:
        nonlocal n_bound
        if event.name == name and event.act is Act.BIND:
            n_bound += 1
            return Sight.SAFE if n_bound > 1 else Sight.GO_ON  # the first is the parameter itself
        if event.name == name and event.act is Act.READ and event.node is not None:
            return Sight.FAULT if _change_at(source, event.node) is not None else Sight.GO_ON
        return Sight.GO_ON

    way = find_way(graph, 0, -1, judge)
    change = _change_at(source, way.end.node) if way is not None and way.end is not None and way.end.node else None
    if way is not None and change is not None:
        yield source.fault(
            change,
            f"The default of `{name}` is changed, and every later call sees that.",
            source.waypoint(parameter, f"the default of `{name}` is made once, for all calls"),
            *way.waypoints(source),
            source.waypoint(change, f"`{source.quoted(change)}` changes it"),
        )


def _change_at(source: ParsedFile, read: Node) -> Node | None:
    """Return what changes the object that is read: a method, an item that is set or deleted, ``+=``."""
    outer = read.parent
    if outer is None:
        return None
    if outer.kind_id == ATTRIBUTE and child_of(outer, "object") == read:
        method, call = child_of(outer, "attribute"), outer.parent
        is_called = call is not None and call.kind_id == CALL and child_of(call, "function") == outer
        is_change = method is not None and text_of(source.source, method) in _CHANGES
        return call if is_called and is_change else None
    if outer.type == "augmented_assignment" and child_of(outer, "left") == read:
        return outer
    if outer.kind_id == SUBSCRIPT and child_of(outer, "value") == read and outer.parent is not None:
        statement = outer.parent
        is_set = statement.type in ("assignment", "augmented_assignment") and child_of(statement, "left") == outer
        return statement if is_set or statement.type == "delete_statement" else None
    return None
