"""Documents opened, changed, saved and closed."""

from __future__ import annotations

import logging
from collections.abc import Iterator

from lsprotocol import types

from rolecall_server.errors import FileRefused
from rolecall_server.lsp.folders import begin_scan, document_changed
from rolecall_server.lsp.pages.names import is_page
from rolecall_server.lsp.pages.problems import page_changed, take_page
from rolecall_server.lsp.proposals.hunks import text_changed
from rolecall_server.lsp.server import RolecallServer
from rolecall_server.lsp.session import kind_of_file
from rolecall_server.lsp.text.documents import OpenDocument, changed, file_path
from rolecall_server.lsp.text.positions import Encoding
from rolecall_server.lsp.writing import look_at


def did_open(ls: RolecallServer, params: types.DidOpenTextDocumentParams) -> None:
    """From now on the editor's text counts, not the disk's."""
    item = params.text_document
    ls.session.documents[item.uri] = OpenDocument(item.uri, item.language_id, item.version, item.text)
    page_changed(ls, item.uri)
    try:
        folder, path = ls.session.place(item.uri)
    except FileRefused:
        return
    ls.session.told_kinds.add(kind_of_file(path))
    if folder.marks.published.pop(item.uri, None):  # some editors forgot these marks, others show them still
        ls.text_document_publish_diagnostics(types.PublishDiagnosticsParams(item.uri, []))
    begin_scan(ls.session, folder)
    document_changed(ls.session, folder, path)
    text_changed(ls, folder, path)


logger = logging.getLogger(__name__)

_MOST_STEPS = 64
"""Of an edit and what is typed after it an editor may tell at once; of more changes the last text counts alone."""
_MOST_TEXTS = 2 * _MOST_STEPS
"""Kept of a file, however much an editor tells before it answers."""


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
    if folder.edits.lock.locked():
        told = folder.edits.told_texts.setdefault(path, [])
        told.extend(_texts(document, params, encoding))
        del told[:-_MOST_TEXTS]
    document_changed(session, folder, path)
    text_changed(ls, folder, path)


def _texts(document: OpenDocument, params: types.DidChangeTextDocumentParams, encoding: Encoding) -> Iterator[str]:
    """Yield the text after each of the changes."""
    changes = params.content_changes
    steps = [[change] for change in changes] if len(changes) <= _MOST_STEPS else [changes]
    for step in steps:
        document = changed(document, params.text_document.version, step, encoding)
        yield document.text


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


def did_close(ls: RolecallServer, params: types.DidCloseTextDocumentParams) -> None:
    """From now on the disk's text counts again."""
    if ls.session.documents.pop(params.text_document.uri, None) is None:
        return
    page_changed(ls, params.text_document.uri)
    try:
        folder, path = ls.session.place(params.text_document.uri)
    except FileRefused:
        return
    # What it held in memory is on the disk by now, or thrown away.
    folder.edits.in_memory.discard(path)
    document_changed(ls.session, folder, path)
    text_changed(ls, folder, path)
