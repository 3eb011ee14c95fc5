"""The calls that were found: who calls whom, how surely, and why it is thought so."""

from __future__ import annotations

from rolecall_analysis.flow.code import CallKind, FlowScope, ModuleCode
from rolecall_analysis.flow.graph import GUESSED, MAX_VALUES, MERGED, PROMISED
from rolecall_analysis.flow.rules import FlowRule
from rolecall_analysis.flow.sites import Site
from rolecall_analysis.flow.state import Flow

_RULES_BY_KIND: dict[CallKind, FlowRule] = {
    "property": "property",
    "decorator": "decorator",
    "with": "with statement",
    "iteration": "iteration",
    "raise": "raise",
    "operator": "operator",
    "callback": "passed function",
}


_RUN_UNSEEN = frozenset({"property", "operator", "callback"})
"""Kinds of calls that are not written as one: what the object or the called library makes of them decides."""


def note_call(flow: Flow, site: Site, module: ModuleCode, scope: FlowScope, reason: int) -> None:
    """Remember that *site* calls the function *scope* of *module*, as surely as *reason* says."""
    caller = site.frame
    if site.kind in _RUN_UNSEEN:
        reason = max(reason, MERGED)
    key = (caller.module.path, caller.scope.index, module.path, scope.index, site.start, site.end)
    flow.codes.setdefault(module.path, module)
    flow.called_from.setdefault(key, []).append(site)
    known = flow.edges.get(key)
    if known is None or known[0] > reason:
        flow.edges[key] = (reason, _rule(site, module, scope, reason))


def forget_vague_calls(flow: Flow) -> None:
    """Forget the calls of expressions that may be nearly anything, unless they at least call it by its name."""
    held = flow.graph.held
    for key, sites in flow.called_from.items():
        if any(site.callee < 0 or len(held[site.callee]) < MAX_VALUES for site in sites):
            continue
        path, _, callee_path, callee, start, end = key
        name = flow.codes[callee_path].scopes[callee].name
        if flow.codes[path].source[start:end].partition(b"(")[0].endswith(name.encode()):
            flow.edges[key] = (max(flow.edges[key][0], MERGED), flow.edges[key][1])
        else:
            del flow.edges[key]


def _rule(site: Site, module: ModuleCode, scope: FlowScope, reason: int) -> FlowRule:
    if reason == GUESSED:
        return "same name"
    if site.kind in _RULES_BY_KIND:
        return _RULES_BY_KIND[site.kind]
    if reason == PROMISED:
        return "type annotation"
    if reason == MERGED and site.name != _called_as(scope):
        return "container"
    return _rule_by_receiver(site, module, scope)


def _called_as(scope: FlowScope) -> str:
    return scope.parent.name if scope.name == "__init__" and scope.parent is not None else scope.name


def _rule_by_receiver(site: Site, module: ModuleCode, scope: FlowScope) -> FlowRule:
    called = _called_as(scope)
    is_here = module is site.frame.module
    if site.receiver == "super":
        return "super"
    if site.name != called:
        return "value flow"
    if site.receiver == "self":
        own = site.frame.parent
        is_own = own is not None and scope.parent is own.scope and is_here
        return "attribute of self" if is_own else "inherited"
    if site.receiver == "name":
        return "name in scope" if is_here else "import"
    return "import" if scope.parent is not None and scope.parent.kind == "module" else "value flow"
