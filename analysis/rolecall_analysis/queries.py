"""What a role asks of the graph: who calls this, what does it use, which tests exercise it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice

from rolecall_analysis.modules import find_module, location_of, split_location
from rolecall_analysis.resolve import (
    OWN_NAMES,
    Module,
    Target,
    Targets,
    bases_of,
    import_targets,
    resolve,
    resolve_steps,
    scope_definition,
)
from rolecall_analysis.snapshot import Snapshot
from rolecall_analysis.values import Call, Definition, FileFacts, Import, Position


@dataclass(frozen=True, slots=True)
class CallSite:
    """A call that may reach a definition."""

    path: str
    call: Call
    caller: Definition | None
    """The innermost class or function around the call; None in the module itself."""
    certain: bool
    """True: the callee's binding was followed to the definition. False: only the name is the same."""


def definitions_in(snapshot: Snapshot, path: str) -> tuple[Definition, ...]:
    """The definitions of one file in the order of the source; none for a file that is not known."""
    facts = snapshot.files.get(path)
    return facts.definitions if facts else ()


def find_definition(snapshot: Snapshot, path: str, qualified_name: str) -> Definition | None:
    """The definition of that name; of several (overloads, a property and its setter) the first with a body."""
    facts = snapshot.files.get(path)
    scope, _, name = qualified_name.rpartition(".")
    found = facts.definitions_by_name.get((scope, name), ()) if facts else ()
    whole = (d for d in found if not any(name.rpartition(".")[2] == "overload" for name in d.decorators))
    return next(whole, found[0] if found else None)


def enclosing_definition(snapshot: Snapshot, path: str, position: Position) -> Definition | None:
    """The innermost class or function on whose lines *position* is; None in the module itself."""
    around = (
        definition
        for definition in definitions_in(snapshot, path)
        if definition.kind != "variable" and definition.span.start.line <= position.line <= definition.span.end.line
    )
    return max(around, key=lambda definition: definition.span.start, default=None)


def callers(snapshot: Snapshot, definition: Definition) -> tuple[CallSite, ...]:
    """The calls that may reach *definition*: certain ones first, then its own file, then by path.

    A class's callers construct it; those of ``__init__`` are its class's as well.
    """
    wanted = [definition]
    if definition.name == "__init__" and (owner := _holder(snapshot, definition)) is not None:
        wanted.append(owner)
    sites = [
        site
        for target in wanted
        for name in _names_of(snapshot, target)
        for facts in snapshot.files.values()
        for call in facts.calls_by_name.get(name, ())
        if (site := _call_site(snapshot, facts, call, target)) is not None
    ]
    sites.sort(key=lambda s: (not s.certain, s.path != definition.path, s.path, s.call.span))
    return tuple(sites)


def uses(snapshot: Snapshot, path: str, definition: Definition | None = None) -> tuple[Definition, ...]:
    """The repository's definitions that *definition*, or the whole file, names or imports.

    Only followed bindings count. The definition itself and what is inside it are left out; for a file,
    everything in it.
    """
    facts = snapshot.files.get(path)
    if facts is None:
        return ()
    found = dict.fromkeys(
        (target.path, target.qualified_name)
        for target in _named_targets(snapshot, facts, definition)
        if isinstance(target, Definition) and not _is_within(target, path, definition)
    )
    return tuple(used for place in found if (used := find_definition(snapshot, *place)) is not None)


def importers(snapshot: Snapshot, path: str) -> tuple[str, ...]:
    """The files with an import statement that names the module *path*, in alphabetical order."""
    location = location_of(path)
    return tuple(
        sorted(
            facts.path
            for facts in snapshot.files.values()
            if facts.path != path
            and any(
                _may_name(imported, path) and location in _imported_locations(snapshot, facts.path, imported)
                for imported in facts.imports
            )
        )
    )


def tests_of(snapshot: Snapshot, path: str) -> tuple[str, ...]:
    """The test files that import the module *path*, or use one of its names through another module.

    ``test_<stem>`` comes first, then those that import it directly, then the nearest.
    """
    direct = set(importers(snapshot, path))
    names = {d.name for d in definitions_in(snapshot, path) if not d.scope}
    found = [
        other
        for other, facts in snapshot.files.items()
        if other != path and is_test_path(other) and (other in direct or _reaches(snapshot, facts, path, names))
    ]
    stem = split_location(location_of(path))[1]

    def nearness(other: str) -> tuple[bool, bool, bool, str]:
        name = split_location(location_of(other))[1]
        own = name in {f"test_{stem}", f"{stem}_test"}
        return not own, stem not in other, other not in direct, other

    return tuple(sorted(found, key=nearness))


