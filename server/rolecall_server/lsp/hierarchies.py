"""Items of call and type hierarchies: a definition told to the editor, and found again when the editor asks on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from itertools import islice
from typing import TypeVar

from lsprotocol import types

from rolecall_analysis import Call, Definition, Position, Snapshot, Span, find_definition
from rolecall_server.lsp.questions import known_place
from rolecall_server.lsp.server import RolecallServer
from rolecall_server.lsp.session import Folder
from rolecall_server.lsp.symbols import symbol_kind
from rolecall_server.lsp.view import View

MAX_ITEMS = 1_000

_TOP = types.Range(types.Position(0, 0), types.Position(0, 0))

Item = TypeVar("Item", types.CallHierarchyItem, types.TypeHierarchyItem)


def items_at(
    view: View, path: str, position: types.Position, kinds: Collection[str], item: type[Item]
) -> list[Item] | None:
    """What the name at *position* leads to, as far as it is of these *kinds*; None where it is nothing of the sort."""
    found = (destination.definition for destination in view.destinations(path, position))
    return [hierarchy_item(view, each, item) for each in found if each is not None and each.kind in kinds] or None


def hierarchy_item(view: View, definition: Definition, item: type[Item], remark: str = "") -> Item:
    """*definition* as an item, with its path and *remark* beside the name. Its data is the qualified name."""
    whole, name = view.ranges_of(definition)
    return item(
        name=definition.qualified_name,
        kind=symbol_kind(definition),
        uri=view.uri(definition.path),
        range=whole,
        selection_range=name,
        detail=f"{definition.path}, {remark}" if remark else definition.path,
        data=definition.qualified_name,
    )


def related_items(
    view: View, path: str, name: str, related: Callable[[Snapshot, Definition], Iterable[Definition]]
) -> list[types.TypeHierarchyItem]:
    """The definitions that are *related* to the one an item was made of."""
    definition = find_definition(view.snapshot, path, name)
    found = related(view.snapshot, definition) if definition else ()
    return [hierarchy_item(view, each, types.TypeHierarchyItem) for each in islice(found, MAX_ITEMS)]


def module_item(view: View, path: str, remark: str = "") -> types.CallHierarchyItem:
    """The code of a file that is in no function; nobody calls it."""
    name = path.rpartition("/")[2]
    detail = f"{path}, {remark}" if remark else path
    return types.CallHierarchyItem(name, types.SymbolKind.File, view.uri(path), _TOP, _TOP, detail=detail, data="")


def known_item(
    ls: RolecallServer, item: types.CallHierarchyItem | types.TypeHierarchyItem
) -> tuple[Folder, str, str] | None:
    """The folder, the path and the qualified name of an *item*; None where it is none of ours."""
    place = known_place(ls, item.uri)
    return (*place, item.data) if place is not None and isinstance(item.data, str) else None


def called_name(view: View, path: str, call: Call) -> types.Range:
    """The name that *call* calls; the whole call where what is called is no plain chain of names."""
    start, lines = call.span.start, view.lines(path)
    end = start.column + len(call.callee)
    if start.line < len(lines) and lines[start.line][start.column : end] == call.callee:
        return view.range(path, Span(Position(start.line, end - len(call.name)), Position(start.line, end)))
    return view.range(path, call.span)
