"""The state while values are followed, which every rule reads and adds to."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from rolecall_analysis.flow.code import Block, ModuleCode
from rolecall_analysis.flow.graph import SURE, Graph
from rolecall_analysis.flow.rules import FlowRule
from rolecall_analysis.flow.sites import Site
from rolecall_analysis.flow.values import (
    BoundValue,
    ClassValue,
    ContainerValue,
    Frame,
    FunctionValue,
    InstanceValue,
    Lookup,
    OutsideValue,
    TextValue,
    Value,
)
from rolecall_analysis.modules import ModuleTree

EdgeKey = tuple[str, int, str, int, int, int]
"""(caller's path, caller's scope, callee's path, callee's scope, first byte, last byte)"""


@dataclass(slots=True)
class Flow:
    """Modules read so far, the graph of their values, and the calls found."""

    tree: ModuleTree
    read_code: Callable[[str], ModuleCode | None]
    """The code of the module at a path."""
    run_block: Callable[[Flow, Frame, Block], None]
    """The rule that turns steps into nodes and links; given, because every other rule may need it."""
    call_value: Callable[[Flow, Site, int], None]
    """The rule of what happens when a token is called; likewise."""
    is_whole: bool
    """Every function is read; else only those that are asked for, and what they need."""
    max_depth: int
    graph: Graph = field(default_factory=Graph)
    values: list[Value] = field(default_factory=list[Value])
    interned: dict[Hashable, int] = field(default_factory=dict[Hashable, int])
    modules: dict[str, Frame] = field(default_factory=dict[str, Frame])
    """By location."""
    codes: dict[str, ModuleCode] = field(default_factory=dict[str, ModuleCode])
    """By path."""
    members: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])
    """The node of each module's names, by location."""
    supers: dict[tuple[int, int, str, bool], Lookup] = field(default_factory=dict[tuple[int, int, str, bool], Lookup])
    attributes: dict[tuple[int, str], int] = field(default_factory=dict[tuple[int, str], int])
    """The nodes of attributes set on functions, containers and the like."""
    waiting: deque[Frame] = field(default_factory=deque[Frame])
    frames: list[Frame] = field(default_factory=list[Frame])
    """Every frame that has run."""
    classes: list[ClassValue] = field(default_factory=list[ClassValue])
    promises: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    """(node, node of the class that an annotation promises)"""
    sites: list[Site] = field(default_factory=list[Site])
    """Calls of attributes, for which a guess may be needed."""
    edges: dict[EdgeKey, tuple[int, FlowRule]] = field(default_factory=dict[EdgeKey, tuple[int, FlowRule]])
    """The certainty, and the rule."""
    called_from: dict[EdgeKey, list[Site]] = field(default_factory=dict[EdgeKey, list[Site]])
    """The calls that were found to make each edge."""
    wanted_methods: deque[tuple[ClassValue, str]] = field(default_factory=deque[tuple[ClassValue, str]])
    """Methods to read because they set an attribute that is asked for."""
    unknown_keys: list[tuple[int, Callable[[str | None], None]]] = field(
        default_factory=list[tuple[int, Callable[[str | None], None]]]
    )
    """Nodes of keys, and what to do with None if they turn out to hold nothing."""
    n_copied_nodes: int = 0
    outside: int = -1

    def token(self, value: Value, reason: int = SURE) -> int:
        """Return the token of *value*."""
        return value.number << 2 | reason

    def value_of(self, token: int) -> Value:
        """Return the value of *token*."""
        return self.values[token >> 2]

    def intern(self, key: Hashable, make: Callable[[int], Value]) -> int:
        """Return the number of the value that *key* stands for; *make* makes the value the first time."""
        number = self.interned.get(key)
        if number is None:
            number = self.interned[key] = len(self.values)
            self.values.append(make(number))
        return number

    def close(self) -> None:
        """Let go of the watchers: they hold all the rest in circles, which the collector takes much longer to find."""
        self.graph.watchers.clear()


def outside_named(flow: Flow, name: str) -> int:
    """Return the token of a name from outside."""
    return flow.intern(("outside", name), lambda number: OutsideValue(number, name)) << 2


def a_literal(flow: Flow) -> int:
    """Return the token of a number, a long string or the like."""
    return outside_named(flow, _LITERAL)


def is_literal(value: Value) -> bool:
    """Return whether *value* is a number, a long string or the like."""
    return isinstance(value, OutsideValue) and value.name == _LITERAL


# With a blank, which no dotted name has.
_LITERAL = "a literal"


def something_outside(flow: Flow) -> int:
    """Return the token of a value from outside of which nothing else is known."""
    if flow.outside < 0:
        flow.outside = outside_named(flow, "?")
    return flow.outside


def text_value(flow: Flow, text: str) -> int:
    """Return the token of a short string."""
    number = flow.intern(("text", text), lambda number: TextValue(number, text))
    flow.graph.texts.add(number)
    return number << 2


def bound(flow: Flow, function: FunctionValue, receiver: int) -> int:
    """Return the token of *function* with the value numbered *receiver* as first argument."""
    key = ("bound", function.number, receiver)
    return flow.intern(key, lambda number: BoundValue(number, function, receiver)) << 2


def instance_of(flow: Flow, of: ClassValue) -> int:
    """Return the token of any instance of a class."""
    if of.instance < 0:
        of.instance = flow.intern(("instance", of.number), lambda number: InstanceValue(number, of))
    return of.instance << 2


def container(flow: Flow, key: Hashable, kind: str) -> ContainerValue:
    """Return the container that *key* stands for."""

    def make(number: int) -> ContainerValue:
        graph = flow.graph
        every, somewhere = graph.node(), graph.node()
        graph.link(somewhere, every)
        return ContainerValue(number, kind, every, somewhere, graph.node())

    found = flow.values[flow.intern(("container", key), make)]
    assert isinstance(found, ContainerValue)
    return found


def attribute_node(flow: Flow, number: int, name: str) -> int:
    """Return the node of an attribute set on the value numbered *number*."""
    key = (number, name)
    node = flow.attributes.get(key)
    if node is None:
        node = flow.attributes[key] = flow.graph.node()
    return node
