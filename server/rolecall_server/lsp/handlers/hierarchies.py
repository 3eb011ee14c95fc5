"""The hierarchies of calls and of types."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from itertools import islice
from typing import TypeVar

from lsprotocol import types

from rolecall_analysis import Call, CallSite, Definition, Position, Span, callers, find_definition
from rolecall_analysis.queries import Callee, callees
from rolecall_analysis.queries import subtypes as find_subtypes
from rolecall_analysis.queries import supertypes as find_supertypes
from rolecall_server.lsp.handlers.symbols import symbol_kind
from rolecall_server.lsp.server import RolecallServer
from rolecall_server.lsp.view import View, ask_when_read, known_place

MAX_ITEMS = 1_000
_CALLED_KINDS = frozenset({"function", "method", "class", "macro"})
_TYPE_KINDS = frozenset({"class", "interface"})

_TOP = types.Range(types.Position(0, 0), types.Position(0, 0))

Item = TypeVar("Item", types.CallHierarchyItem, types.TypeHierarchyItem)
Found = TypeVar("Found")


def items_at(
    view: View, path: str, position: types.Position, kinds: Collection[str], item: type[Item]
) -> list[Item] | None:
    """Return items for the definitions to which the name at *position* leads, if they are of these *kinds*; None if
    there are none.
    """
    found = (destination.definition for destination in view.destinations(path, position))
    return [hierarchy_item(view, each, item) for each in found if each is not None and each.kind in kinds] or None


def hierarchy_item(view: View, definition: Definition, item: type[Item], remark: str = "") -> Item:
    """Return *definition* as an item, with its path and *remark* beside the name. Its data is the qualified name."""
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


def module_item(view: View, path: str, remark: str = "") -> types.CallHierarchyItem:
    """Return the code of a file that is in no function; nobody calls it."""
    name = path.rpartition("/")[2]
    detail = f"{path}, {remark}" if remark else path
    return types.CallHierarchyItem(name, types.SymbolKind.File, view.uri(path), _TOP, _TOP, detail=detail, data="")


def called_name(view: View, path: str, call: Call) -> types.Range:
    """Return the range of the name that *call* calls; the range of the whole call where the callee is not a plain chain
    of names.
    """
    start, lines = call.span.start, view.lines(path)
    end = start.column + len(call.callee)
    if start.line < len(lines) and lines[start.line][start.column : end] == call.callee:
        return view.range(path, Span(Position(start.line, end - len(call.name)), Position(start.line, end)))
    return view.range(path, call.span)


async def prepare_call_hierarchy(
    ls: RolecallServer, params: types.CallHierarchyPrepareParams
) -> list[types.CallHierarchyItem] | None:
    """Return the function, method or class that the name at the position leads to."""
    return await _items(ls, params, _CALLED_KINDS, types.CallHierarchyItem)


async def incoming_calls(
    ls: RolecallServer, params: types.CallHierarchyIncomingCallsParams
) -> list[types.CallHierarchyIncomingCall]:
    """Return the callers of the item, each with its calls: those that certainly call it first."""
    return await _about(ls, params.item, _calls_to)


def _calls_to(view: View, definition: Definition) -> list[types.CallHierarchyIncomingCall]:
    found: dict[tuple[str, str, bool], list[CallSite]] = {}
    for site in callers(view.snapshot, definition, certain_only=not view.settings.possible):
        caller = site.caller.qualified_name if site.caller else ""
        found.setdefault((site.path, caller, site.certain), []).append(site)
    return [_incoming_call(view, sites) for sites in islice(found.values(), MAX_ITEMS)]


def _incoming_call(view: View, sites: list[CallSite]) -> types.CallHierarchyIncomingCall:
    """Calls that stand in one caller and are equally certain."""
    first = sites[0]
    remark = "" if first.certain else f"possibly: {first.rule}"
    item = (
        hierarchy_item(view, first.caller, types.CallHierarchyItem, remark)
        if first.caller
        else module_item(view, first.path, remark)
    )
    return types.CallHierarchyIncomingCall(item, [called_name(view, site.path, site.call) for site in sites])


async def outgoing_calls(
    ls: RolecallServer, params: types.CallHierarchyOutgoingCallsParams
) -> list[types.CallHierarchyOutgoingCall]:
    """Return the callees of the item, each with the calls: those that certainly happen first."""
    return await _about(ls, params.item, _calls_from)


def _calls_from(view: View, definition: Definition) -> list[types.CallHierarchyOutgoingCall]:
    found: dict[tuple[str, str, bool], list[Callee]] = {}
    for callee in callees(view.snapshot, definition, certain_only=not view.settings.possible):
        key = callee.definition.path, callee.definition.qualified_name, callee.certain
        found.setdefault(key, []).append(callee)
    calls = sorted(found.values(), key=lambda calls: not calls[0].certain)
    return [_outgoing_call(view, definition.path, each) for each in islice(calls, MAX_ITEMS)]


def _outgoing_call(view: View, path: str, calls: list[Callee]) -> types.CallHierarchyOutgoingCall:
    """Calls in *path* that reach one definition and are equally certain."""
    first = calls[0]
    remark = "" if first.certain else f"possibly: {first.rule}"
    item = hierarchy_item(view, first.definition, types.CallHierarchyItem, remark)
    return types.CallHierarchyOutgoingCall(item, [called_name(view, path, each.call) for each in calls])


async def prepare_type_hierarchy(
    ls: RolecallServer, params: types.TypeHierarchyPrepareParams
) -> list[types.TypeHierarchyItem] | None:
    """Return the class that the name at the position leads to."""
    return await _items(ls, params, _TYPE_KINDS, types.TypeHierarchyItem)


async def supertypes(ls: RolecallServer, params: types.TypeHierarchySupertypesParams) -> list[types.TypeHierarchyItem]:
    """Return the classes of the repository that the item names as its bases."""
    return await _about(ls, params.item, lambda view, item: _types(view, find_supertypes(view.snapshot, item)))


async def subtypes(ls: RolecallServer, params: types.TypeHierarchySubtypesParams) -> list[types.TypeHierarchyItem]:
    """Return the classes of the repository that name the item as a base."""
    return await _about(ls, params.item, lambda view, item: _types(view, find_subtypes(view.snapshot, item)))


def _types(view: View, found: Iterable[Definition]) -> list[types.TypeHierarchyItem]:
    return [hierarchy_item(view, each, types.TypeHierarchyItem) for each in islice(found, MAX_ITEMS)]


async def _items(
    ls: RolecallServer,
    params: types.CallHierarchyPrepareParams | types.TypeHierarchyPrepareParams,
    kinds: Collection[str],
    item: type[Item],
) -> list[Item] | None:
    """Return items for what the name at the position leads to, if it is of these *kinds*."""
    place = known_place(ls, params.text_document.uri)
    if place is None:
        return None
    folder, path = place
    return await ask_when_read(ls, folder, lambda view: items_at(view, path, params.position, kinds, item))


async def _about(
    ls: RolecallServer,
    item: types.CallHierarchyItem | types.TypeHierarchyItem,
    question: Callable[[View, Definition], list[Found]],
) -> list[Found]:
    """Return what *question* finds for the definition that *item* was made of; nothing for one that is none of ours."""
    place, name = known_place(ls, item.uri), item.data
    if place is None or not isinstance(name, str):
        return []
    folder, path = place

    def find(view: View) -> list[Found]:
        definition = find_definition(view.snapshot, path, name)
        return [] if definition is None else question(view, definition)

    return await ask_when_read(ls, folder, find)
