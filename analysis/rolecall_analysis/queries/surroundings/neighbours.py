"""One step from a place in the graph: who calls it, what it calls, who imports it, what it imports."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rolecall_analysis.flow import NEARBY
from rolecall_analysis.queries.callers import call_targets, callees, callers
from rolecall_analysis.queries.definitions import enclosing_definition, find_definition
from rolecall_analysis.queries.importers import imported_locations
from rolecall_analysis.resolution.foreign import foreign_imports, is_foreign
from rolecall_analysis.snapshot import Snapshot
from rolecall_analysis.values import Definition

MAX_SAME_NAME = 25
"""A name that is called in more places than this on values that are not known says nothing about who calls it."""

GraphPlace = tuple[str, str]
"""A path, and the qualified name of a definition in it; empty for the module itself."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A place that is one step away."""

    place: GraphPlace
    certain: bool
    rule: str
    vague: bool = False
    """Found by nothing but a name that is called in too many places: it is counted and not drawn."""


def calling(snapshot: Snapshot, place: GraphPlace, *, follows_values: bool) -> Iterator[Neighbour]:
    """Yield who calls the definition at *place*; nobody calls a module.

    Values are followed where *follows_values* says so, which takes about ten times as long as names alone.
    """
    definition = find_definition(snapshot, *place) if place[1] else None
    if definition is None:
        return
    sites = callers(snapshot, definition, reach=NEARBY if follows_values else None)
    is_common = sum(site.rule == "same name" for site in sites) > MAX_SAME_NAME
    for site in sites:
        vague = is_common and site.rule == "same name"
        yield Neighbour(_place_of(site.path, site.caller), site.certain, site.rule, vague)


def called(snapshot: Snapshot, place: GraphPlace) -> Iterator[Neighbour]:
    """Yield what the definition at *place* calls; for a module, what runs when it is imported."""
    path, name = place
    facts = snapshot.files.get(path)
    if facts is None:
        return
    if name:
        definition = find_definition(snapshot, path, name)
        found = callees(snapshot, definition) if definition is not None else ()
    else:
        outer = (call for call in facts.calls if enclosing_definition(snapshot, path, call.span.start) is None)
        found = (callee for call in outer for callee in call_targets(snapshot, facts, call))
    for callee in found:
        yield Neighbour(_place_of(callee.definition.path, callee.definition), callee.certain, callee.rule)


def importing(snapshot: Snapshot, place: GraphPlace) -> Iterator[Neighbour]:
    """Yield the modules with an import statement that names the module at *place*."""
    return (
        Neighbour((path, ""), True, "import") for path in snapshot.derived(_importers, _importers).get(place[0], ())
    )


def imported(snapshot: Snapshot, place: GraphPlace) -> Iterator[Neighbour]:
    """Yield the modules that the module at *place* names in import statements."""
    return (Neighbour((path, ""), True, "import") for path in snapshot.derived(_imports, _imports).get(place[0], ()))


def _imports(snapshot: Snapshot) -> Mapping[str, tuple[str, ...]]:
    """Return the files that each file imports."""
    return {path: tuple(dict.fromkeys(_imported_by(snapshot, path))) for path in sorted(snapshot.files)}


def _imported_by(snapshot: Snapshot, path: str) -> Iterator[str]:
    files = snapshot.modules.files
    for statement in snapshot.files[path].imports:
        if is_foreign(path):
            found = foreign_imports(snapshot, path, statement)
        else:
            locations = imported_locations(snapshot, path, statement)
            found = [files[location] for location in locations if location in files]
        yield from (target for target in found if target != path)


def _importers(snapshot: Snapshot) -> Mapping[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for path, targets in snapshot.derived(_imports, _imports).items():
        for target in targets:
            found[target].append(path)
    return found


def _place_of(path: str, definition: Definition | None) -> GraphPlace:
    return path, definition.qualified_name if definition is not None else ""
