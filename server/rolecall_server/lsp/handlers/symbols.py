"""The outline of a file, and definitions by a part of their name in all folders."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import chain, islice, zip_longest

from lsprotocol import types
from pygls.capabilities import get_capability

from rolecall_analysis import Definition, DefinitionKind, definitions_in
from rolecall_analysis.queries.definitions import is_property
from rolecall_analysis.queries.symbols import OutlineSymbol, find_symbols, symbol_tree
from rolecall_server.lsp.pages.answers import headings_of
from rolecall_server.lsp.pages.files import open_run
from rolecall_server.lsp.server import RolecallServer
from rolecall_server.lsp.view import View, ask, ask_when_read, is_wanted, known_place

_KINDS: Mapping[DefinitionKind, types.SymbolKind] = {
    "class": types.SymbolKind.Class,
    "interface": types.SymbolKind.Interface,
    "module": types.SymbolKind.Module,
    "type": types.SymbolKind.TypeParameter,
    "function": types.SymbolKind.Function,
    "method": types.SymbolKind.Method,
    "variable": types.SymbolKind.Variable,
    "macro": types.SymbolKind.Function,
}
_MAX_DETAIL = 200


def symbol_kind(definition: Definition) -> types.SymbolKind:
    """Return the icon that an editor shows beside *definition*."""
    if definition.kind == "method" and definition.name == "__init__":
        return types.SymbolKind.Constructor
    if is_property(definition):
        return types.SymbolKind.Property
    if definition.kind == "variable" and definition.name.isupper():
        return types.SymbolKind.Constant
    if definition.kind == "variable" and definition.scope:
        return types.SymbolKind.Field
    return _KINDS[definition.kind]


def symbol_detail(definition: Definition) -> str | None:
    """Return the part of the signature after the name: ``(self) -> int``, ``: int = 3``; ``None`` if there is none."""
    named = re.search(rf"(?<!\w){re.escape(definition.name)}(?!\w)", definition.signature)
    detail = definition.signature[named.end() :].strip() if named else ""
    return detail[:_MAX_DETAIL] or None


MAX_OUTLINE = 2_000

_NESTED = "text_document.document_symbol.hierarchical_document_symbol_support"


async def document_symbol(
    ls: RolecallServer, params: types.DocumentSymbolParams
) -> Sequence[types.DocumentSymbol] | Sequence[types.SymbolInformation]:
    """Return the classes, functions and variables of the file, nested where the editor can show it."""
    if (run := open_run(ls.session, params.text_document.uri)) is not None:
        return headings_of(run.page, ls.session.client.encoding)
    place = known_place(ls, params.text_document.uri)
    if place is None:
        return []
    folder, path = place
    draw = _tree if get_capability(ls.client_capabilities, _NESTED) else _list
    return await ask(ls, folder, partial(draw, path=path))


def _tree(view: View, path: str) -> list[types.DocumentSymbol]:
    definitions = definitions_in(view.snapshot, path)[:MAX_OUTLINE]
    return [_symbol(view, symbol) for symbol in symbol_tree(definitions)]


def _symbol(view: View, symbol: OutlineSymbol) -> types.DocumentSymbol:
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
        for definition in definitions_in(view.snapshot, path)[:MAX_OUTLINE]
    ]


MAX_FOUND = 200
"""For a whole list of symbols there is the outline: who reads on after so many types another letter."""


async def workspace_symbol(ls: RolecallServer, params: types.WorkspaceSymbolParams) -> list[types.WorkspaceSymbol]:
    """Return the definitions whose name is most like the query; those of several folders take turns."""

    def find(view: View) -> list[types.WorkspaceSymbol]:
        found = find_symbols(view.snapshot, params.query, MAX_FOUND, partial(is_wanted, view.settings))
        return [
            types.WorkspaceSymbol(
                location=types.Location(view.uri(definition.path), view.ranges_of(definition)[1]),
                name=definition.name,
                kind=symbol_kind(definition),
                container_name=definition.scope or None,
            )
            for definition in found
        ]

    answers = [await ask_when_read(ls, folder, find) for folder in list(ls.session.folders.values())]
    turns = (symbol for symbol in chain.from_iterable(zip_longest(*answers)) if symbol is not None)
    # Of folders that lie in each other, both know a file.
    different = {(symbol.name, str(symbol.location)): symbol for symbol in turns}
    return list(islice(different.values(), MAX_FOUND))
