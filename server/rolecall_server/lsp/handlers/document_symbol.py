"""`textDocument/documentSymbol`: the outline of a file."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from lsprotocol import types
from pygls.capabilities import get_capability

from rolecall_analysis import definitions_in
from rolecall_analysis.queries.symbols import Symbol, symbol_tree
from rolecall_server.lsp.page_answers import headings_of
from rolecall_server.lsp.pages import open_run
from rolecall_server.lsp.questions import ask, known_place
from rolecall_server.lsp.server import RolecallServer
from rolecall_server.lsp.symbols import symbol_detail, symbol_kind
from rolecall_server.lsp.view import View

MAX_SYMBOLS = 2_000

_NESTED = "text_document.document_symbol.hierarchical_document_symbol_support"


async def document_symbol(
    ls: RolecallServer, params: types.DocumentSymbolParams
) -> Sequence[types.DocumentSymbol] | Sequence[types.SymbolInformation]:
    """The classes, functions and variables of the file, nested where the editor can show it."""
    if (run := open_run(ls.session, params.text_document.uri)) is not None:
        return headings_of(run.page, ls.session.client.encoding)
    place = known_place(ls, params.text_document.uri)
    if place is None:
        return []
    folder, path = place
    draw = _tree if get_capability(ls.client_capabilities, _NESTED) else _list
    return await ask(ls, folder, partial(draw, path=path))


def _tree(view: View, path: str) -> list[types.DocumentSymbol]:
    definitions = definitions_in(view.snapshot, path)[:MAX_SYMBOLS]
    return [_symbol(view, symbol) for symbol in symbol_tree(definitions)]


def _symbol(view: View, symbol: Symbol) -> types.DocumentSymbol:
    definition = symbol.definition
    whole, name = view.ranges_of(definition)
    return types.DocumentSymbol(
        name=definition.name,
        kind=symbol_kind(definition),
        range=whole,
        selection_range=name,
        detail=symbol_detail(definition),
        children=[_symbol(view, child) for child in symbol.children],  # the tree is of limited depth
    )


def _list(view: View, path: str) -> list[types.SymbolInformation]:
    return [
        types.SymbolInformation(
            location=types.Location(view.uri(path), view.ranges_of(definition)[0]),
            name=definition.name,
            kind=symbol_kind(definition),
            container_name=definition.scope or None,
        )
        for definition in definitions_in(view.snapshot, path)[:MAX_SYMBOLS]
    ]
