"""`textDocument/didOpen`"""

from __future__ import annotations

from lsprotocol import types

from rolecall_server.errors import FileRefused
from rolecall_server.lsp.documents import Document
from rolecall_server.lsp.folders import begin_scan, document_changed
from rolecall_server.lsp.hunks import text_changed
from rolecall_server.lsp.server import RolecallServer


def did_open(ls: RolecallServer, params: types.DidOpenTextDocumentParams) -> None:
    """From now on the editor's text counts, not the disk's."""
    item = params.text_document
    ls.session.documents[item.uri] = Document(item.uri, item.language_id, item.version, item.text)
    try:
        folder, path = ls.session.place(item.uri)
    except FileRefused:
        return
    begin_scan(ls.session, folder)
    document_changed(ls.session, folder, path)
    text_changed(ls, folder, path)
