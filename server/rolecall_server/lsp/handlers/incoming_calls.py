"""`callHierarchy/incomingCalls`"""

from __future__ import annotations

from itertools import islice

from lsprotocol import types

from rolecall_analysis import CallSite, callers, find_definition
from rolecall_server.lsp.hierarchies import (
    MAX_ITEMS,
    called_name,
    hierarchy_item,
    known_item,
    module_item,
)
from rolecall_server.lsp.questions import ask_when_read
from rolecall_server.lsp.server import RolecallServer
from rolecall_server.lsp.view import View


async def incoming_calls(
    ls: RolecallServer, params: types.CallHierarchyIncomingCallsParams
) -> list[types.CallHierarchyIncomingCall]:
    """Who calls the item, each with its calls: those that certainly do first."""
    known = known_item(ls, params.item)
    if known is None:
        return []
    folder, path, name = known

    def find(view: View) -> list[types.CallHierarchyIncomingCall]:
        definition = find_definition(view.snapshot, path, name)
        if definition is None:
            return []
        found: dict[tuple[str, str, bool], list[CallSite]] = {}
        for site in callers(view.snapshot, definition, certain_only=not view.settings.possible):
            caller = site.caller.qualified_name if site.caller else ""
            found.setdefault((site.path, caller, site.certain), []).append(site)
        return [_call(view, sites) for sites in islice(found.values(), MAX_ITEMS)]

    return await ask_when_read(ls, folder, find)


def _call(view: View, sites: list[CallSite]) -> types.CallHierarchyIncomingCall:
    """Calls that stand in one caller and are equally certain."""
    first = sites[0]
    remark = "" if first.certain else f"possibly: {first.rule}"
    item = (
        hierarchy_item(view, first.caller, types.CallHierarchyItem, remark)
        if first.caller
        else module_item(view, first.path, remark)
    )
    return types.CallHierarchyIncomingCall(item, [called_name(view, site.path, site.call) for site in sites])
