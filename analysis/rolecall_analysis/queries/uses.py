"""The definitions that a definition, or a file, needs of the rest of the repository."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from rolecall_analysis.queries.definitions import find_definition, is_inside
from rolecall_analysis.resolution.exports import Target, import_targets
from rolecall_analysis.resolution.names import OWN_NAMES, resolve_steps
from rolecall_analysis.snapshot import Snapshot
from rolecall_analysis.values import Definition, FileFacts


def uses(snapshot: Snapshot, path: str, definition: Definition | None = None) -> tuple[Definition, ...]:
    """Return the repository's definitions that *definition*, or the whole file, names or imports.

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


def _named_targets(snapshot: Snapshot, facts: FileFacts, definition: Definition | None) -> Iterator[Target]:
    for reference in facts.references:
        if definition is None or is_inside(reference.owner, definition.qualified_name):
            steps = resolve_steps(snapshot, facts.path, reference.scope, reference.name)
            # `self` alone leads to the class around: whoever reads `self.total` does not use all of it.
            is_own = reference.name.partition(".")[0] in OWN_NAMES
            for meaning in islice(steps, 1 if is_own else 0, None):
                if meaning.certain:
                    yield from meaning.targets
    for imported in facts.imports:
        if definition is None or is_inside(imported.scope, definition.qualified_name):
            yield from import_targets(snapshot, facts.path, imported)


def _is_within(target: Definition, path: str, definition: Definition | None) -> bool:
    if target.path != path:
        return False
    return definition is None or is_inside(target.qualified_name, definition.qualified_name)
