"""The places where a definition is named, and what is named at a place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from rolecall_analysis.queries.candidates import candidates, names_of
from rolecall_analysis.queries.definitions import find_definition, is_same
from rolecall_analysis.queries.edges import edge_to, is_member
from rolecall_analysis.queries.symbols import definitions_named
from rolecall_analysis.resolution.exports import Module, Target, import_targets
from rolecall_analysis.resolution.foreign import see_each_other
from rolecall_analysis.resolution.names import Meaning, Rule, resolve, resolve_steps
from rolecall_analysis.snapshot import Snapshot
from rolecall_analysis.values import Definition, FileFacts, Import, Position, Reference, Span

MAX_SAME_NAME = 20
"""A name that more definitions than this have leads nowhere in particular."""

OccurrenceKind = Literal["definition", "import", "read"]


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A place where a definition is named."""

    path: str
    span: Span
    """The name alone, without what it is an attribute of."""
    kind: OccurrenceKind
    text: str
    """The dotted name up to here, as written: ``self.cart.total``."""
    scope: str
    """The scope whose names it sees."""
    owner: Definition | None
    """The class or function in whose text it stands; None in the module itself."""
    certain: bool
    rule: Rule


@dataclass(frozen=True, slots=True)
class Destination:
    """The definition or module to which a name in the text leads."""

    path: str
    definition: Definition | None
    """None: the module itself."""
    certain: bool
    rule: Rule


def references(
    snapshot: Snapshot, definition: Definition, *, include_definition: bool = True, certain_only: bool = False
) -> tuple[Occurrence, ...]:
    """Return every place where *definition* is named, imports and re-exports too: certain ones first, then its own
    file.
    """
    found = [
        occurrence
        for occurrence in occurrences(snapshot, definition)
        if (occurrence.certain or not certain_only) and (include_definition or occurrence.kind != "definition")
    ]
    found.sort(key=lambda o: (not o.certain, o.path != definition.path, o.path, o.span))
    return tuple(found)


def definitions_at(snapshot: Snapshot, path: str, position: Position) -> tuple[Destination, ...]:
    """Return the destinations of the name at *position*.

    An attribute of a value that is not known may be any member of that name, if there are not too many of them.
    """
    facts = snapshot.files.get(path)
    if facts is None:
        return ()
    for definition in facts.definitions:
        if _covers(definition.name_span, position):
            return (Destination(path, definition, True, "name in scope"),)
    for imported in facts.imports:
        if _covers(imported.name_span, position):
            return tuple(_destinations(snapshot, _imported_at(snapshot, path, imported)))
    meaning = _meaning_at(snapshot, facts, position)
    return tuple(_destinations(snapshot, meaning)) if meaning is not None else ()


def occurrences(snapshot: Snapshot, definition: Definition) -> Iterator[Occurrence]:
    """Yield every `Occurrence` of *definition*, file by file."""
    facts = snapshot.files.get(definition.path)
    for known in facts.definitions_by_name.get((definition.scope, definition.name), ()) if facts else ():
        yield _defined(snapshot, known)
    names = tuple(names_of(snapshot, definition))
    for facts in candidates(snapshot, names, definition.path):
        for imported in facts.imports:
            if imported.name in names:
                yield from _imported(snapshot, facts, imported, definition)
        for name in names:
            for reference in facts.references:
                if name in reference.name:
                    yield from _read(snapshot, facts, reference, name, definition)


def part_spans(reference: Reference, n_part: int) -> Iterator[Span]:
    """Yield the span of the part number *n_part* of the reference's dotted name, each time it is read."""
    parts = reference.name.split(".")
    n_numbers = 2 * len(parts)
    for start in range(2 * n_part, len(reference.places), n_numbers):
        line, column = reference.places[start], reference.places[start + 1]
        yield Span(Position(line, column), Position(line, column + len(parts[n_part])))


def _defined(snapshot: Snapshot, definition: Definition) -> Occurrence:
    owner = find_definition(snapshot, definition.path, definition.scope) if definition.scope else None
    return Occurrence(
        definition.path,
        definition.name_span,
        "definition",
        definition.name,
        definition.scope,
        owner,
        True,
        "name in scope",
    )


def _imported(snapshot: Snapshot, facts: FileFacts, imported: Import, definition: Definition) -> Iterator[Occurrence]:
    if any(is_same(target, definition) for target in import_targets(snapshot, facts.path, imported)):
        owner = find_definition(snapshot, facts.path, imported.scope) if imported.scope else None
        text = imported.name or imported.module
        yield Occurrence(facts.path, imported.name_span, "import", text, imported.scope, owner, True, "import")


def _read(
    snapshot: Snapshot, facts: FileFacts, reference: Reference, name: str, definition: Definition
) -> Iterator[Occurrence]:
    parts = reference.name.split(".")
    for n_part, part in enumerate(parts):
        if part != name:
            continue
        text = ".".join(parts[: n_part + 1])
        meaning = resolve(snapshot, facts.path, reference.scope, text)
        edge = edge_to(snapshot, meaning, text, definition)
        if edge is None:
            continue
        owner = find_definition(snapshot, facts.path, reference.owner) if reference.owner else None
        for span in part_spans(reference, n_part):
            yield Occurrence(facts.path, span, "read", text, reference.scope, owner, edge.certain, edge.rule)


def _covers(span: Span, position: Position) -> bool:
    # With the end: behind its last letter an editor's caret is still on the name.
    return span.start <= position <= span.end


def _imported_at(snapshot: Snapshot, path: str, imported: Import) -> Meaning:
    return Meaning(import_targets(snapshot, path, imported), True, "import")


def _meaning_at(snapshot: Snapshot, facts: FileFacts, position: Position) -> Meaning | None:
    for reference in facts.references:
        if position.line not in reference.places[::2]:
            continue
        for n_part in range(reference.name.count(".") + 1):
            if any(_covers(span, position) for span in part_spans(reference, n_part)):
                steps = resolve_steps(snapshot, facts.path, reference.scope, reference.name)
                meanings = list(islice(steps, n_part + 1))
                is_whole = len(meanings) > n_part
                if meanings[-1].targets or meanings[-1].certain or not n_part:
                    return meanings[-1] if is_whole else None
                return _by_name(snapshot, facts.path, reference.name.split(".")[n_part])
    return None


def _by_name(snapshot: Snapshot, path: str, name: str) -> Meaning | None:
    named = definitions_named(snapshot, name)
    if len(named) > MAX_SAME_NAME:
        return None
    members = tuple(d for d in named if see_each_other(path, d.path) and is_member(snapshot, d))
    return Meaning(members, False, "same name")


def _destinations(snapshot: Snapshot, meaning: Meaning) -> Iterator[Destination]:
    for target in meaning.targets:
        path = _path_of(snapshot, target)
        if path is not None:
            definition = target if isinstance(target, Definition) else None
            yield Destination(path, definition, meaning.certain, meaning.rule)


def _path_of(snapshot: Snapshot, target: Target) -> str | None:
    return snapshot.modules.files.get(target.location) if isinstance(target, Module) else target.path
