"""`textDocument/didOpen`"""

from __future__ import annotations

from lsprotocol import types

from rolecall_server.errors import FileRefused
from rolecall_server.lsp.documents import Document
from rolecall_server.lsp.folders import begin_scan, document_changed
from rolecall_server.lsp.hunks import text_changed
from rolecall_server.lsp.page_problems import page_changed
from rolecall_server.lsp.server import RolecallServer
from rolecall_server.lsp.session import kind_of_file


def did_open(ls: RolecallServer, params: types.DidOpenTextDocumentParams) -> None:
    """From now on the editor's text counts, not the disk's."""
    item = params.text_document
    ls.session.documents[item.uri] = Document(item.uri, item.language_id, item.version, item.text)
    page_changed(ls, item.uri)
    try:
        folder, path = ls.session.place(item.uri)
    except FileRefused:
        return
    ls.session.told_kinds.add(kind_of_file(path))
    folder.shown.pop(item.uri, None)  # editors forget the marks on a file that they close
    begin_scan(ls.session, folder)
    document_changed(ls.session, folder, path)
    text_changed(ls, folder, path)
