"""The things that a module offers under a name: its own definitions, what it imports again, its submodules."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass

from rolecall_analysis.modules import exists, find_module, find_sibling, join_location
from rolecall_analysis.resolution.foreign import foreign_meaning, is_foreign
from rolecall_analysis.snapshot import Snapshot
from rolecall_analysis.values import Definition, FileFacts, Import, Position

END = Position(sys.maxsize, 0)
"""After everything in any file."""


@dataclass(frozen=True, slots=True)
class Module:
    """A module, package or namespace package of the repository."""

    location: str
    """Its path without the suffix."""


Target = Definition | Module


def import_targets(snapshot: Snapshot, path: str, imported: Import) -> tuple[Target, ...]:
    """Return the targets of an import statement's name; for a star or a plain import, the module."""
    if is_foreign(path):
        found = foreign_meaning(snapshot, path, imported.scope, imported.bound_name)
        return found.definitions if imported.name is not None and found.certain else ()
    location = find_module(snapshot.modules, path, imported.module, imported.level)
    if location is None:
        return ()
    if imported.name is None or imported.is_star:
        return (Module(location),)
    return module_members(snapshot, [(location, imported.name)])


def sibling_targets(snapshot: Snapshot, path: str, imported: Import) -> tuple[Target, ...]:
    """Return the targets of an absolute import inside a package if the file is run as a script, and in no other way."""
    if is_foreign(path) or imported.level or imported.is_star:
        return ()
    name = imported.module if imported.name is not None or imported.alias else imported.bound_name
    location = find_sibling(snapshot.modules, path, name)
    if location is None:
        return ()
    return (Module(location),) if imported.name is None else module_members(snapshot, [(location, imported.name)])


def module_members(snapshot: Snapshot, wanted: Iterable[tuple[str, str]]) -> tuple[Target, ...]:
    """Return the targets to which (location, name) pairs lead, through any number of re-exports."""
    found: list[Target] = []
    waiting = list(wanted)
    seen: set[tuple[str, str]] = set()
    # A loop, no recursion: modules export names again in chains of thousands, and in circles.
    while waiting:
        pair = waiting.pop()
        if pair in seen:
            continue
        seen.add(pair)
        targets, onwards = _one_module_member(snapshot, *pair)
        found.extend(targets)
        waiting.extend(onwards)
    return tuple(dict.fromkeys(found)) if len(found) > 1 else tuple(found)


def _one_module_member(snapshot: Snapshot, location: str, name: str) -> tuple[list[Target], list[tuple[str, str]]]:
    """Return the targets to which the module itself binds *name*, and the (location, name) pairs to which its imports
    point.
    """
    targets: list[Target] = []
    onwards: list[tuple[str, str]] = []
    facts = snapshot.files.get(snapshot.modules.files.get(location, ""))
    if facts is not None:
        definitions = facts.definitions_by_name.get(("", name), ())
        imports = facts.imports_by_name.get(("", name), ())
        if definitions and imports:
            definitions, imports = in_force(definitions, imports)
        targets.extend(definitions)
        for imported in imports:
            if imported.name is None:
                targets.extend(imported_module(snapshot, facts, imported))
            elif source := find_module(snapshot.modules, facts.path, imported.module, imported.level):
                onwards.append((source, imported.name))
        # The name is bound: here, by an import that leads on, or by one that leaves the repository. Only a name
        # that is not can come by a star, or be a submodule.
        if targets or any(pair != (location, name) for pair in onwards) or len(imports) > len(onwards):
            return targets, onwards
        sources = (source for source in star_sources(snapshot, facts) if source is not None)
        onwards.extend((source, name) for source in sources if offers(snapshot, source, name))
    # Nothing but, perhaps, `from . import name` binds it: then it is a submodule.
    submodule = join_location(location, name)
    return [Module(submodule)] if exists(snapshot.modules, submodule) else [], onwards


def imported_module(snapshot: Snapshot, facts: FileFacts, imported: Import) -> tuple[Target, ...]:
    """Return the module that ``import a.b`` binds: ``a``, or ``a.b`` if it has an alias."""
    name = imported.module if imported.alias else imported.bound_name
    location = find_module(snapshot.modules, facts.path, name)
    return () if location is None else (Module(location),)


def star_sources(snapshot: Snapshot, facts: FileFacts, scope: str = "") -> list[str | None]:
    """Return the locations of the modules whose every name *scope* imports; None for those outside the repository."""
    return [
        find_module(snapshot.modules, facts.path, imported.module, imported.level)
        for imported in facts.imports_by_name.get((scope, "*"), ())
    ]


def offers(snapshot: Snapshot, location: str, name: str) -> bool:
    """Return whether a star import of the module takes *name*, if it is there: it is in ``__all__``, or has no
    underscore.
    """
    facts = snapshot.files.get(snapshot.modules.files.get(location, ""))
    if facts is None or facts.exported is None:
        return not name.startswith("_")
    # An entry such as `price.__all__` stands for names that are not known here.
    return name in facts.exported or any("." in entry for entry in facts.exported)


def in_force(
    definitions: tuple[Definition, ...], imports: tuple[Import, ...], before: Position = END
) -> tuple[tuple[Definition, ...], tuple[Import, ...]]:
    """Return the bindings of a module's name that hold at a place, without those that a later unindented statement
    replaced.
    """
    definitions = tuple(d for d in definitions if d.span.start < before)
    imports = tuple(i for i in imports if i.span.start < before)
    made = [d.span.start for d in definitions if d.kind != "variable" and not d.span.start.column]
    taken = [i.span.start for i in imports if not i.span.start.column]
    if made and (not taken or made[-1] > taken[-1]):
        return definitions, tuple(i for i in imports if i.span.start > made[-1])
    if taken:
        return tuple(d for d in definitions if d.span.start > taken[-1]), imports
    return definitions, imports
