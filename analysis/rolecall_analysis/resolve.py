"""What a name means: from a scope outwards, through imports, classes and their bases.

Every answer has three shapes. Some targets: the binding was followed there. None of them, ``()``: the name is
bound elsewhere (another package, a builtin). ``None``: its value is not known (a parameter, the result of a call).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rolecall_analysis.modules import exists, find_module, join_location
from rolecall_analysis.snapshot import Snapshot
from rolecall_analysis.values import Definition, FileFacts, Import


@dataclass(frozen=True, slots=True)
class Module:
    """A module, package or namespace package of the repository."""

    location: str
    """Its path without the suffix."""


OWN_NAMES = frozenset({"self", "cls", "super()"})
"""What a method calls its own class, or an instance of it."""

Target = Definition | Module
Targets = tuple[Target, ...]


def resolve(snapshot: Snapshot, path: str, scope: str, dotted_name: str) -> Targets | None:
    """What *dotted_name* means in *scope* of the file *path*."""
    *_, last = resolve_steps(snapshot, path, scope, dotted_name)
    return last


def resolve_steps(snapshot: Snapshot, path: str, scope: str, dotted_name: str) -> Iterator[Targets | None]:
    """What the first part of *dotted_name* means, then the first two, and so on while they lead somewhere.

    The last answer is the one for the whole name.
    """
    head, *rest = dotted_name.split(".")
    found = _resolve_head(snapshot, path, scope, head)
    yield found
    for name in rest:
        if not found:
            return
        found = _members(snapshot, found, name)
        yield found


def import_targets(snapshot: Snapshot, path: str, imported: Import) -> Targets:
    """What an import statement's name stands for; for a star or a plain import, the module."""
    location = find_module(snapshot.modules, path, imported.module, imported.level)
    if location is None:
        return ()
    if imported.name is None or imported.is_star:
        return (Module(location),)
    return _module_members(snapshot, [(location, imported.name)])


def class_of(snapshot: Snapshot, path: str, scope: str) -> Definition | None:
    """The class whose method *scope* is, or is nested in."""
    facts = snapshot.files[path]
    for outer in _outwards(scope):
        definition = scope_definition(facts, outer)
        if definition is not None and definition.kind == "method":
            return scope_definition(facts, definition.scope)
    return None


def scope_definition(facts: FileFacts, scope: str) -> Definition | None:
    """The class or function whose body is *scope*."""
    outer, _, name = scope.rpartition(".")
    found = facts.definitions_by_name.get((outer, name), ())
    return next((definition for definition in found if definition.kind != "variable"), None)


def bases_of(snapshot: Snapshot, definition: Definition) -> Iterator[Definition]:
    """The classes of the repository that *definition* inherits from, nearest first."""
    waiting, seen = [definition], {definition}
    while waiting:
        current = waiting.pop(0)
        for base in current.bases:
            for target in resolve_own(snapshot, current.path, current.scope, base) or ():
                if isinstance(target, Definition) and target.kind == "class" and target not in seen:
                    seen.add(target)
                    waiting.append(target)
                    yield target


def resolve_own(snapshot: Snapshot, path: str, scope: str, dotted_name: str) -> Targets | None:
    """As `resolve`, but a class has only the members of its own body: what the search for bases can rely on."""
    head, *rest = dotted_name.split(".")
    found = _resolve_name(snapshot, path, scope, head)
    for name in rest:
        if not found:
            return found
        found = _united(_own_members(snapshot, target, name) for target in found)
    return found


def _resolve_head(snapshot: Snapshot, path: str, scope: str, head: str) -> Targets | None:
    if head in OWN_NAMES and (owner := class_of(snapshot, path, scope)) is not None:
        return tuple(bases_of(snapshot, owner)) or None if head == "super()" else (owner,)
    return None if head in {"?", "super()"} else _resolve_name(snapshot, path, scope, head)


def _resolve_name(snapshot: Snapshot, path: str, scope: str, name: str) -> Targets | None:
    facts = snapshot.files[path]
    for outer in _outwards(scope):
        definition = scope_definition(facts, outer)
        if outer != scope and definition is not None and definition.kind == "class":
            continue  # a method does not see the names of its class
        if (outer, name) in facts.local_names:
            return None
        if (found := _bound(snapshot, facts, outer, name)) is not None:
            return found
    return _through_stars(snapshot, facts, name)


