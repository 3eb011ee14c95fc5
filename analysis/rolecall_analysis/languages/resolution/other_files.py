"""The names that other files offer: their top level, what they export again, what they include, names alone."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator

from rolecall_analysis.languages.resolution.code import (
    HOLDER_KINDS,
    MAX_FOLLOWED,
    UNKNOWN,
    Found,
    NamePlace,
    OtherMeaning,
    outwards,
    with_doubt,
)
from rolecall_analysis.languages.resolution.imports import imported_files
from rolecall_analysis.languages.table import family_of
from rolecall_analysis.values import Definition, FileFacts, Import

MAX_SAME_NAME = 200
"""Definitions that only have the right name; more tell nothing."""


def exported_as(place: NamePlace, paths: Iterable[str], name: str) -> Found | None:
    """Return the binding of *name* at the top of files, through any number of re-exports; ``None`` if there is none."""
    seen: set[tuple[str, str]] = set()
    waiting = [(path, name) for path in paths]
    definitions: list[Definition] = []
    while waiting and len(seen) < MAX_FOLLOWED:
        path, wanted = waiting.pop()
        if (path, wanted) in seen:
            continue
        seen.add((path, wanted))
        facts = place.code.files.get(path)
        if facts is None:
            continue
        own = _top_level(facts, wanted)
        definitions.extend(own)
        if own:
            continue
        home = place.at(path)
        for one in (*facts.imports_by_name.get(("", wanted), ()), *facts.imports_by_name.get(("", "*"), ())):
            # In these two, an import can be an export at the same time.
            if one.scope == "" and place.family in {"javascript", "rust"}:
                onwards = imported_files(place.code.project, home.path, one).paths
                if one.name is None and one.bound_name == wanted:
                    return Found((), onwards, rule="import")
                waiting.extend((onward, wanted if one.name == "*" else one.name or wanted) for onward in onwards)
    return Found(tuple(dict.fromkeys(definitions)), rule="import") if definitions else None


def _top_level(facts: FileFacts, name: str) -> tuple[Definition, ...]:
    own = facts.definitions_by_name.get(("", name), ())
    if own or name != "default":
        return own
    marked = (one for one in facts.definitions if not one.scope and "export default" in one.signature[:40])
    # `module.exports = …` is what a default import of the older kind of module gets.
    return tuple(marked) or facts.definitions_by_name.get(("", "exports"), ())


def in_package(place: NamePlace, scope: str, head: str) -> Found | None:
    """Return a name of another file that needs no import: in Go and Java, one of the same folder."""
    if place.family in {"go", "java"}:
        folder = posixpath.dirname(place.path)
        paths = place.code.project.by_folder.get(folder, ())
        found = [one for path in paths if family_of(path) == place.family for one in top_level(place, path, head)]
        return Found(tuple(found)) if found else None
    return None


def top_level(place: NamePlace, path: str, name: str) -> tuple[Definition, ...]:
    """Return the definitions that the file *path* has as *name* at its top."""
    facts = place.code.files.get(path)
    return facts.definitions_by_name.get(("", name), ()) if facts is not None else ()


def through_stars(place: NamePlace, head: str) -> Found | None:
    """Return the binding of *head* that an include, a star import or a ``require`` brings; ``None`` if there
    is none.
    """
    if place.family in {"c", "ruby"}:
        found = [one for path in sorted(included(place)) for one in top_level(place, path, head)]
        return Found(tuple(found), rule="import") if found else None
    for (_, name), stars in place.facts.imports_by_name.items():
        for star in stars if name == "*" else ():
            outside = from_outside(star) if place.family == "rust" and is_inline(place, star.scope) else star
            files = imported_files(place.code.project, place.path, outside)
            found = exported_as(place, files.paths, head)
            if found is not None:
                return with_doubt(found, Found(certain=files.certain))
    return None


def from_outside(imported: Import) -> Import:
    """``super`` in a module that is a block of a file is the file's own module."""
    # The first `super` only leaves the block; a second one leaves the file.
    module = imported.module.replace("super", "self", 1).replace("self::super", "super", 1)
    outer = imported.scope.rpartition(".")[0]
    return Import(module, imported.name, imported.alias, 0, outer, imported.span, imported.name_span)


def is_inline(place: NamePlace, scope: str) -> bool:
    """Return whether *scope* is a module that is a block of the file."""
    holder, _, name = scope.rpartition(".")
    return any(one.kind == "module" for one in place.facts.definitions_by_name.get((holder, name), ()))


def is_seen(place: NamePlace, definition: Definition) -> bool:
    """Return whether a name of another file, qualified by its namespace, can be used here without an import."""
    if definition.kind in HOLDER_KINDS:
        return place.family != "c" or definition.kind == "module" or definition.path in included(place)
    if definition.kind != "function":
        return False
    if place.family == "c":
        return definition.path in included(place) or not definition.signature.startswith("static ")
    return place.family != "ruby" or definition.path in included(place)


def included(place: NamePlace) -> frozenset[str]:
    """Return the file and what it imports; where an import is the text of the other file, what that imports as well."""
    known = place.code.included.get(place.path)
    if known is not None:
        return known
    seen = {place.path: None}
    waiting = [place.path]
    while waiting and len(seen) < MAX_FOLLOWED:
        path = waiting.pop(0)
        for one in place.code.files[path].imports if path in place.code.files else ():
            fresh = [target for target in imported_files(place.code.project, path, one).paths if target not in seen]
            seen.update(dict.fromkeys(fresh))
            waiting.extend(fresh if place.family in {"c", "ruby"} else ())
    place.code.included[place.path] = found = frozenset(seen)
    return found


def spaces(place: NamePlace, scope: str) -> Iterator[str]:
    """Yield the namespaces whose names can be used in *scope*: those around it, and those that the file imports."""
    if place.family == "php":
        yield namespace(place, scope)
        return
    yield from (outer for outer in outwards(scope) if outer)
    if place.family == "csharp":
        yield from (one.module for one in place.facts.imports if one.name == "*")


def namespace(place: NamePlace, scope: str) -> str:
    """Return the innermost namespace around *scope*; empty without one."""
    modules = {one.qualified_name for one in place.facts.definitions if one.kind == "module"}
    return next((outer for outer in outwards(scope) if outer in modules), "")


def by_name(place: NamePlace, scope: str, name: str, *, is_member: bool) -> OtherMeaning:
    """Return every definition of that name that may be meant, in a language of the same family."""
    if not is_member and any((outer, name) in place.facts.local_names for outer in outwards(scope)):
        return UNKNOWN
    found = [
        one
        for one in place.code.named(name)
        if family_of(one.path) == place.family and (bool(one.scope) == is_member or one.kind == "function")
    ]
    mentioned = [one for one in found if one.path == place.path or _is_mentioned(place, one)]
    return OtherMeaning(tuple((mentioned or found)[:MAX_SAME_NAME]), False, "same name")


def _is_mentioned(place: NamePlace, definition: Definition) -> bool:
    holder = definition.scope.rpartition(".")[2]
    return holder in place.facts.names or (not holder and definition.path in included(place))
