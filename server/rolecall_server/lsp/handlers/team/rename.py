"""`textDocument/rename`: of an id in a document of the team."""

from __future__ import annotations

from lsprotocol import types

from rolecall_server.lsp.pages.answers import rename_in_page
from rolecall_server.lsp.pages.files import open_run
from rolecall_server.lsp.server import RolecallServer


async def rename(ls: RolecallServer, params: types.RenameParams) -> types.WorkspaceEdit | None:
    """Return the edit of every document of the run that gives the id its new name."""
    run = open_run(ls.session, params.text_document.uri)
    return rename_in_page(ls, run, params.position, params.new_name) if run is not None else None
