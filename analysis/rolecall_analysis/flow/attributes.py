"""``owner.name``, read and assigned."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Generator

from rolecall_analysis.flow.classes import (
    class_attribute_node,
    class_lookup,
    defines,
    field_node,
    instance_lookup,
    super_lookup,
)
from rolecall_analysis.flow.code import Arguments
from rolecall_analysis.flow.graph import MERGED, weakened
from rolecall_analysis.flow.program import assigned_elsewhere, member
from rolecall_analysis.flow.sites import Site, Spot, implied
from rolecall_analysis.flow.state import (
    Flow,
    attribute_node,
    bound,
    instance_of,
    is_literal,
    outside_named,
    something_outside,
)
from rolecall_analysis.flow.values import (
    BoundValue,
    ClassValue,
    ContainerValue,
    Frame,
    FunctionValue,
    InstanceValue,
    Lookup,
    MethodOfContainer,
    ModuleValue,
    OutsideValue,
    PropertyValue,
    SuperValue,
    TextValue,
    Value,
    WrappedValue,
)

LoadStep = tuple[int, str, int, int]
"""(result, name, first byte, last byte)"""


def load(flow: Flow, frame: Frame, step: LoadStep, token: int) -> None:
    """Let the result of *step* have the attribute of the owner *token*."""
    owner = flow.value_of(token)
    rule = _RULES.get(type(owner))
    if rule is not None:
        rule(flow, frame, step, owner, token & 3)


def _load_of_instance(flow: Flow, frame: Frame, step: LoadStep, owner: Value, reason: int) -> None:
    assert isinstance(owner, InstanceValue)
    if step[1] == "__class__":
        flow.graph.add(step[0], owner.of.number << 2 | reason)
    else:
        _read(flow, frame, step, instance_lookup(flow, owner.of, step[1]), receiver=owner.number, reason=reason)


def _load_of_class(flow: Flow, frame: Frame, step: LoadStep, owner: Value, reason: int) -> None:
    assert isinstance(owner, ClassValue)
    _read(flow, frame, step, class_lookup(flow, owner, step[1]), receiver=owner.number, reason=reason)


def _load_of_super(flow: Flow, frame: Frame, step: LoadStep, owner: Value, reason: int) -> None:
    assert isinstance(owner, SuperValue)
    lookup = super_lookup(flow, owner.start, owner.receiver, step[1], is_class=owner.is_class)
    receiver = owner.receiver.number if owner.is_class else instance_of(flow, owner.receiver) >> 2
    _read(flow, frame, step, lookup, receiver=receiver, reason=reason)


def _load_of_module(flow: Flow, _frame: Frame, step: LoadStep, owner: Value, reason: int) -> None:
    assert isinstance(owner, ModuleValue)
    flow.graph.link_because(member(flow, owner.location, step[1]), step[0], reason)


def _load_of_outside(flow: Flow, _frame: Frame, step: LoadStep, owner: Value, reason: int) -> None:
    assert isinstance(owner, OutsideValue)
    if is_literal(owner):
        _load_of_text(flow, _frame, step, owner, reason)
        return
    known = something_outside(flow) if owner.name == "?" else outside_named(flow, f"{owner.name}.{step[1]}")
    flow.graph.add(step[0], weakened(known, reason))
    if owner.name == "?":
        # All things of which nothing is known are one value: what is set on one may be read from any.
        flow.graph.link_because(attribute_node(flow, owner.number, step[1]), step[0], MERGED)


def _load_of_container(flow: Flow, _frame: Frame, step: LoadStep, owner: Value, reason: int) -> None:
    assert isinstance(owner, ContainerValue)
    if step[1] in _CONTAINER_ATTRIBUTES:
        key = ("method", owner.number, step[1])
        method = flow.intern(key, lambda number: MethodOfContainer(number, owner, step[1]))
        flow.graph.add(step[0], method << 2 | reason)
    _link_set_attribute(flow, owner.number, step)


def _load_of_property(flow: Flow, _frame: Frame, step: LoadStep, owner: Value, _reason: int) -> None:
    name = step[1]
    if name in ("setter", "getter", "deleter"):
        made = flow.intern((name, owner.number), lambda number: WrappedValue(number, name, owner.number))
        flow.graph.add(step[0], made << 2)


def _load_of_text(flow: Flow, _frame: Frame, step: LoadStep, _owner: Value, _reason: int) -> None:
    if step[1] in _LITERAL_ATTRIBUTES:
        flow.graph.add(step[0], something_outside(flow))


_CONTAINER_ATTRIBUTES = frozenset(
    name for kind in (list, tuple, set, OrderedDict, defaultdict, deque, Generator) for name in dir(kind)
)
_LITERAL_ATTRIBUTES = frozenset(name for kind in (str, bytes, int, float, complex) for name in dir(kind))


def _load_of_function(flow: Flow, _frame: Frame, step: LoadStep, owner: Value, _reason: int) -> None:
    _link_set_attribute(flow, owner.number, step)


def _load_of_bound(flow: Flow, _frame: Frame, step: LoadStep, owner: Value, reason: int) -> None:
    assert isinstance(owner, BoundValue)
    if step[1] == "__func__":
        flow.graph.add(step[0], owner.function.number << 2 | reason)
    elif step[1] == "__self__":
        flow.graph.add(step[0], owner.receiver << 2 | reason)
    _link_set_attribute(flow, owner.function.number, step)


_RULES: dict[type[Value], Callable[[Flow, Frame, LoadStep, Value, int], None]] = {
    BoundValue: _load_of_bound,
    ClassValue: _load_of_class,
    ContainerValue: _load_of_container,
    FunctionValue: _load_of_function,
    InstanceValue: _load_of_instance,
    ModuleValue: _load_of_module,
    OutsideValue: _load_of_outside,
    PropertyValue: _load_of_property,
    SuperValue: _load_of_super,
    TextValue: _load_of_text,
}


def _link_set_attribute(flow: Flow, number: int, step: LoadStep) -> None:
    flow.graph.link(attribute_node(flow, number, step[1]), step[0])


def _read(flow: Flow, frame: Frame, step: LoadStep, lookup: Lookup, *, receiver: int, reason: int) -> None:
    """Let the result of *step* have what *lookup* finds; a getter is called there."""
    result, name, start, end = step
    flow.graph.link_because(lookup.node, result, reason)

    def get(token: int) -> None:
        site = implied(Spot(frame, start, end), "property", name, result)
        _call_getter(flow, site, token, receiver, reason)

    lookup.readers.append(get)
    for token in tuple(lookup.getters):
        get(token)


def _call_getter(flow: Flow, site: Site, token: int, receiver: int, reason: int) -> None:
    found = flow.value_of(token)
    if isinstance(found, PropertyValue):
        function = flow.values[found.getter]
        if isinstance(function, FunctionValue):
            flow.call_value(flow, site, weakened(bound(flow, function, receiver), reason))
    elif isinstance(found, InstanceValue):
        given = flow.graph.node()
        flow.graph.add(given, receiver << 2)
        site.arguments = Arguments((given,))
        getter = instance_lookup(flow, found.of, "__get__").node
        flow.graph.watch(getter, lambda method: flow.call_value(flow, site, weakened(method, reason)))


def store(flow: Flow, frame: Frame, step: tuple[str, int, int, int], token: int) -> None:
    """Let an attribute of the owner *token* be what (name, source, first byte, last byte) says."""
    name, source = step[:2]
    owner, reason = flow.value_of(token), token & 3
    graph = flow.graph
    if isinstance(owner, InstanceValue):
        graph.link_because(source, field_node(flow, owner.of, name), reason)
        if defines(owner.of, name):
            _call_setters(flow, frame, owner, step)
    elif isinstance(owner, ClassValue):
        graph.link_because(source, class_attribute_node(flow, owner, name), reason)
    elif isinstance(owner, ModuleValue):
        graph.link_because(source, assigned_elsewhere(flow, owner.location, name), reason)
    elif isinstance(owner, SuperValue):
        graph.link_because(source, field_node(flow, owner.receiver, name), reason)
    elif isinstance(owner, BoundValue):
        graph.link_because(source, attribute_node(flow, owner.function.number, name), reason)
    elif isinstance(owner, FunctionValue | ContainerValue):
        graph.link_because(source, attribute_node(flow, owner.number, name), reason)


def _call_setters(flow: Flow, frame: Frame, owner: InstanceValue, step: tuple[str, int, int, int]) -> None:
    name, source, start, end = step
    lookup = instance_lookup(flow, owner.of, name)

    def set_value(token: int) -> None:
        found = flow.value_of(token)
        if not isinstance(found, PropertyValue) or found.setter is None:
            return
        function = flow.values[found.setter]
        if isinstance(function, FunctionValue):
            spot = Spot(frame, start, end)
            site = implied(spot, "property", name, flow.graph.node(), Arguments((source,)))
            flow.call_value(flow, site, bound(flow, function, owner.number))

    lookup.readers.append(set_value)
    for token in tuple(lookup.getters):
        set_value(token)
