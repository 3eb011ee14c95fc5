"""`textDocument/references`"""

from __future__ import annotations

from itertools import islice

from lsprotocol import types

from rolecall_analysis.queries import references as find_references
from rolecall_server.lsp.page_answers import references_in_page
from rolecall_server.lsp.pages import open_run
from rolecall_server.lsp.questions import ask_when_read, known_place
from rolecall_server.lsp.server import RolecallServer
from rolecall_server.lsp.view import View

MAX_REFERENCES = 5_000


async def references(ls: RolecallServer, params: types.ReferenceParams) -> list[types.Location]:
    """Every place where what is named at the position is named: what is certain first."""
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
