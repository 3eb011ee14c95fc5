"""`textDocument/prepareRename`: whether there is an id to rename."""

from __future__ import annotations

from lsprotocol import types

from rolecall_server.lsp.pages.answers import id_at, range_of
from rolecall_server.lsp.pages.files import open_run
from rolecall_server.lsp.server import RolecallServer


async def prepare_rename(
    ls: RolecallServer, params: types.PrepareRenameParams
) -> types.PrepareRenamePlaceholder | None:
    """Return the id at the position, in a document of the team."""
    run = open_run(ls.session, params.text_document.uri)
    mention = id_at(ls, run, params.position) if run is not None else None
    if run is None or mention is None:
        return None
    return types.PrepareRenamePlaceholder(range_of(run.page, mention, ls.session.client.encoding), mention.name)
