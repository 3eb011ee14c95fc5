"""Open a document of the team."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lsprotocol import types

from rolecall_server.errors import NotFound
from rolecall_server.lsp.arguments import read_text_argument
from rolecall_server.lsp.pages.files import write_pages
from rolecall_server.lsp.server import RolecallServer
from rolecall_server.team.documents import Document, render
from rolecall_server.team.documents.document_store import documents_in, documents_of, load_document, run_of


def show_document(ls: RolecallServer, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Open a document of the team as Markdown, the newest where none is named; what is saved there is its next version.

    It lies beside the store, with the others of its run, so that one leads to the next. With *show* false it is written
    and not opened.
    """
    document_id = read_text_argument(arguments, "documentId") or _newest(ls)
    run_id = run_of(ls.session.store, document_id)
    uri = write_pages(ls.session, run_id)[document_id].as_uri()
    if arguments.get("show") is False:
        pass
    elif ls.session.client.show_document:
        ls.window_show_document(types.ShowDocumentParams(uri, take_focus=True))
    else:
        ls.tell(f"the document is in {write_pages(ls.session, run_id)[document_id]}")
    document = load_document(ls.session.store, document_id)
    others = [_described(each) for each in documents_of(ls.session.store, run_id)]
    return {**_described(document), "runId": run_id, "uri": uri, "text": render(document), "documents": others}


def _newest(ls: RolecallServer) -> str:
    """Return the id of the document that was made last in the opened folders.

    Raises:
        NotFound: there is none.
    """
    everything = [
        document
        for folder in ls.session.folders.values()
        for documents in documents_in(ls.session.store, folder.root).values()
        for document in documents
    ]
    if not everything:
        raise NotFound("There is no document of the team in the opened folders.", "Run the team on a brief first.")
    return max(everything, key=lambda document: (document.created_at, int(document.id[1:]))).id


def _described(document: Document) -> dict[str, Any]:
    return {
        "documentId": document.id,
        "kind": document.kind,
        "version": document.version,
        "title": document.title,
        "author": document.author,
    }