def is_test_path(path: str) -> bool:
    """Whether pytest, unittest or Django would collect the file by its name."""
    name = split_location(path)[1]
    if not name.endswith(".py"):
        return False
    stem = name.removesuffix(".py")
    return stem.startswith("test_") or stem.endswith("_test") or stem in {"test", "tests"}


def _holder(snapshot: Snapshot, definition: Definition) -> Definition | None:
    """The class or function that *definition* stands in."""
    facts = snapshot.files.get(definition.path)
    return scope_definition(facts, definition.scope) if facts and definition.scope else None


def _names_of(snapshot: Snapshot, definition: Definition) -> set[str]:
    """The last parts by which *definition* may be called: its name, and what imports rename it to."""
    names = {definition.name}
    renamings = {pair for facts in snapshot.files.values() for pair in facts.renamings}
    while more := {alias for name, alias in renamings if name in names} - names:
        names |= more
    return names


def _call_site(snapshot: Snapshot, facts: FileFacts, call: Call, wanted: Definition) -> CallSite | None:
    found = resolve(snapshot, facts.path, call.scope, call.callee)
    certain = any(_is_same(target, wanted) for target in found or ())
    if not certain and not _may_reach(snapshot, call, found, wanted):
        return None
    caller = enclosing_definition(snapshot, facts.path, call.span.start)
    return CallSite(facts.path, call, caller, certain)


def _is_same(target: Target, definition: Definition) -> bool:
    """Whether both are the same name of the same file; *definition* may come from an older snapshot."""
    return (
        isinstance(target, Definition)
        and target.path == definition.path
        and target.qualified_name == definition.qualified_name
    )


def _may_reach(snapshot: Snapshot, call: Call, found: Targets | None, wanted: Definition) -> bool:
    """Whether a call by the same name, which does not certainly reach *wanted*, could."""
    if call.name != wanted.name:
        return False
    if found is None:
        return _is_member(snapshot, wanted) == ("." in call.callee)
    return any(_is_overridden(snapshot, target, wanted) for target in found)


def _is_member(snapshot: Snapshot, definition: Definition) -> bool:
    holder = _holder(snapshot, definition)
    return holder is not None and holder.kind == "class"


def _is_overridden(snapshot: Snapshot, target: Target, definition: Definition) -> bool:
    """Whether *target* is a method that *definition* overrides in a subclass."""
    owner = _holder(snapshot, definition)
    if owner is None or not isinstance(target, Definition) or target.kind != "method":
        return False
    overridden = _holder(snapshot, target)
    return any(base == overridden for base in bases_of(snapshot, owner))


def _named_targets(snapshot: Snapshot, facts: FileFacts, definition: Definition | None) -> Iterator[Target]:
    for reference in facts.references:
        if definition is None or _is_inside(reference.owner, definition.qualified_name):
            steps = resolve_steps(snapshot, facts.path, reference.scope, reference.name)
            is_own = reference.name.partition(".")[0] in OWN_NAMES
            for found in islice(steps, 1 if is_own else 0, None):
                yield from found or ()
    for imported in facts.imports:
        if definition is None or _is_inside(imported.scope, definition.qualified_name):
            yield from import_targets(snapshot, facts.path, imported)


def _is_within(target: Definition, path: str, definition: Definition | None) -> bool:
    if target.path != path:
        return False
    return definition is None or _is_inside(target.qualified_name, definition.qualified_name)


def _is_inside(name: str, outer: str) -> bool:
    return name == outer or name.startswith(f"{outer}.")


def _may_name(imported: Import, path: str) -> bool:
    """Whether *imported* could be the module *path*, by its words alone: cheaper than following it."""
    last = split_location(location_of(path))[1]
    words = imported.module.split(".")
    return last in words or imported.name == last or (imported.level > 0 and words in ([""], [last]))


def _imported_locations(snapshot: Snapshot, path: str, imported: Import) -> Iterator[str]:
    """The module that an import names: in ``from a import b`` it is ``a``, unless ``b`` is its submodule."""
    source = find_module(snapshot.modules, path, imported.module, imported.level)
    if source is None:
        return
    named = [target.location for target in import_targets(snapshot, path, imported) if isinstance(target, Module)]
    yield from named or [source]


def _reaches(snapshot: Snapshot, facts: FileFacts, path: str, names: set[str]) -> bool:
    """Whether the file names one of *names*, top-level in the module *path*, whichever way it came by it."""
    imported = (
        target for one in facts.imports if one.name in names for target in import_targets(snapshot, facts.path, one)
    )
    read = (
        target
        for reference in facts.references
        if not names.isdisjoint(reference.name.split("."))
        for target in resolve(snapshot, facts.path, reference.scope, reference.name) or ()
    )
    return any(isinstance(target, Definition) and target.path == path for target in chain(imported, read))
