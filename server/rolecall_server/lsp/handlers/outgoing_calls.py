"""`callHierarchy/outgoingCalls`"""

from __future__ import annotations

from itertools import islice

from lsprotocol import types

from rolecall_analysis import find_definition
from rolecall_analysis.queries import Callee, callees
from rolecall_server.lsp.hierarchies import MAX_ITEMS, called_name, hierarchy_item, known_item
from rolecall_server.lsp.questions import ask_when_read
from rolecall_server.lsp.server import RolecallServer
from rolecall_server.lsp.view import View


async def outgoing_calls(
    ls: RolecallServer, params: types.CallHierarchyOutgoingCallsParams
) -> list[types.CallHierarchyOutgoingCall]:
    """Whom the item calls, each with the calls: those that certainly happen first."""
    known = known_item(ls, params.item)
    if known is None:
        return []
    folder, path, name = known

    def find(view: View) -> list[types.CallHierarchyOutgoingCall]:
        definition = find_definition(view.snapshot, path, name)
        if definition is None:
            return []
        found: dict[tuple[str, str, bool], list[Callee]] = {}
        for callee in callees(view.snapshot, definition, certain_only=not view.settings.possible):
            key = callee.definition.path, callee.definition.qualified_name, callee.certain
            found.setdefault(key, []).append(callee)
        calls = sorted(found.values(), key=lambda calls: not calls[0].certain)
        return [_call(view, path, each) for each in islice(calls, MAX_ITEMS)]

    return await ask_when_read(ls, folder, find)


def _call(view: View, path: str, calls: list[Callee]) -> types.CallHierarchyOutgoingCall:
    """Calls in *path* that reach one definition and are equally certain."""
    first = calls[0]
    remark = "" if first.certain else f"possibly: {first.rule}"
    item = hierarchy_item(view, first.definition, types.CallHierarchyItem, remark)
    return types.CallHierarchyOutgoingCall(item, [called_name(view, path, each.call) for each in calls])
