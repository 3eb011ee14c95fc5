"""Snapshots of workspaces in a string, and the words in which tests ask about them."""

from __future__ import annotations

from collections.abc import Iterable

from rolecall_analysis import Definition, Position, Snapshot, Span, find_definition, text_in
from support.fixture import Fixture, Place, parse_fixture


def snapshot_from(text: str) -> Snapshot:
    """The graph of the workspace that *text* describes."""
    return Snapshot().with_changes(parse_fixture(text).files)


def fixture_and_snapshot(text: str) -> tuple[Fixture, Snapshot]:
    """The workspace that *text* describes, with its labels, and its graph."""
    fixture = parse_fixture(text)
    return fixture, Snapshot().with_changes(fixture.files)


def definition_of(snapshot: Snapshot, name: str) -> Definition:
    """The definition called ``path:qualified.name``."""
    path, _, qualified_name = name.rpartition(":")
    found = find_definition(snapshot, path, qualified_name)
    assert found is not None, name
    return found


def names_of(definitions: Iterable[Definition | None]) -> list[str]:
    """Each as ``path:qualified.name``; None is ``-``."""
    return [f"{d.path}:{d.qualified_name}" if d else "-" for d in definitions]


def cursor_of(fixture: Fixture) -> tuple[str, Position]:
    """Where the cursor is."""
    assert fixture.cursor is not None
    return fixture.cursor.path, Position(fixture.cursor.line, fixture.cursor.column)


def shown(fixture: Fixture, path: str, span: Span) -> str:
    """The text of a span."""
    return text_in(fixture.files[path], span)


def lines_of(fixture: Fixture, label: str) -> set[tuple[str, int]]:
    """The lines that have the label."""
    places: tuple[Place, ...] = fixture.labels.get(label, ())
    return {(place.path, place.line) for place in places}
