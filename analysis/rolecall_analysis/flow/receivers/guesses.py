"""Calls whose receiver nothing is known of: which methods of that name could be meant."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rolecall_analysis.flow.code import FlowScope, ModuleCode
from rolecall_analysis.flow.edges import note_call
from rolecall_analysis.flow.graph import GUESSED
from rolecall_analysis.flow.sites import Site
from rolecall_analysis.flow.state import Flow
from rolecall_analysis.flow.values import Frame

MAX_CANDIDATES = 3
"""A name that more classes define says too little."""

_COMMON_NAMES = frozenset(
    name for kind in (str, bytes, int, float, list, dict, set, tuple, frozenset) for name in dir(kind)
) | frozenset(
    {
        *("acquire", "cancel", "close", "connect", "debug", "done", "error", "exception", "fileno"),
        *("flush", "group", "info", "inspect", "isatty", "match", "mkdir", "open", "put"),
        *("read", "readline", "readlines", "recv", "release", "result", "resolve", "run", "save"),
        *("search", "seek", "send", "set", "start", "stat", "stop", "submit", "tell"),
        *("terminate", "warn", "warning", "write", "writelines"),
    }
)
"""Methods that built-in things and those of the standard library have: the receiver is probably one of them."""

Definers = Callable[[str], Iterable[tuple[ModuleCode, FlowScope]]]


def guess_calls(flow: Flow, definers: Definers, is_asked: Callable[[Site], bool] = lambda _site: True) -> None:
    """Note, as guesses, the methods that calls on unknown receivers may reach, of those sites that are asked for."""
    used: dict[int, frozenset[str]] | None = None
    held = flow.graph.held
    known = {(path, scope, start, end) for path, scope, _, _, start, end in flow.edges}
    for site in flow.sites:
        if (site.frame.module.path, site.frame.scope.index, site.start, site.end) in known:
            continue
        if held[site.receiver_node] or (site.callee >= 0 and held[site.callee]) or not is_asked(site):
            continue
        # Only once a call is left to guess: it looks at every step that was read.
        used = _names_used(flow) if used is None else used
        names = used.get(site.receiver_node, frozenset())
        for code, scope in candidates(site, names, definers):
            note_call(flow, site, code, scope, GUESSED)


def candidates(site: Site, names: frozenset[str], definers: Definers) -> list[tuple[ModuleCode, FlowScope]]:
    """Return the methods that *site* may call, if the code uses everything in *names* of its receiver."""
    if site.name.startswith("__") or names <= _COMMON_NAMES:
        return []
    found = [(code, scope) for code, scope in definers(site.name) if fits(scope, site) and _has_members(scope, names)]
    return found if len(found) <= MAX_CANDIDATES else []


def _names_used(flow: Flow) -> dict[int, frozenset[str]]:
    """Return the attributes that are read from each variable of which nothing is known."""
    found: dict[int, set[str]] = {}
    for frame in flow.frames:
        _add_names_used(flow, frame, found)
    return {node: frozenset(names) for node, names in found.items()}


def _add_names_used(flow: Flow, frame: Frame, found: dict[int, set[str]]) -> None:
    base, held = frame.first_node, flow.graph.held
    for block in frame.scope.blocks:
        for _result, owner, name, _start, _end in block.loads:
            if not held[base + owner]:
                found.setdefault(base + owner, set()).add(name)


def fits(scope: FlowScope, site: Site) -> bool:
    """Return whether a method accepts as many arguments as *site* gives, and these keywords."""
    positional = [p for p in scope.parameters if p.kind in ("positional", "positional only")]
    if not scope.is_static:
        positional = positional[1:]
    has_rest = any(p.kind == "rest" for p in scope.parameters)
    has_keywords = any(p.kind == "keywords" for p in scope.parameters)
    names = {p.name for p in scope.parameters}
    if not has_rest and len(site.positional) > len(positional):
        return False
    if not has_keywords and any(name not in names for name, _ in site.arguments.keywords):
        return False
    if site.arguments.starred or site.arguments.double_starred:
        return True
    given = {name for name, _ in site.arguments.keywords}
    return all(p.has_default or p.name in given for p in positional[len(site.positional) :])


def _has_members(scope: FlowScope, names: frozenset[str]) -> bool:
    """Return whether the class of a method may have all of *names*; what the class inherits is not known here."""
    of = scope.parent
    if of is None or of.kind != "class":
        return False
    missing = names - of.bound - of.self_stores
    # A base may have what is missing, but some name must be the class's own.
    return not missing or (of.has_bases and len(missing) < len(names))
