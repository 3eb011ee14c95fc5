"""`textDocument/hover`: where an accepted line came from; in a document of the team, what a name stands for."""

from __future__ import annotations

from lsprotocol import types

from rolecall_server.errors import FileRefused
from rolecall_server.lsp.pages.answers import hover_in_page, served
from rolecall_server.lsp.pages.files import open_run
from rolecall_server.lsp.server import RolecallServer
from rolecall_server.review.proposals.provenance import describe_trace
from rolecall_server.review.proposals.rendering import visible


async def hover(ls: RolecallServer, params: types.HoverParams) -> types.Hover | None:
    """Return a hover that says who wrote the line, for what, how it was checked and when it was accepted."""
    if (run := open_run(ls.session, params.text_document.uri)) is not None:
        return await hover_in_page(ls, run, params.position)
    try:
        folder, path = ls.session.place(params.text_document.uri)
    except FileRefused:
        return None
    document = ls.session.documents.get(params.text_document.uri)
    if document is None:
        return None
    trace = folder.traces.lines(path, document.text).get(params.position.line)
    if trace is None:
        return None
    text = "\n".join(visible(line) for line in (*describe_trace(trace), *served(ls.session.store, trace)))
    return types.Hover(types.MarkupContent(types.MarkupKind.PlainText, text))
