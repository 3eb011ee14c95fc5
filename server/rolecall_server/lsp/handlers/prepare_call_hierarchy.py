"""`textDocument/prepareCallHierarchy`"""

from __future__ import annotations

from functools import partial

from lsprotocol import types

from rolecall_server.lsp.hierarchies import items_at
from rolecall_server.lsp.questions import ask_when_read, known_place
from rolecall_server.lsp.server import RolecallServer

_KINDS = frozenset({"function", "method", "class", "macro"})


async def prepare_call_hierarchy(
    ls: RolecallServer, params: types.CallHierarchyPrepareParams
) -> list[types.CallHierarchyItem] | None:
    """The function, method or class that the name at the position leads to."""
    place = known_place(ls, params.text_document.uri)
    if place is None:
        return None
    folder, path = place
    find = partial(items_at, path=path, position=params.position, kinds=_KINDS, item=types.CallHierarchyItem)
    return await ask_when_read(ls, folder, find)
