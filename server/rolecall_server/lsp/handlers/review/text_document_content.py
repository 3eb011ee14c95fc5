"""`workspace/textDocumentContent`: proposals and runs as documents that an editor reads from us."""

from __future__ import annotations

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams

from rolecall_server.errors import NotFound
from rolecall_server.lsp.proposals.shown import read_address, read_run_address, render
from rolecall_server.lsp.server import RolecallServer


def text_document_content(
    ls: RolecallServer, params: types.TextDocumentContentParams
) -> types.TextDocumentContentResult:
    """Return the diff, or the messages of a run, at that address; from now on tell the editor when the text changes."""
    from rolecall_server.lsp.runs.running import render_run

    try:
        run_id = read_run_address(params.uri)
        text = render_run(ls.session, run_id) if run_id else render(ls.session, read_address(params.uri))
    except NotFound as error:
        raise JsonRpcInvalidParams(str(error)) from error
    ls.session.given[params.uri] = text
    return types.TextDocumentContentResult(text)