def _outwards(scope: str) -> Iterator[str]:
    while scope:
        yield scope
        scope = scope.rpartition(".")[0]
    yield ""


def _bound(snapshot: Snapshot, facts: FileFacts, scope: str, name: str) -> Targets | None:
    """What definitions and imports of *name* in *scope* lead to; None if there are none."""
    definitions = facts.definitions_by_name.get((scope, name), ())
    imports = facts.imports_by_name.get((scope, name), ())
    if not definitions and not imports:
        return None
    found: list[Target] = list(definitions)
    for imported in imports:
        if imported.name is None:
            found.extend(_imported_module(snapshot, facts, imported))
        else:
            found.extend(import_targets(snapshot, facts.path, imported))
    return tuple(dict.fromkeys(found))


def _through_stars(snapshot: Snapshot, facts: FileFacts, name: str) -> Targets | None:
    locations = _star_sources(snapshot, facts)
    found = _module_members(snapshot, [(location, name) for location in locations if location is not None])
    return None if not found and None in locations else found


def _members(snapshot: Snapshot, targets: Targets, name: str) -> Targets | None:
    return _united(_own_members(snapshot, t, name) or _inherited(snapshot, t, name) for t in targets)


def _own_members(snapshot: Snapshot, target: Target, name: str) -> Targets | None:
    if isinstance(target, Module):
        return _module_members(snapshot, [(target.location, name)])
    if target.kind != "class":
        return None
    return _bound(snapshot, snapshot.files[target.path], target.qualified_name, name)


def _inherited(snapshot: Snapshot, target: Target, name: str) -> Targets | None:
    if isinstance(target, Module):
        return ()
    members = (_own_members(snapshot, base, name) for base in bases_of(snapshot, target))
    return next((found for found in members if found), None)


def _united(answers: Iterable[Targets | None]) -> Targets | None:
    """All targets of several answers; without any, not known goes before elsewhere."""
    all_answers = list(answers)
    found = dict.fromkeys(target for answer in all_answers for target in answer or ())
    return None if not found and None in all_answers else tuple(found)


def _module_members(snapshot: Snapshot, wanted: Iterable[tuple[str, str]]) -> Targets:
    """What (location, name) pairs lead to, through any number of re-exports."""
    found: dict[Target, None] = {}
    waiting = list(wanted)
    seen: set[tuple[str, str]] = set()
    while waiting:
        pair = waiting.pop()
        if pair in seen:
            continue
        seen.add(pair)
        targets, onwards = _one_module_member(snapshot, *pair)
        found.update(dict.fromkeys(targets))
        waiting.extend(onwards)
    return tuple(found)


def _one_module_member(snapshot: Snapshot, location: str, name: str) -> tuple[list[Target], list[tuple[str, str]]]:
    """What the module itself binds *name* to, and the (location, name) pairs its imports point to."""
    targets: list[Target] = []
    onwards: list[tuple[str, str]] = []
    facts = snapshot.files.get(snapshot.modules.files.get(location, ""))
    if facts is not None:
        targets.extend(facts.definitions_by_name.get(("", name), ()))
        imports = facts.imports_by_name.get(("", name), ())
        for imported in imports:
            if imported.name is None:
                targets.extend(_imported_module(snapshot, facts, imported))
            elif source := find_module(snapshot.modules, facts.path, imported.module, imported.level):
                onwards.append((source, imported.name))
        if targets or any(pair != (location, name) for pair in onwards) or len(imports) > len(onwards):
            return targets, onwards
        if not name.startswith("_"):
            onwards.extend((source, name) for source in _star_sources(snapshot, facts) if source is not None)
    # Nothing but, perhaps, `from . import name` binds it: then it is a submodule.
    submodule = join_location(location, name)
    return [Module(submodule)] if exists(snapshot.modules, submodule) else [], onwards


def _star_sources(snapshot: Snapshot, facts: FileFacts) -> list[str | None]:
    """The locations of the modules whose every name *facts* imports; None for those outside the repository."""
    return [
        find_module(snapshot.modules, facts.path, imported.module, imported.level)
        for imported in facts.imports_by_name.get(("", "*"), ())
    ]


def _imported_module(snapshot: Snapshot, facts: FileFacts, imported: Import) -> Targets:
    """What ``import a.b`` binds: ``a``, or ``a.b`` if it has an alias."""
    name = imported.module if imported.alias else imported.bound_name
    location = find_module(snapshot.modules, facts.path, name)
    return () if location is None else (Module(location),)
