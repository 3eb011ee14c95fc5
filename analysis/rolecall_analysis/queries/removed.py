"""Names that a change took away and that something still uses."""

from __future__ import annotations

import builtins
import datetime
import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import PurePath

from rolecall_analysis.modules import exists, find_module, location_of
from rolecall_analysis.queries.candidates import candidates
from rolecall_analysis.queries.definitions import is_same
from rolecall_analysis.queries.edges import is_member
from rolecall_analysis.queries.importers import imported_locations, importers
from rolecall_analysis.queries.references import part_spans
from rolecall_analysis.queries.unresolved import may_offer
from rolecall_analysis.resolution.exports import import_targets
from rolecall_analysis.resolution.names import OWN_NAMES, holder_of, lineage, outwards, resolve
from rolecall_analysis.snapshot import Snapshot
from rolecall_analysis.values import Definition, FileFacts, Import, Reference, Span

_COMMON_MEMBERS = frozenset(
    chain.from_iterable(
        dir(one) for one in (*vars(builtins).values(), *vars(datetime).values(), io.TextIOWrapper, re.Match, PurePath)
    )
)
"""The members that objects which no repository defines have as well."""


@dataclass(frozen=True, slots=True)
class BrokenReference:
    """A name in the changed repository that led to a definition, or module, which is gone."""

    path: str
    span: Span
    name: str
    """As written, up to what is missing: ``price.total``."""
    removed: Definition | str
    """The definition that it led to; a module by its path."""
    certain: bool = True
    """False: something else may give the name to what it is read from."""


def removed_definitions(before: Snapshot, after: Snapshot, paths: Iterable[str]) -> tuple[Definition, ...]:
    """Return the definitions of the files *paths* that *after* does not have under the same name in the same file."""
    return tuple(
        definition
        for path in paths
        if (facts := before.files.get(path)) is not None
        for definition in facts.definitions
        if not _is_still_there(after, definition)
    )


def dangling_uses(before: Snapshot, after: Snapshot, paths: Iterable[str]) -> tuple[BrokenReference, ...]:
    """Return the uses in *after* of what the change of the files *paths* removed; they now lead nowhere.

    A definition that moved and can be had from the old place, or a name that now means something else, is not
    missed. Only what certainly led there before counts. By path and place.
    """
    changed = tuple(paths)
    found: dict[tuple[str, Span], BrokenReference] = {}
    for definition in removed_definitions(before, after, changed):
        for use in _uses_of_definition(before, after, definition):
            found[use.path, use.span] = use
    for path in changed:
        if path in before.files and path not in after.files:
            for use in _imports_of_module(before, after, path):
                found.setdefault((use.path, use.span), use)
    return tuple(found[place] for place in sorted(found))


def possibly_dangling_uses(before: Snapshot, after: Snapshot, paths: Iterable[str]) -> tuple[BrokenReference, ...]:
    """Return the reads in *after* of a member that the change of the files *paths* removed, from a value that is not
    known.

    Told only of a name that nothing in *after* defines any more, and no common type has. By path and place.
    """
    found: dict[tuple[str, Span], BrokenReference] = {}
    for definition in removed_definitions(before, after, paths):
        if _is_own_member(before, definition) and definition.name not in _COMMON_MEMBERS:
            for use in _reads_of_unknown_values(before, after, definition):
                found[use.path, use.span] = use
    return tuple(found[place] for place in sorted(found))


def _reads_of_unknown_values(before: Snapshot, after: Snapshot, definition: Definition) -> Iterator[BrokenReference]:
    name = definition.name
    files = list(candidates(after, (name,), definition.path))
    if any(one.name == name for facts in files for one in facts.definitions):
        return
    for facts in files:
        for reference in facts.references if facts.path in before.files else ():
            parts = reference.name.split(".")
            for n_part in range(1, len(parts)):
                dotted = ".".join(parts[: n_part + 1])
                if parts[n_part] == name and not resolve(after, facts.path, reference.scope, dotted).targets:
                    was = resolve(before, facts.path, reference.scope, dotted)
                    if not was.certain and (not was.targets or any(is_same(one, definition) for one in was.targets)):
                        for span in part_spans(reference, n_part):
                            yield BrokenReference(facts.path, span, dotted, definition, certain=False)


