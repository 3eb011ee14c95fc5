"""`textDocument/didClose`"""

from __future__ import annotations

from lsprotocol import types

from rolecall_server.errors import FileRefused
from rolecall_server.lsp.folders import document_changed
from rolecall_server.lsp.hunks import text_changed
from rolecall_server.lsp.page_problems import page_changed
from rolecall_server.lsp.server import RolecallServer


def did_close(ls: RolecallServer, params: types.DidCloseTextDocumentParams) -> None:
    """From now on the disk's text counts again."""
    if ls.session.documents.pop(params.text_document.uri, None) is None:
        return
    page_changed(ls, params.text_document.uri)
    try:
        folder, path = ls.session.place(params.text_document.uri)
    except FileRefused:
        return
    folder.in_memory.discard(path)
    document_changed(ls.session, folder, path)
    text_changed(ls, folder, path)
