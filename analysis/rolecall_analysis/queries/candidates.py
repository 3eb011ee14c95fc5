"""The places to look for a name: the files in which it occurs, and the other names it has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rolecall_analysis.queries.definitions import is_same
from rolecall_analysis.resolution.exports import import_targets
from rolecall_analysis.resolution.foreign import see_each_other
from rolecall_analysis.resolution.names import Meaning, values_of
from rolecall_analysis.snapshot import Snapshot
from rolecall_analysis.values import Definition, FileFacts


def candidates(snapshot: Snapshot, names: Iterable[str], seen_from: str = "") -> Iterator[FileFacts]:
    """Yield the facts of the files in which one of *names* occurs as an identifier, by path.

    With *seen_from*, only of those that can name what is in that file: files of the same language.
    """
    for path in sorted({path for name in names for path in snapshot.mentioning(name)}):
        if not seen_from or see_each_other(path, seen_from):
            yield snapshot.files[path]


def names_of(snapshot: Snapshot, definition: Definition) -> dict[str, None]:
    """Return the names under which *definition* is found: its own first, then those that imports and aliases give it.

    What is inside another definition has its own name only.
    """
    names = {definition.name: None}
    waiting: list[str] = [] if definition.scope else [definition.name]
    while waiting:
        name = waiting.pop()
        for facts in candidates(snapshot, (name,), definition.path):
            fresh = [alias for alias in _aliases(snapshot, facts, name, definition) if alias not in names]
            names.update(dict.fromkeys(fresh))
            waiting.extend(fresh)
    return names


def _aliases(snapshot: Snapshot, facts: FileFacts, name: str, definition: Definition) -> Iterator[str]:
    for imported in facts.imports:
        if imported.name == name and imported.alias:
            targets = import_targets(snapshot, facts.path, imported)
            if any(is_same(target, definition) for target in targets):
                yield imported.alias
    for variable in facts.definitions:
        # An alias (`Base = other.Base`) ends with the name: most variables need not be followed.
        if variable.kind == "variable" and variable.name != name and variable.signature.endswith(name):
            targets = values_of(snapshot, Meaning((variable,), True, "alias")).targets
            if any(is_same(target, definition) for target in targets):
                yield variable.name
