"""Functions of the library that take, make or fold iterables."""

from __future__ import annotations

from rolecall_analysis.flow.attributes import load
from rolecall_analysis.flow.code import NO_ARGUMENTS
from rolecall_analysis.flow.items import field_of, iterate, load_item, spread_into, store_field
from rolecall_analysis.flow.library.callbacks import Rule, argument_of, call_back, collection_at, elements_of
from rolecall_analysis.flow.sites import Site, within
from rolecall_analysis.flow.state import (
    Flow,
)
from rolecall_analysis.flow.values import (
    ContainerValue,
    InstanceValue,
)


def map_function(flow: Flow, site: Site, reason: int) -> None:
    """``map``: calls its function with the elements."""
    made = collection_at(flow, site, "generator")
    flow.graph.add(site.result, made.number << 2 | reason)
    if not site.positional:
        return
    elements = tuple(elements_of(flow, site, iterable) for iterable in site.positional[1:])
    for place, function in enumerate(site.positional):
        call_back(flow, site, function, elements if place == 0 else (), result=made.somewhere, reason=reason)


def filter_elements(flow: Flow, site: Site, reason: int) -> None:
    """``filter``: the elements that its function, which it calls, lets through."""
    made = collection_at(flow, site, "generator")
    flow.graph.add(site.result, made.number << 2 | reason)
    if len(site.positional) > 1:
        element = elements_of(flow, site, site.positional[1])
        flow.graph.link(element, made.somewhere)
        call_back(flow, site, site.positional[0], (element,), result=flow.graph.node(), reason=reason)


def collects(kind: str) -> Rule:
    """Return a rule for calls that gather the elements of an iterable in a new container."""

    def collect(flow: Flow, site: Site, reason: int) -> None:
        made = collection_at(flow, site, kind)
        flow.graph.add(site.result, made.number << 2 | reason)
        for iterable in site.positional[:1]:
            element = elements_of(flow, site, iterable)
            flow.graph.link(element, made.somewhere)
            # No call has a tenth argument: `key` is found by its name alone.
            call_back(flow, site, argument_of(site, 9, "key"), (element,), result=flow.graph.node(), reason=reason)

    return collect


def chain(flow: Flow, site: Site, reason: int) -> None:
    """``itertools.chain``: the elements of all its iterables."""
    made = collection_at(flow, site, "generator")
    flow.graph.add(site.result, made.number << 2 | reason)
    for iterable in site.positional:
        flow.graph.link(elements_of(flow, site, iterable), made.somewhere)


def choose(flow: Flow, site: Site, reason: int) -> None:
    """``min``, ``max``: one of the elements, or of the arguments."""
    element = elements_of(flow, site, site.positional[0]) if len(site.positional) == 1 else flow.graph.node()
    for argument in site.positional if len(site.positional) > 1 else ():
        flow.graph.link(argument, element)
    flow.graph.link_because(element, site.result, reason)
    call_back(flow, site, argument_of(site, 9, "key"), (element,), result=flow.graph.node(), reason=reason)


def enumerate_elements(flow: Flow, site: Site, reason: int) -> None:
    """``enumerate``: pairs whose second part is an element."""
    made, pair = collection_at(flow, site, "generator"), collection_at(flow, site, "tuple", "pair")
    flow.graph.add(site.result, made.number << 2 | reason)
    flow.graph.add(made.somewhere, pair.number << 2)
    for iterable in site.positional[:1]:
        flow.graph.link(elements_of(flow, site, iterable), field_of(flow, pair, "1"))


def zip_elements(flow: Flow, site: Site, reason: int) -> None:
    """``zip``: tuples of elements."""
    made, pair = collection_at(flow, site, "generator"), collection_at(flow, site, "tuple", "pair")
    flow.graph.add(site.result, made.number << 2 | reason)
    flow.graph.add(made.somewhere, pair.number << 2)
    for place, iterable in enumerate(site.positional):
        flow.graph.link(elements_of(flow, site, iterable), field_of(flow, pair, f"{place}"))


def take_next(flow: Flow, site: Site, reason: int) -> None:
    """``next``: an element, or the default."""
    if not site.positional:
        return

    def advance(token: int) -> None:
        found = flow.value_of(token)
        if isinstance(found, InstanceValue):
            step = (flow.graph.node(), "__next__", site.start, site.end)
            load(flow, site.frame, step, token)
            inner = within(site, kind="iteration", arguments=NO_ARGUMENTS)
            flow.graph.watch(step[0], lambda method: flow.call_value(flow, inner, method))
        else:
            iterate(flow, site.spot, site.result, token)

    flow.graph.watch(site.positional[0], advance)
    for default in site.positional[1:2]:
        flow.graph.link(default, site.result)


def make_dict(flow: Flow, site: Site, reason: int) -> None:
    """``dict``: from another mapping, from pairs, from keywords."""
    made = collection_at(flow, site, "dict")
    flow.graph.add(site.result, made.number << 2 | reason)
    for name, node in site.arguments.keywords:
        store_field(flow, made, repr(name), node)
    for source in (*site.positional[:1], *site.arguments.double_starred):
        if source >= 0:
            flow.graph.watch(source, lambda token: _fill_dict(flow, made, token))


def _fill_dict(flow: Flow, made: ContainerValue, token: int) -> None:
    other = flow.value_of(token)
    if isinstance(other, ContainerValue) and other.kind == "dict":
        spread_into(flow, made, token)
        return
    pair = flow.graph.node()
    iterate(flow, None, pair, token)
    flow.graph.watch(pair, lambda held: load_item(flow, None, (made.somewhere, "1"), held))
    flow.graph.watch(pair, lambda held: load_item(flow, None, (made.keys, "0"), held))


def make_default_dict(flow: Flow, site: Site, reason: int) -> None:
    """``defaultdict``: calls its factory for its values."""
    made = collection_at(flow, site, "dict")
    flow.graph.add(site.result, made.number << 2 | reason)
    for factory in site.positional[:1]:
        call_back(flow, site, factory, (), result=made.somewhere, reason=reason)


def reduce_elements(flow: Flow, site: Site, reason: int) -> None:
    """``functools.reduce``: calls its function with results and elements."""
    if len(site.positional) > 1:
        element = elements_of(flow, site, site.positional[1])
        for start in site.positional[2:3]:
            flow.graph.link(start, site.result)
        call_back(flow, site, site.positional[0], (site.result, element), result=site.result, reason=reason)
