"""`textDocument/didChange`: full texts and ranges both."""

from __future__ import annotations

import logging
from collections.abc import Iterator

from lsprotocol import types

from rolecall_server.errors import FileRefused
from rolecall_server.lsp.documents import Document, changed
from rolecall_server.lsp.folders import document_changed
from rolecall_server.lsp.hunks import text_changed
from rolecall_server.lsp.page_problems import page_changed
from rolecall_server.lsp.positions import Encoding
from rolecall_server.lsp.server import RolecallServer

logger = logging.getLogger(__name__)

_MOST_STEPS = 64
"""Of an edit and what is typed after it an editor may tell at once; of more changes the last text counts alone."""


def did_change(ls: RolecallServer, params: types.DidChangeTextDocumentParams) -> None:
    """Keep the text, the graph and the hunks on it in step with the editor."""
    session, uri = ls.session, params.text_document.uri
    document = session.documents.get(uri)
    if document is None:
        logger.warning("A change of %s, which is not open, is ignored.", uri)
        return
    version, encoding = params.text_document.version, session.client.encoding
    session.documents[uri] = changed(document, version, params.content_changes, encoding)
    page_changed(ls, uri)
    try:
        folder, path = session.place(uri)
    except FileRefused:
        return
    if folder.deciding.locked():
        folder.told_texts.setdefault(path, []).extend(_texts(document, params, encoding))
    document_changed(session, folder, path)
    text_changed(ls, folder, path)


def _texts(document: Document, params: types.DidChangeTextDocumentParams, encoding: Encoding) -> Iterator[str]:
    """The text after each of the changes."""
    changes = params.content_changes
    steps = [[change] for change in changes] if len(changes) <= _MOST_STEPS else [changes]
    for step in steps:
        document = changed(document, params.text_document.version, step, encoding)
        yield document.text
