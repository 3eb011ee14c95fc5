"""The definitions that a file has, and the one at a place in it."""

from __future__ import annotations

from rolecall_analysis.snapshot import Snapshot
from rolecall_analysis.values import Definition, Position

_PROPERTY_DECORATORS = ("property", "setter", "getter", "deleter")


def definitions_in(snapshot: Snapshot, path: str) -> tuple[Definition, ...]:
    """Return the definitions of one file in the order of the source; none for a file that is not known."""
    facts = snapshot.files.get(path)
    return facts.definitions if facts else ()


def find_definition(snapshot: Snapshot, path: str, qualified_name: str) -> Definition | None:
    """Return the definition of that name; of several (overloads, a property and its setter) the first with a body."""
    facts = snapshot.files.get(path)
    scope, _, name = qualified_name.rpartition(".")
    found = facts.definitions_by_name.get((scope, name), ()) if facts else ()
    whole = (d for d in found if not any(name.rpartition(".")[2] == "overload" for name in d.decorators))
    return next(whole, found[0] if found else None)


def enclosing_definition(snapshot: Snapshot, path: str, position: Position) -> Definition | None:
    """Return the innermost class or function on whose lines *position* is; None in the module itself."""
    around = (
        definition
        for definition in definitions_in(snapshot, path)
        if definition.kind != "variable" and definition.span.start.line <= position.line <= definition.span.end.line
    )
    return max(around, key=lambda definition: definition.span.start, default=None)


def is_same(one: object, other: Definition) -> bool:
    """Return whether both are the same name of the same file; they may come from different snapshots."""
    return isinstance(one, Definition) and one.path == other.path and one.qualified_name == other.qualified_name


def is_inside(qualified_name: str, outer: str) -> bool:
    """Return whether the definition of that name is *outer*, or somewhere in it."""
    return qualified_name == outer or qualified_name.startswith(f"{outer}.")


def is_property(definition: Definition) -> bool:
    """Return whether reading the attribute calls *definition*."""
    return definition.kind == "method" and any(
        decorator.partition("(")[0].endswith(_PROPERTY_DECORATORS) for decorator in definition.decorators
    )