def _is_own_member(snapshot: Snapshot, definition: Definition) -> bool:
    """Return whether *definition* is a method or body variable of a class that inherits from no other package."""
    holder = holder_of(snapshot, definition)
    if holder is None or holder.kind != "class" or definition.signature.startswith("self."):
        return False
    return all(path for path, _ in lineage(snapshot, (holder.path, holder.qualified_name)))


def _is_still_there(after: Snapshot, definition: Definition) -> bool:
    facts = after.files.get(definition.path)
    key = definition.scope, definition.name
    return facts is not None and (key in facts.definitions_by_name or key in facts.imports_by_name)


def _uses_of_definition(before: Snapshot, after: Snapshot, definition: Definition) -> Iterator[BrokenReference]:
    source = after.files.get(definition.path)
    # The module may still give the name: by a star import, or a `__getattr__` that makes it up.
    if not definition.scope and source is not None and may_offer(after, source, definition.name):
        return
    for facts in candidates(after, (definition.name,), definition.path):
        if facts.path not in before.files:
            continue
        for imported in facts.imports:
            if imported.name == definition.name and _is_lost(before, after, facts.path, imported, definition):
                yield BrokenReference(facts.path, imported.name_span, definition.name, definition)
        for reference in facts.references:
            if definition.name in reference.name:
                yield from _lost_reads(before, after, facts, reference, definition)


def _is_lost(before: Snapshot, after: Snapshot, path: str, imported: Import, definition: Definition) -> bool:
    was = import_targets(before, path, imported)
    return any(is_same(target, definition) for target in was) and not import_targets(after, path, imported)


def _lost_reads(
    before: Snapshot, after: Snapshot, facts: FileFacts, reference: Reference, definition: Definition
) -> Iterator[BrokenReference]:
    parts = reference.name.split(".")
    for n_part, part in enumerate(parts):
        name = ".".join(parts[: n_part + 1])
        if part == definition.name and _leads_nowhere(after, facts, reference.scope, name):
            was = resolve(before, facts.path, reference.scope, name)
            if was.certain and any(is_same(target, definition) for target in was.targets):
                certain = n_part != 1 or parts[0] not in OWN_NAMES or not _is_mixed_in(after, definition)
                for span in part_spans(reference, n_part):
                    yield BrokenReference(facts.path, span, name, definition, certain)


def _is_mixed_in(after: Snapshot, definition: Definition) -> bool:
    """Return whether another class has a member of that name; a class that inherits from both then has it on
    ``self``.
    """
    return any(
        one.name == definition.name and is_member(after, one)
        for facts in candidates(after, (definition.name,), definition.path)
        for one in facts.definitions
    )


def _leads_nowhere(after: Snapshot, facts: FileFacts, scope: str, name: str) -> bool:
    """Return whether *name* has no meaning; a failing import of the file itself is reported at the import instead."""
    if resolve(after, facts.path, scope, name).targets:
        return False
    holder, _, last = name.rpartition(".")
    if holder:
        return True
    keys = [(outer, last) for outer in outwards(scope)]
    return not any(key in facts.imports_by_name or key in facts.local_names for key in keys)


def _moved(before: Snapshot, after: Snapshot, importer: str, imported: Import, location: str) -> bool:
    """Return whether the same import statement still finds what it took from *location*, or as that module."""
    source, now = (find_module(one.modules, importer, imported.module, imported.level) for one in (before, after))
    return (source == location and now is not None) or bool(import_targets(after, importer, imported))


def _imports_of_module(before: Snapshot, after: Snapshot, path: str) -> Iterator[BrokenReference]:
    location = location_of(path)
    if exists(after.modules, location):
        return
    for importer in importers(before, path):
        facts = after.files.get(importer)
        for imported in facts.imports if facts is not None else ():
            was = imported_locations(before, importer, imported)
            if location in was and not _moved(before, after, importer, imported, location):
                yield BrokenReference(importer, imported.name_span, imported.name or imported.module, path)
