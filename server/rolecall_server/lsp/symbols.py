"""The graph's definitions in an editor's words."""

from __future__ import annotations

import re
from collections.abc import Mapping

from lsprotocol import types

from rolecall_analysis import Definition, DefinitionKind
from rolecall_analysis.queries.definitions import is_property

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
    """The icon that an editor shows beside *definition*."""
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
    """What the signature says after the name: ``(self) -> int``, ``: int = 3``."""
    named = re.search(rf"(?<!\w){re.escape(definition.name)}(?!\w)", definition.signature)
    detail = definition.signature[named.end() :].strip() if named else ""
    return detail[:_MAX_DETAIL] or None
