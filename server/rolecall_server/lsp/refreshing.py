"""What the editor has read from us and would not ask for again by itself: it is told when that has changed."""

from __future__ import annotations

import asyncio

from lsprotocol import types

from rolecall_server.errors import NotFound
from rolecall_server.lsp.server import RolecallServer
from rolecall_server.lsp.shown import read_address, render

_SOON_S = 0.1
"""How long changes are gathered: typing moves hunks at every key."""


def refresh_soon(ls: RolecallServer) -> None:
    """Have the editor ask anew for code lenses, and for the documents we gave it that are others by now."""
    session = ls.session
    if session.refreshing is None and (session.client.refreshes_lenses or session.given):
        session.refreshing = asyncio.get_running_loop().call_later(_SOON_S, _refresh, ls)


def _refresh(ls: RolecallServer) -> None:
    session = ls.session
    session.refreshing = None
    if session.client.refreshes_lenses and session.settings.review.lenses:
        ls.workspace_code_lens_refresh(None)
    for uri, given in list(session.given.items()):
        try:
            now = render(session, read_address(uri))
        except NotFound:
            del session.given[uri]
            continue
        if now != given:
            session.given[uri] = now
            ls.workspace_text_document_content_refresh(types.TextDocumentContentRefreshParams(uri))
