"""Definitions and uses of a name."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import islice

from lsprotocol import types
from pygls.capabilities import get_capability

from rolecall_analysis import Position, Span
from rolecall_analysis.queries import Destination
from rolecall_analysis.queries import references as find_references
from rolecall_server.lsp.pages.answers import definition_in_page, references_in_page
from rolecall_server.lsp.pages.files import open_run
from rolecall_server.lsp.server import RolecallServer
from rolecall_server.lsp.view import View, ask_when_read, known_place

_TOP = Span(Position(0, 0), Position(0, 0))


async def definition(
    ls: RolecallServer, params: types.DefinitionParams
) -> Sequence[types.Location] | Sequence[types.LocationLink]:
    """Return the places where the name at the position is defined; with the whole definition if the editor can show
    that.
    """
    if (run := open_run(ls.session, params.text_document.uri)) is not None:
        return await definition_in_page(ls, run, params.position)
    place = known_place(ls, params.text_document.uri)
    if place is None:
        return []
    folder, path = place
    links = get_capability(ls.client_capabilities, "text_document.definition.link_support")
    find = partial(_links if links else _locations, path=path, position=params.position)
    return await ask_when_read(ls, folder, find)


def _links(view: View, path: str, position: types.Position) -> list[types.LocationLink]:
    return [
        types.LocationLink(view.uri(found.path), *_ranges(view, found)) for found in view.destinations(path, position)
    ]


def _locations(view: View, path: str, position: types.Position) -> list[types.Location]:
    return [
        types.Location(view.uri(found.path), _ranges(view, found)[1]) for found in view.destinations(path, position)
    ]


def _ranges(view: View, found: Destination) -> tuple[types.Range, types.Range]:
    """Return the range of a definition and the range of its name; for a module, its beginning as both."""
    if found.definition is not None:
        return view.ranges_of(found.definition)
    top = view.range(found.path, _TOP)
    return top, top


MAX_REFERENCES = 5_000


async def references(ls: RolecallServer, params: types.ReferenceParams) -> list[types.Location]:
    """Return every place that names the same thing as the name at the position, certain places first."""
    if (run := open_run(ls.session, params.text_document.uri)) is not None:
        return await references_in_page(ls, run, params.position, include_entry=params.context.include_declaration)
    place = known_place(ls, params.text_document.uri)
    if place is None:
        return []
    folder, path = place

    def find(view: View) -> list[types.Location]:
        occurrences = [
            occurrence
            for destination in view.destinations(path, params.position)
            if destination.definition is not None
            for occurrence in find_references(
                view.snapshot,
                destination.definition,
                include_definition=params.context.include_declaration,
                certain_only=not view.settings.possible,
            )
        ]
        occurrences.sort(key=lambda occurrence: not occurrence.certain)
        places = dict.fromkeys((occurrence.path, occurrence.span) for occurrence in occurrences)
        return [types.Location(view.uri(p), view.range(p, span)) for p, span in islice(places, MAX_REFERENCES)]

    return await ask_when_read(ls, folder, find)
