"""The parts that the rules of the library share: arguments by place or name, elements, functions called back."""

from __future__ import annotations

from collections.abc import Callable

from rolecall_analysis.flow.code import Arguments
from rolecall_analysis.flow.graph import weakened
from rolecall_analysis.flow.items import iterate
from rolecall_analysis.flow.sites import Site, within
from rolecall_analysis.flow.state import (
    Flow,
    container,
)
from rolecall_analysis.flow.values import (
    ContainerValue,
)

Rule = Callable[[Flow, Site, int], None]
"""The effect of a call of something from outside, as sure as the call itself."""


def argument_of(site: Site, place: int, *names: str) -> int:
    """Return the node of an argument, by place or by one of *names*; -1 if it is not passed."""
    if place < len(site.positional):
        return site.positional[place]
    return next((node for name, node in site.arguments.keywords if name in names), -1)


def elements_of(flow: Flow, site: Site, iterable: int) -> int:
    """Return the node of the elements of the iterable at the node *iterable*."""
    element = flow.graph.node()
    if iterable >= 0:
        flow.graph.watch(iterable, lambda token: iterate(flow, site.spot, element, token))
    return element


def collection_at(flow: Flow, site: Site, kind: str, part: str = "") -> ContainerValue:
    """Return the container that the call *site* makes; *part* tells apart those of one call."""
    return container(flow, ("made", site.frame.first_node, site.start, site.end, kind, part), kind)


def call_back(flow: Flow, site: Site, function: int, arguments: tuple[int, ...], *, result: int, reason: int) -> None:
    """Call the function at the node *function* with *arguments*, on behalf of *site*."""
    if function < 0 or site.n_derived > 3:
        return
    inner = within(site, kind="callback", arguments=Arguments(arguments), result=result)
    flow.graph.watch(function, lambda token: flow.call_value(flow, inner, weakened(token, reason)))
