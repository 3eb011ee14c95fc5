"""Methods of subclasses that a call on ``self``, or on what an annotation promises, may reach instead."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rolecall_analysis.flow.classes import descendants, order
from rolecall_analysis.flow.code import FlowScope, ModuleCode
from rolecall_analysis.flow.graph import PROMISED
from rolecall_analysis.flow.sites import Site
from rolecall_analysis.flow.state import EdgeKey, Flow
from rolecall_analysis.flow.values import ClassValue, FunctionValue

MAX_OVERRIDES = 32
"""Of a method that more subclasses override, the overrides say nothing about this call."""

_OPEN_RULES = frozenset({"attribute of self", "inherited", "type annotation"})

_Place = tuple[str, int]


def add_overrides(flow: Flow) -> None:
    """Add to the calls found those of overriding methods, as possible."""
    classes: dict[_Place, list[ClassValue]] = {}
    for of in flow.classes:
        classes.setdefault((of.frame.module.path, of.frame.scope.index), []).append(of)
    for key, (_, rule) in list(flow.edges.items()):
        if rule in _OPEN_RULES:
            _add_overriding(flow, classes, key, rule)
    for site in flow.sites:
        if site.receiver == "self" and site.callee >= 0 and not flow.graph.held[site.callee]:
            _add_missing(flow, classes, site)


def _add_overriding(flow: Flow, classes: dict[_Place, list[ClassValue]], key: EdgeKey, rule: str) -> None:
    path, caller, callee_path, callee, start, end = key
    method = flow.codes[callee_path].scopes[callee]
    if method.parent is None or method.parent.kind != "class" or method.name == "__init__":
        return
    owner: tuple[str, FlowScope | None] = (callee_path, method.parent)
    # What an annotation promises is of the method's class; `self` is of the class around the call.
    if rule != "type annotation":
        owner = (path, class_around(flow.codes[path].scopes[caller]))
    if owner[1] is None:
        return
    found = [
        one
        for of in classes.get((owner[0], owner[1].index), ())
        for below in descendants(of)
        for one in defined_methods(flow, below, method.name)
    ]
    _note(flow, (path, caller, start, end), found)


def _add_missing(flow: Flow, classes: dict[_Place, list[ClassValue]], site: Site) -> None:
    """A method that only subclasses have, or the classes that a mixin is mixed with."""
    module = site.frame.module
    own = class_around(site.frame.scope)
    if own is None:
        return
    found: list[tuple[ModuleCode, FlowScope]] = []
    for of in classes.get((module.path, own.index), ()):
        for below in descendants(of):
            definers = (member for member in order(below) if site.name in member.defined)
            for member in definers:
                found.extend(defined_methods(flow, member, site.name))
                break
    _note(flow, (module.path, site.frame.scope.index, site.start, site.end), found)


def class_around(scope: FlowScope) -> FlowScope | None:
    """Return the class whose method *scope* is, or lies in."""
    above = scope.parent
    while above is not None and above.kind != "class":
        above = above.parent
    return above


def defined_methods(flow: Flow, of: ClassValue, name: str) -> Iterator[tuple[ModuleCode, FlowScope]]:
    """Yield the functions that the body of a class binds to *name*."""
    if name not in of.defined:
        return
    for token in flow.graph.held[of.frame.first_node + of.frame.scope.names[name]]:
        found = flow.value_of(token)
        if isinstance(found, FunctionValue):
            yield found.module, found.scope


def _note(flow: Flow, place: tuple[str, int, int, int], found: Iterable[tuple[ModuleCode, FlowScope]]) -> None:
    path, caller, start, end = place
    targets = {(code.path, scope.index) for code, scope in found}
    if len(targets) > MAX_OVERRIDES:
        return
    for callee_path, callee in targets:
        flow.edges.setdefault((path, caller, callee_path, callee, start, end), (PROMISED, "override"))
