"""`typeHierarchy/supertypes`"""

from __future__ import annotations

from functools import partial

from lsprotocol import types

from rolecall_analysis.queries import supertypes as find_supertypes
from rolecall_server.lsp.hierarchies import known_item, related_items
from rolecall_server.lsp.questions import ask_when_read
from rolecall_server.lsp.server import RolecallServer


async def supertypes(ls: RolecallServer, params: types.TypeHierarchySupertypesParams) -> list[types.TypeHierarchyItem]:
    """The classes of the repository that the item names as its bases."""
    known = known_item(ls, params.item)
    if known is None:
        return []
    folder, path, name = known
    return await ask_when_read(ls, folder, partial(related_items, path=path, name=name, related=find_supertypes))
