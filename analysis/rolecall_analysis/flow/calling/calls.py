"""The effects of calling a value."""

from __future__ import annotations

from collections.abc import Callable

from rolecall_analysis.flow.calling.constructing import call_again, call_class
from rolecall_analysis.flow.calling.functions import call_function
from rolecall_analysis.flow.classes import defines, instance_lookup
from rolecall_analysis.flow.code import Arguments
from rolecall_analysis.flow.graph import weakened
from rolecall_analysis.flow.library.container_methods import call_container_method
from rolecall_analysis.flow.library.effects import call_outside
from rolecall_analysis.flow.sites import Site, within
from rolecall_analysis.flow.state import Flow
from rolecall_analysis.flow.values import (
    BoundValue,
    ClassValue,
    FunctionValue,
    InstanceValue,
    MethodOfContainer,
    OutsideValue,
    PartialValue,
    PropertyValue,
    Value,
    WrappedValue,
)


def call(flow: Flow, site: Site, token: int) -> None:
    """Call *token* at *site*, unless that has been worked out already."""
    number, reason = token >> 2, token & 3
    known = site.done.get(number)
    if known is not None and known <= reason:
        return
    site.done[number] = reason
    called = flow.values[number]
    # `raise error` of an object calls nothing.
    if site.kind == "raise" and not site.n_derived and not isinstance(called, ClassValue):
        return
    rule = _RULES.get(type(called))
    if rule is not None:
        rule(flow, site, called, reason)


def _call_function(flow: Flow, site: Site, called: Value, reason: int) -> None:
    assert isinstance(called, FunctionValue)
    call_function(flow, site, called, None, reason)


def _call_bound(flow: Flow, site: Site, called: Value, reason: int) -> None:
    assert isinstance(called, BoundValue)
    call_function(flow, site, called.function, called.receiver, reason)


def _call_class(flow: Flow, site: Site, called: Value, reason: int) -> None:
    assert isinstance(called, ClassValue)
    call_class(flow, site, called, reason)


def _call_instance(flow: Flow, site: Site, called: Value, reason: int) -> None:
    assert isinstance(called, InstanceValue)
    if defines(called.of, "__call__"):
        call_again(flow, site, instance_lookup(flow, called.of, "__call__").node, reason)


def _call_outside(flow: Flow, site: Site, called: Value, reason: int) -> None:
    assert isinstance(called, OutsideValue)
    call_outside(flow, site, called.name, reason)


def _call_method_of_container(flow: Flow, site: Site, called: Value, reason: int) -> None:
    assert isinstance(called, MethodOfContainer)
    call_container_method(flow, site, called, reason)


def _call_partial(flow: Flow, site: Site, called: Value, reason: int) -> None:
    assert isinstance(called, PartialValue)
    made, given = called.arguments, site.arguments
    if site.n_derived > 3 or not made.positional:
        return
    arguments = Arguments(
        (*made.positional[1:], *given.positional),
        (*made.starred, *given.starred),
        (*made.keywords, *given.keywords),
        (*made.double_starred, *given.double_starred),
    )
    inner = within(site, arguments=arguments, decided_by=made.positional[0])
    flow.graph.watch(made.positional[0], lambda token: call(flow, inner, weakened(token, reason)))


def _call_wrapped(flow: Flow, site: Site, called: Value, reason: int) -> None:
    assert isinstance(called, WrappedValue)
    if called.kind in ("staticmethod", "classmethod"):
        call(flow, site, called.function << 2 | reason)
        return
    before = flow.values[called.function]
    if not isinstance(before, PropertyValue) or not site.positional:
        return

    # `@total.setter` makes a new property, of the getter before and the function that it decorates.
    def change(token: int) -> None:
        if not isinstance(flow.value_of(token), FunctionValue):
            return
        getter = token >> 2 if called.kind == "getter" else before.getter
        setter = token >> 2 if called.kind == "setter" else before.setter
        key = ("property", getter, setter)
        made = flow.intern(key, lambda number: PropertyValue(number, getter, setter))
        flow.graph.add(site.result, made << 2 | reason)

    flow.graph.watch(site.positional[0], change)


_RULES: dict[type[Value], Callable[[Flow, Site, Value, int], None]] = {
    BoundValue: _call_bound,
    ClassValue: _call_class,
    FunctionValue: _call_function,
    InstanceValue: _call_instance,
    MethodOfContainer: _call_method_of_container,
    OutsideValue: _call_outside,
    PartialValue: _call_partial,
    WrappedValue: _call_wrapped,
}
