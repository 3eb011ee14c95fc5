"""The certain ones of the calls found: those where nothing else could have been called at their place."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from rolecall_analysis.flow.classes import (
    class_lookup,
    defines,
    instance_lookup,
    order,
    super_lookup,
)
from rolecall_analysis.flow.code import RETURNED, YIELDED, FlowScope, ModuleCode
from rolecall_analysis.flow.graph import MERGED, SURE
from rolecall_analysis.flow.sites import Site
from rolecall_analysis.flow.state import Flow, is_literal
from rolecall_analysis.flow.values import (
    BoundValue,
    ClassValue,
    FunctionValue,
    InstanceValue,
    Lookup,
    PropertyValue,
    TextValue,
    Value,
)

_WRITTEN = frozenset({"call", "decorator", "raise"})
"""Kinds of calls of which a text or a number cannot be the thing called."""


_PLAIN_BASES = frozenset({"builtins.object", "abc.ABC", "typing.Generic", "typing.Protocol"})
"""Bases of the standard library that add no member anybody calls."""

_DYNAMIC = ("__getattr__", "__getattribute__")

Place = tuple[str, int, int, int, str, str]
"""(path, scope, first byte, last byte, kind of call, name)"""


def doubt_choices(flow: Flow) -> None:
    """Let calls be possible where more than one thing could be called, by what is known in the end.

    A method called on ``self`` is what the class says in which the call is written: overriding ones are possible.
    """
    choices, passed = _choices_by_place(flow), passed_to(flow)
    for key, (reason, rule) in list(flow.edges.items()):
        if reason != SURE:
            continue
        target = _identity_of(flow.codes[key[2]], flow.codes[key[2]].scopes[key[3]])
        sites = flow.called_from.get(key, ())
        # One frame that is sure is enough: each caller counts by itself, whatever others pass.
        if any(
            _is_only_choice(flow, site, choices)
            or _is_own(flow, site, target)
            or _is_passed_alone(flow, site, target, passed)
            for site in sites
        ):
            continue
        is_open = any(site.receiver in ("self", "super") for site in sites)
        flow.edges[key] = (MERGED, "override" if is_open else rule)


def doubt_parameters(flow: Flow) -> None:
    """Let calls be possible that depend on what a parameter is which others may fill.

    That is each, where not everything is read; else those that nobody was seen to pass anything to.
    """
    passed = _nodes_passed(flow)
    for key, (reason, rule) in list(flow.edges.items()):
        sites = flow.called_from.get(key, ()) if reason == SURE else ()
        if sites and all(not passed.isdisjoint((site.receiver_node, *site.decided_by)) for site in sites):
            flow.edges[key] = (MERGED, rule)


def _nodes_passed(flow: Flow) -> set[int]:
    """Return the nodes that hold what parameters hold, but for ``self`` and ``cls``.

    What a call returns that has a frame of its own is made of what this call passes: there nobody else can.
    """
    ends = {frame.first_node + end for frame in flow.frames if frame.n_copied for end in (RETURNED, YIELDED)}
    waiting = [
        frame.first_node + parameter.variable
        for frame in flow.frames
        for place, parameter in enumerate(frame.scope.parameters)
        if (place or not _is_method(frame.scope))
        and not (flow.is_whole and flow.graph.held[frame.first_node + parameter.variable])
    ]
    found: set[int] = set()
    while waiting:
        node = waiting.pop()
        if node not in found and node not in ends:
            found.add(node)
            waiting.extend(flow.graph.links[node])
    return found


def _is_method(scope: FlowScope) -> bool:
    return scope.parent is not None and scope.parent.kind == "class" and not scope.is_static


def _choices_by_place(flow: Flow) -> dict[Place, set[Hashable]]:
    """Return the things that could be called at each place, whatever the call that its function runs for."""
    found: dict[Place, set[Hashable]] = {}
    for sites in flow.called_from.values():
        for site in sites:
            # The first holds what is called. Further ones, of a partial or a `__call__`, are asked one by one later.
            for node in site.decided_by[:1]:
                known = found.setdefault(_place(site), set())
                known |= choices_at(flow, node, site)
                known |= set(_unseen(flow, site))
    return found


def _unseen(flow: Flow, site: Site) -> Iterable[Hashable]:
    """Yield the classes of receivers that may have the attribute although no code that was read gives it to them."""
    if site.n_derived or site.receiver_node < 0:
        return
    for token in flow.graph.held[site.receiver_node]:
        found = flow.value_of(token)
        if token & 3 <= MERGED and isinstance(found, InstanceValue) and _may_have_unseen(found.of, site.name):
            yield "unseen", found.of.number


def _may_have_unseen(of: ClassValue, name: str) -> bool:
    """Return whether an instance may have *name* from a base of another package, or compute it itself."""
    members = order(of)
    definer = next((one for one in members if name in one.defined or name in one.frame.scope.self_stores), None)
    if definer is not None:
        return any(_is_behind(definer, member) for member in members[: members.index(definer)])
    return any(member.outside_bases.keys() - _PLAIN_BASES for member in members) or any(
        defines(of, maker) for maker in _DYNAMIC
    )


def _is_behind(definer: ClassValue, of: ClassValue) -> bool:
    """Return whether a base of another package goes before *definer* among the bases of a class."""
    places = [place for place, bases in enumerate(of.bases) if any(definer in order(base) for base in bases)]
    outside = [place for name, place in of.outside_bases.items() if name not in _PLAIN_BASES]
    return bool(places) and any(place < places[0] for place in outside)


def _place(site: Site) -> Place:
    frame = site.frame
    return frame.module.path, frame.scope.index, site.start, site.end, site.kind, site.name


def _is_only_choice(flow: Flow, site: Site, choices: dict[Place, set[Hashable]]) -> bool:
    is_one = len(choices.get(_place(site), ())) <= 1
    return is_one and all(len(choices_at(flow, node, site)) <= 1 for node in site.decided_by[1:])


def _is_passed_alone(flow: Flow, site: Site, target: Hashable, passed: Passed) -> bool:
    """Return whether the call is of a parameter, or of its method, for which some caller passes *target* and nothing
    else.
    """
    if site.n_derived or site.kind not in _WRITTEN:
        return False
    if site.receiver_node >= 0:
        return any(_is_method_of(flow, node, site, target) for node in passed.origins(site.receiver_node))
    return any(
        choices_at(flow, node, site) == {target} and any(token & 3 == SURE for token in flow.graph.held[node])
        for node in passed.origins(site.callee)
    )


def _is_method_of(flow: Flow, node: int, site: Site, target: Hashable) -> bool:
    """Return whether *node* holds instances of one class, and their method of the name that *site* calls is
    *target*.
    """
    held = [(token, flow.value_of(token)) for token in flow.graph.held[node]]
    if len(held) != 1:
        return False
    token, found = held[0]
    if token & 3 != SURE or not isinstance(found, InstanceValue) or _may_have_unseen(found.of, site.name):
        return False
    return choices_at(flow, instance_lookup(flow, found.of, site.name).node, site) == {target}


def _is_own(flow: Flow, site: Site, target: Hashable) -> bool:
    own = _own_lookup(flow, site)
    if own is None or choices_at(flow, own.node, site) != {target}:
        return False
    return site.receiver == "super" or not _may_have_unseen(own.of, site.name)


def choices_at(flow: Flow, node: int, site: Site) -> set[Hashable]:
    """Return the things that the values of *node* would have *site* call, each known by something of its own."""
    return set(_choices(flow, node, site))


def _choices(flow: Flow, node: int, site: Site) -> Iterable[Hashable]:
    for token in flow.graph.held[node]:
        found = flow.value_of(token)
        # What is only promised or guessed does not stand against what was followed.
        if token & 3 > MERGED or isinstance(found, PropertyValue):
            continue
        if site.kind in _WRITTEN and (isinstance(found, TextValue) or is_literal(found)):
            continue
        yield _identity(found, site)


def _identity(found: Value, site: Site) -> Hashable:
    if isinstance(found, BoundValue):
        return _identity_of(found.function.module, found.function.scope)
    if isinstance(found, FunctionValue):
        return _identity_of(found.module, found.scope)
    if isinstance(found, ClassValue):
        # Classes that share an `__init__` have the same function called.
        return _definer(found, "__init__") if site.kind in _WRITTEN else found.number
    if isinstance(found, InstanceValue):
        return _definer(found.of, "__call__" if site.kind in _WRITTEN else site.name)
    return found.number


def _identity_of(code: ModuleCode, scope: FlowScope) -> Hashable:
    return code.path, scope.qualified_name


def _definer(of: ClassValue, name: str) -> Hashable:
    """Return the number of the class in the order of *of* that defines the method *name*; that of *of* itself where
    none does.
    """
    return next((member.number for member in order(of) if name in member.defined), of.number)


def _own_lookup(flow: Flow, site: Site) -> Lookup | None:
    """Return the lookup of ``self.name`` or ``super().name`` at *site*, by the class around it; ``None`` for any other
    receiver.
    """
    method = site.frame.parent
    own = method.class_value if method is not None else None
    if own is None or site.receiver not in ("self", "super"):
        return None
    is_class = site.frame.scope.is_class_method
    if site.receiver == "super":
        return super_lookup(flow, own, own, site.name, is_class=is_class)
    lookup = class_lookup if is_class else instance_lookup
    return lookup(flow, own, site.name)


MAX_SOURCES = 2_000
"""So many places are looked at for one parameter; what more of them pass counts together."""


@dataclass(frozen=True, slots=True)
class Passed:
    """The places where the values of parameters come from."""

    sources: Mapping[int, list[int]]
    """The nodes outside of its own frame that are linked to the node of each parameter, defaults excepted."""

    def origins(self, node: int) -> Iterator[int]:
        """Yield the nodes of what callers pass to the parameter at *node*, directly or through their own parameters."""
        waiting, seen = list(self.sources.get(node, ())), {node}
        while waiting and len(seen) < MAX_SOURCES:
            source = waiting.pop()
            if source in seen:
                continue
            seen.add(source)
            if source in self.sources:
                waiting.extend(self.sources[source])
            else:
                yield source


def passed_to(flow: Flow) -> Passed:
    """Return the sources of what is passed to the parameters of all frames, but for ``self`` and ``cls``."""
    parameters = dict(_parameter_nodes(flow))
    defaults = {node for value in flow.values if isinstance(value, FunctionValue) for _, node in value.defaults}
    sources: dict[int, list[int]] = {}
    for source, targets in enumerate(flow.graph.links):
        if targets and source not in defaults:
            for target in targets:
                if target in parameters and source not in parameters[target]:
                    sources.setdefault(target, []).append(source)
    return Passed(sources)


def _parameter_nodes(flow: Flow) -> Iterator[tuple[int, range]]:
    """Yield the node of each parameter, and the nodes of its frame; what these hold is assigned to it, not passed to
    it.
    """
    for frame in flow.frames:
        own = range(frame.first_node, frame.first_node + frame.scope.n_variables)
        is_method = frame.scope.parent is not None and frame.scope.parent.kind == "class" and not frame.scope.is_static
        # True counts as 1: `self` or `cls` is left out.
        for parameter in frame.scope.parameters[is_method:]:
            yield frame.first_node + parameter.variable, own
