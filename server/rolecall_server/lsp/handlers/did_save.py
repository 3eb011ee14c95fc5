"""`textDocument/didSave`: of documents that the developer writes in for us; any other save changes nothing here."""

from __future__ import annotations

from lsprotocol import types

from rolecall_server.errors import FileRefused
from rolecall_server.lsp.documents import file_path
from rolecall_server.lsp.page_problems import take_page
from rolecall_server.lsp.pages import is_page
from rolecall_server.lsp.server import RolecallServer
from rolecall_server.lsp.writing import look_at


def did_save(ls: RolecallServer, params: types.DidSaveTextDocumentParams) -> None:
    """Take what was written."""
    try:
        path = file_path(params.text_document.uri)
    except FileRefused:
        return
    if is_page(ls.session, params.text_document.uri):
        take_page(ls, path)
    else:
        look_at(ls, path)
