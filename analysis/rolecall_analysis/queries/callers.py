"""The callers of a definition, and what it calls."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from rolecall_analysis.flow import NEARBY, CallEdge, FlowRule, Reach, callers_of
from rolecall_analysis.queries.candidates import candidates, names_of
from rolecall_analysis.queries.definitions import enclosing_definition, is_property, is_same
from rolecall_analysis.queries.edges import Edge, edge_to
from rolecall_analysis.queries.references import occurrences
from rolecall_analysis.resolution.names import Rule, holder_of, lineage, resolve, scope_definition, values_of
from rolecall_analysis.snapshot import Snapshot
from rolecall_analysis.values import Call, Definition, FileFacts


@dataclass(frozen=True, slots=True)
class CallSite:
    """A call that may reach a definition."""

    path: str
    call: Call
    """For a property, the chain of names that reads it."""
    caller: Definition | None
    """The innermost class or function around the call; None in the module itself."""
    certain: bool
    """True: the callee's binding, or its value, was followed to the definition, and it can be nothing else."""
    rule: Rule | FlowRule


@dataclass(frozen=True, slots=True)
class Callee:
    """A definition that a call may reach."""

    call: Call
    definition: Definition
    certain: bool
    rule: Rule


def callers(
    snapshot: Snapshot, definition: Definition, *, certain_only: bool = False, reach: Reach | None = NEARBY
) -> tuple[CallSite, ...]:
    """Return the calls that may reach *definition*: certain ones first, then its own file, then by path.

    A class's callers construct it; those of ``__init__`` are its class's as well; a property's read it. Names are
    followed everywhere, values in Python code as far as *reach* says; None: not at all.
    """
    sites = snapshot.answered((callers, definition, reach), lambda now: _callers(now, definition, reach))
    return tuple(site for site in sites if site.certain or not certain_only)


def _callers(snapshot: Snapshot, definition: Definition, reach: Reach | None) -> list[CallSite]:
    wanted = [definition]
    if definition.name == "__init__" and (owner := holder_of(snapshot, definition)) is not None:
        wanted.append(owner)
    sites = [site for target in wanted for site in _call_sites(snapshot, target)]
    if is_property(definition):
        sites.extend(_accesses(snapshot, definition))
    elif reach is not None and definition.kind != "variable":
        sites = _with_flow(snapshot, definition, sites, reach)
    return sorted(sites, key=lambda s: (not s.certain, s.path != definition.path, s.path, s.call.span))


def _with_flow(snapshot: Snapshot, definition: Definition, sites: list[CallSite], reach: Reach) -> Iterable[CallSite]:
    """Return *sites* and the calls found by following values; where both have a call, the more certain answer."""
    # A dictionary keeps the last of equal keys.
    surest_last = sorted(sites, key=lambda site: site.certain)
    found = {(site.path, site.call.span): site for site in surest_last}
    edges = callers_of(snapshot, snapshot.text, definition.path, definition.qualified_name, reach)
    for edge in edges:
        place = edge.caller_path, edge.span
        if place not in found:
            site = _site(snapshot, edge)
            if not _is_known_otherwise(snapshot, site, definition):
                found[place] = site
        elif edge.certain and not found[place].certain:
            found[place] = replace(found[place], certain=True, rule=edge.rule)
    return found.values()


def _is_known_otherwise(snapshot: Snapshot, site: CallSite, definition: Definition) -> bool:
    """Return whether the call at *site* certainly names something other than *definition*, or only a part of its
    construction.
    """
    call = site.call
    if definition.kind == "class" and call.name == "__init__":
        return True
    meaning = values_of(snapshot, resolve(snapshot, site.path, call.scope, call.callee))
    is_value = any(isinstance(target, Definition) and target.kind == "variable" for target in meaning.targets)
    return meaning.certain and bool(meaning.targets) and not is_value


def _site(snapshot: Snapshot, edge: CallEdge) -> CallSite:
    facts, start = snapshot.files[edge.caller_path], edge.span.start
    written = next((call for call in facts.calls if call.span == edge.span), None)
    # What an operator or a `with` calls is no call in the text.
    call = written or Call("?", edge.span, edge.caller_name)
    caller = enclosing_definition(snapshot, edge.caller_path, start)
    return CallSite(edge.caller_path, call, caller, edge.certain, edge.rule)


def callees(snapshot: Snapshot, definition: Definition, *, certain_only: bool = False) -> tuple[Callee, ...]:
    """Return the repository's definitions that the calls inside *definition* may reach, in the order of the source.

    A class stands for its ``__init__`` where the repository has one. Calls on values that are not known are left
    out: name alone would give far too many.
    """
    facts = snapshot.files.get(definition.path)
    if facts is None:
        return ()
    start, end = definition.span.start, definition.span.end
    return tuple(
        callee
        for call in facts.calls
        if start <= call.span.start and call.span.end <= end
        for callee in call_targets(snapshot, facts, call)
        if callee.certain or not certain_only
    )


def call_targets(snapshot: Snapshot, facts: FileFacts, call: Call) -> Iterable[Callee]:
    """Yield the callees that one call may reach, as `callees`."""
    meaning = values_of(snapshot, resolve(snapshot, facts.path, call.scope, call.callee))
    for target in meaning.targets:
        if not isinstance(target, Definition) or target.kind == "variable":
            continue
        initialiser = _initialiser(snapshot, target) if target.kind == "class" else None
        if initialiser is not None:
            yield Callee(call, initialiser, meaning.certain, "constructor")
        else:
            yield Callee(call, target, meaning.certain, "constructor" if target.kind == "class" else meaning.rule)


def _initialiser(snapshot: Snapshot, definition: Definition) -> Definition | None:
    """Return the ``__init__`` that constructing *definition* runs, if nothing of another package may stand
    before it.
    """
    for path, qualified_name in lineage(snapshot, (definition.path, definition.qualified_name)):
        facts = snapshot.files.get(path)
        if facts is None:
            return None
        if (found := scope_definition(facts, f"{qualified_name}.__init__")) is not None:
            return found
    return None


def _call_sites(snapshot: Snapshot, wanted: Definition) -> Iterator[CallSite]:
    names = tuple(names_of(snapshot, wanted))
    for facts in candidates(snapshot, names, wanted.path):
        for call in facts.calls:
            # The first test is quick and leaves out most; alone it would take `subtotal` for `total`.
            if call.callee.endswith(names) and call.name in names:
                edge = _edge(snapshot, facts, call, wanted)
                if edge is not None:
                    caller = enclosing_definition(snapshot, facts.path, call.span.start)
                    yield CallSite(facts.path, call, caller, edge.certain, edge.rule)


def _edge(snapshot: Snapshot, facts: FileFacts, call: Call, wanted: Definition) -> Edge | None:
    meaning = values_of(snapshot, resolve(snapshot, facts.path, call.scope, call.callee))
    is_constructed = wanted.kind == "class" and any(is_same(target, wanted) for target in meaning.targets)
    edge = edge_to(snapshot, meaning, call.callee, wanted)
    # A bare name never means a member. One whose value is unknown may mean the function of a module.
    if edge is None and not meaning.targets and "." not in call.callee and call.callee == wanted.name:
        return None if meaning.certain or holder_of(snapshot, wanted) else Edge(False, "same name")
    return Edge(edge.certain, "constructor") if edge is not None and is_constructed else edge


def _accesses(snapshot: Snapshot, definition: Definition) -> Iterator[CallSite]:
    for found in occurrences(snapshot, definition):
        if found.kind == "read":
            call = Call(found.text, found.span, found.scope)
            yield CallSite(found.path, call, found.owner, found.certain, found.rule)
