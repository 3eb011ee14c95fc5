"""`textDocument/definition`"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from lsprotocol import types
from pygls.capabilities import get_capability

from rolecall_analysis import Position, Span
from rolecall_analysis.queries import Destination
from rolecall_server.lsp.page_answers import definition_in_page
from rolecall_server.lsp.pages import open_run
from rolecall_server.lsp.questions import ask_when_read, known_place
from rolecall_server.lsp.server import RolecallServer
from rolecall_server.lsp.view import View

_TOP = Span(Position(0, 0), Position(0, 0))


async def definition(
    ls: RolecallServer, params: types.DefinitionParams
) -> Sequence[types.Location] | Sequence[types.LocationLink]:
    """Where what is named at the position is defined; with the whole of it where the editor can show that."""
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
    """The whole and the name of a definition; of a module, its beginning."""
    if found.definition is not None:
        return view.ranges_of(found.definition)
    top = view.range(found.path, _TOP)
    return top, top
