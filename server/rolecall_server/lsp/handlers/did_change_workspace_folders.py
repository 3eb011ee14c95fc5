"""`workspace/didChangeWorkspaceFolders`"""

from __future__ import annotations

import asyncio

from lsprotocol import types

from rolecall_server.lsp.documents import file_path
from rolecall_server.lsp.folders import begin_scan
from rolecall_server.lsp.hunks import clear_hunks, show_hunks
from rolecall_server.lsp.server import RolecallServer


def did_change_workspace_folders(ls: RolecallServer, params: types.DidChangeWorkspaceFoldersParams) -> None:
    """Open the folders that came, forget those that went."""
    for removed in params.event.removed:
        if removed.uri.startswith("file:"):
            closed = ls.session.close_folder(file_path(removed.uri))
            if closed is not None:
                ls.later(asyncio.to_thread(closed.index.close))
                clear_hunks(ls, closed)
    for added in params.event.added:
        if added.uri.startswith("file:"):
            folder = ls.session.open_folder(file_path(added.uri))
            begin_scan(ls.session, folder)
            show_hunks(ls, folder)
