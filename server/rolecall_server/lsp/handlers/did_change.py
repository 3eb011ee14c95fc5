"""`textDocument/didChange`: full texts and ranges both."""

from __future__ import annotations

import logging

from lsprotocol import types

from rolecall_server.errors import FileRefused
from rolecall_server.lsp.documents import changed
from rolecall_server.lsp.folders import document_changed
from rolecall_server.lsp.hunks import text_changed
from rolecall_server.lsp.server import RolecallServer

logger = logging.getLogger(__name__)


def did_change(ls: RolecallServer, params: types.DidChangeTextDocumentParams) -> None:
    """Keep the text, the graph and the hunks on it in step with the editor."""
    session, uri = ls.session, params.text_document.uri
    document = session.documents.get(uri)
    if document is None:
        logger.warning("A change of %s, which is not open, is ignored.", uri)
        return
    edited = changed(document, params.text_document.version, params.content_changes, session.client.encoding)
    session.documents[uri] = edited
    try:
        folder, path = session.place(uri)
    except FileRefused:
        return
    document_changed(session, folder, path)
    text_changed(ls, folder, path)
