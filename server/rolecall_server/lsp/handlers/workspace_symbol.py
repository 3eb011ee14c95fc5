"""`workspace/symbol`: definitions by a part of their name, in all folders."""

from __future__ import annotations

from itertools import chain, islice, zip_longest

from lsprotocol import types

from rolecall_analysis.queries.symbols import find_symbols
from rolecall_server.lsp.questions import ask_when_read, is_wanted
from rolecall_server.lsp.server import RolecallServer
from rolecall_server.lsp.symbols import symbol_kind
from rolecall_server.lsp.view import View

MAX_SYMBOLS = 200
"""For a whole list of symbols there is the outline: who reads on after so many types another letter."""
_MAX_CANDIDATES = 1_000
"""So many are looked at for those in a language that is asked for."""


async def workspace_symbol(ls: RolecallServer, params: types.WorkspaceSymbolParams) -> list[types.WorkspaceSymbol]:
    """The definitions whose name is most like the query; those of several folders take turns."""

    def find(view: View) -> list[types.WorkspaceSymbol]:
        found = find_symbols(view.snapshot, params.query, _MAX_CANDIDATES)
        wanted = (definition for definition in found if is_wanted(view.settings, definition.path))
        return [
            types.WorkspaceSymbol(
                location=types.Location(view.uri(definition.path), view.ranges_of(definition)[1]),
                name=definition.name,
                kind=symbol_kind(definition),
                container_name=definition.scope or None,
            )
            for definition in islice(wanted, MAX_SYMBOLS)
        ]

    answers = [await ask_when_read(ls, folder, find) for folder in list(ls.session.folders.values())]
    turns = (symbol for symbol in chain.from_iterable(zip_longest(*answers)) if symbol is not None)
    # Of folders that lie in each other, both know a file.
    different = {(symbol.name, str(symbol.location)): symbol for symbol in turns}
    return list(islice(different.values(), MAX_SYMBOLS))
