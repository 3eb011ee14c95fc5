"""``append``, ``items`` and the other methods of built-in containers."""

from __future__ import annotations

from collections.abc import Callable

from rolecall_analysis.flow.graph import MERGED
from rolecall_analysis.flow.items import field_of, spread_into, store_field
from rolecall_analysis.flow.library.callbacks import argument_of, call_back, collection_at
from rolecall_analysis.flow.sites import Site
from rolecall_analysis.flow.state import Flow, something_outside
from rolecall_analysis.flow.values import ContainerValue, MethodOfContainer

_Rule = Callable[[Flow, Site, ContainerValue, int], None]


def call_container_method(flow: Flow, site: Site, called: MethodOfContainer, reason: int) -> None:
    """Call ``append``, ``items`` or another method of a built-in container."""
    rule = _RULES.get(called.name)
    if rule is not None:
        rule(flow, site, called.container, reason)
    else:
        flow.graph.add(site.result, something_outside(flow) | reason)


def _adds(place: int) -> _Rule:
    def add(flow: Flow, site: Site, owner: ContainerValue, reason: int) -> None:
        for argument in site.positional[place:][:1]:
            flow.graph.link_because(argument, owner.somewhere, reason)

    return add


def _extend(flow: Flow, site: Site, owner: ContainerValue, _reason: int) -> None:
    for argument in site.positional:
        flow.graph.watch(argument, lambda token: spread_into(flow, owner, token))
    for keyword, node in site.arguments.keywords:
        store_field(flow, owner, repr(keyword), node)


def _unite(flow: Flow, site: Site, owner: ContainerValue, reason: int) -> None:
    _extend(flow, site, owner, reason)
    _itself(flow, site, owner, reason)


# The result is taken for the container itself: what it holds counts, not that it is another one.
def _itself(flow: Flow, site: Site, owner: ContainerValue, reason: int) -> None:
    flow.graph.add(site.result, owner.number << 2 | reason)


def _take(flow: Flow, site: Site, owner: ContainerValue, reason: int) -> None:
    """An element, by its key if that is a literal, or the default."""
    graph = flow.graph
    if owner.kind != "dict":
        graph.link_because(owner.every, site.result, reason)
        return
    text = site.arguments.texts[0] if site.arguments.texts else None
    if text is None:
        graph.link_because(owner.every, site.result, max(reason, MERGED))
    else:
        graph.link_because(field_of(flow, owner, repr(text)), site.result, reason)
        graph.link_because(owner.somewhere, site.result, reason)
    for default in site.positional[1:2]:
        graph.link_because(default, site.result, max(reason, MERGED))


def _set_default(flow: Flow, site: Site, owner: ContainerValue, reason: int) -> None:
    text = site.arguments.texts[0] if site.arguments.texts else None
    for default in site.positional[1:2]:
        store_field(flow, owner, None if text is None else repr(text), default, reason)
    _take(flow, site, owner, reason)


def _values(flow: Flow, site: Site, owner: ContainerValue, reason: int) -> None:
    made = collection_at(flow, site, "generator", f"values {owner.number}")
    flow.graph.link(owner.every, made.somewhere)
    flow.graph.add(site.result, made.number << 2 | reason)


def _keys(flow: Flow, site: Site, owner: ContainerValue, reason: int) -> None:
    made = collection_at(flow, site, "generator", f"keys {owner.number}")
    flow.graph.link(owner.keys, made.somewhere)
    flow.graph.add(site.result, made.number << 2 | reason)


def _items(flow: Flow, site: Site, owner: ContainerValue, reason: int) -> None:
    made = collection_at(flow, site, "generator", f"items {owner.number}")
    flow.graph.add(made.somewhere, _pair(flow, site, owner).number << 2)
    flow.graph.add(site.result, made.number << 2 | reason)


def _pop_item(flow: Flow, site: Site, owner: ContainerValue, reason: int) -> None:
    flow.graph.add(site.result, _pair(flow, site, owner).number << 2 | reason)


def _pair(flow: Flow, site: Site, owner: ContainerValue) -> ContainerValue:
    pair = collection_at(flow, site, "tuple", f"pair {owner.number}")
    flow.graph.link(owner.keys, field_of(flow, pair, "0"))
    flow.graph.link(owner.every, field_of(flow, pair, "1"))
    return pair


def _sort(flow: Flow, site: Site, owner: ContainerValue, reason: int) -> None:
    # By its name alone: at that place there is no argument.
    key = argument_of(site, len(site.positional), "key")
    call_back(flow, site, key, (owner.every,), result=flow.graph.node(), reason=reason)


def _next(flow: Flow, site: Site, owner: ContainerValue, reason: int) -> None:
    flow.graph.link_because(owner.every, site.result, reason)


_RULES: dict[str, _Rule] = {
    "append": _adds(0),
    "add": _adds(0),
    "appendleft": _adds(0),
    "insert": _adds(1),
    "extend": _extend,
    "extendleft": _extend,
    "update": _extend,
    "union": _unite,
    "copy": _itself,
    "difference": _itself,
    "intersection": _itself,
    "__iter__": _itself,
    "__next__": _next,
    "get": _take,
    "pop": _take,
    "popleft": _take,
    "setdefault": _set_default,
    "__getitem__": _take,
    "values": _values,
    "keys": _keys,
    "items": _items,
    "popitem": _pop_item,
    "sort": _sort,
}
