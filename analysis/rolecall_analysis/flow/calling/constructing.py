"""Calling a class: its ``__init__``, ``__new__`` and metaclass, and what the instance holds."""

from __future__ import annotations

from rolecall_analysis.flow.classes import class_lookup, defines, field_node, instance_lookup, order
from rolecall_analysis.flow.code import NO_ARGUMENTS
from rolecall_analysis.flow.graph import SURE, weakened
from rolecall_analysis.flow.sites import Site, within
from rolecall_analysis.flow.state import Flow, bound, instance_of
from rolecall_analysis.flow.values import ClassValue, FunctionValue, PropertyValue


def call_class(flow: Flow, site: Site, called: ClassValue, reason: int) -> None:
    """Call a class at *site*."""
    graph = flow.graph
    constructor = instance_lookup(flow, called, "__init__").node
    call_again(flow, site, constructor, reason, result=graph.node())
    if site.kind == "decorator" and site.positional and _acts_as_property(called):
        _make_properties(flow, site, reason)
        return
    graph.add(site.result, instance_of(flow, called) | reason)
    if defines(called, "__new__"):
        _call_new(flow, site, called, reason)
    if not defines(called, "__init__"):
        _fill_fields(flow, site, called, reason)
        if defines(called, "__post_init__"):
            after = within(site, arguments=NO_ARGUMENTS, result=graph.node())
            method = instance_lookup(flow, called, "__post_init__").node
            graph.watch(method, lambda token: flow.call_value(flow, after, weakened(token, reason)))
    for metaclass in called.metaclasses:
        if defines(metaclass, "__call__"):
            call_again(flow, site, class_lookup(flow, called, "__call__").node, reason)


def call_again(flow: Flow, site: Site, callee: int, reason: int = SURE, result: int | None = None) -> None:
    """Call, at the same place and with the same arguments, whatever the node *callee* holds."""
    # The `__call__` of an object may be an object with a `__call__`, and so on in a circle.
    if site.n_derived > 3:
        return
    inner = within(site, result=result, decided_by=callee)
    flow.graph.watch(callee, lambda token: flow.call_value(flow, inner, weakened(token, reason)))


def _call_new(flow: Flow, site: Site, called: ClassValue, reason: int) -> None:
    inner = within(site)

    def construct(token: int) -> None:
        function = flow.value_of(token)
        if isinstance(function, FunctionValue):
            flow.call_value(flow, inner, weakened(bound(flow, function, called.number), max(reason, token & 3)))

    flow.graph.watch(class_lookup(flow, called, "__new__").node, construct)


def _fill_fields(flow: Flow, site: Site, called: ClassValue, reason: int) -> None:
    """Let a class without ``__init__``, such as a data class, keep its arguments as attributes."""
    names = [name for member in reversed(order(called)) for name in member.frame.scope.declared]
    given = [
        *zip(names, site.positional, strict=False),
        *((name, node) for name, node in site.arguments.keywords if name in names),
    ]
    for name, argument in given:
        if argument >= 0:
            flow.graph.link_because(argument, field_node(flow, called, name), reason)


def _acts_as_property(called: ClassValue) -> bool:
    # A `cached_property` that the repository wrote itself is taken at its word.
    return "property" in called.name.lower() and defines(called, "__get__")


def _make_properties(flow: Flow, site: Site, reason: int) -> None:
    def make(token: int) -> None:
        number = token >> 2
        if isinstance(flow.values[number], FunctionValue):
            made = flow.intern(("property", number, None), lambda fresh: PropertyValue(fresh, number))
            flow.graph.add(site.result, made << 2 | max(reason, token & 3))

    flow.graph.watch(site.positional[0], make)
