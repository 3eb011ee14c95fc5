"""Classes above and below a class, and the members they override."""

from __future__ import annotations

from collections.abc import Iterator

from rolecall_analysis.queries.candidates import candidates, names_of
from rolecall_analysis.queries.definitions import find_definition
from rolecall_analysis.queries.edges import is_member, is_overridden
from rolecall_analysis.resolution.names import ClassKey, bases_of, direct_bases, holder_of, scope_definition
from rolecall_analysis.snapshot import Snapshot
from rolecall_analysis.values import Definition


def supertypes(snapshot: Snapshot, definition: Definition) -> tuple[Definition, ...]:
    """Return the repository's classes that the class *definition* names as its bases, in the order of the source."""
    found = (_class(snapshot, key) for key in direct_bases(snapshot, _key(definition)))
    return tuple(base for base in found if base is not None)


def subtypes(snapshot: Snapshot, definition: Definition) -> tuple[Definition, ...]:
    """Return the repository's classes that name the class *definition* as a base, by path and place."""
    wanted = _key(definition)
    names = tuple(names_of(snapshot, definition))
    return tuple(
        found
        for facts in candidates(snapshot, names, definition.path)
        for found in facts.definitions
        if found.kind == "class"
        and any(base.endswith(names) for base in found.bases)
        and wanted in direct_bases(snapshot, _key(found))
        and _key(found) != wanted
    )


def all_subtypes(snapshot: Snapshot, definition: Definition) -> Iterator[Definition]:
    """Yield the repository's classes that inherit from *definition*, nearest first."""
    waiting, seen = [definition], {_key(definition)}
    for current in waiting:
        for found in subtypes(snapshot, current):
            if _key(found) not in seen:
                seen.add(_key(found))
                waiting.append(found)
                yield found


def overridden(snapshot: Snapshot, definition: Definition) -> tuple[Definition, ...]:
    """Return the members of base classes that *definition* overrides, in the order in which they are looked up."""
    owner = holder_of(snapshot, definition)
    if owner is None or owner.kind != "class":
        return ()
    members = (
        find_definition(snapshot, base.path, f"{base.qualified_name}.{definition.name}")
        for base in bases_of(snapshot, owner)
    )
    return tuple(found for found in members if found is not None)


def overrides(snapshot: Snapshot, definition: Definition) -> tuple[Definition, ...]:
    """Return the members of subclasses that override *definition*, by path and place."""
    if not is_member(snapshot, definition):
        return ()
    return tuple(
        found
        for facts in candidates(snapshot, (definition.name,), definition.path)
        for found in facts.definitions
        if found.name == definition.name and is_overridden(snapshot, definition, found)
    )


def _key(definition: Definition) -> ClassKey:
    return definition.path, definition.qualified_name


def _class(snapshot: Snapshot, key: ClassKey) -> Definition | None:
    facts = snapshot.files.get(key[0])
    return scope_definition(facts, key[1]) if facts is not None else None
