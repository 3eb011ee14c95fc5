"""Notices to the editor that something has changed that it read from us and would not ask for again by itself."""

from __future__ import annotations

import asyncio

from lsprotocol import types

from rolecall_server.errors import NotFound
from rolecall_server.lsp.proposals.shown import read_address, render
from rolecall_server.lsp.server import RolecallServer

REVIEW_NOTIFICATION = "rolecall/review/changed"
_SOON_S = 0.1
"""The time for which changes are gathered: typing moves hunks at every key."""


def refresh_soon(ls: RolecallServer) -> None:
    """Have the editor ask anew for code lenses, and for the documents we gave it that are others by now."""
    session = ls.session
    if session.refreshing is None and (session.client.refreshes_lenses or session.given):
        session.refreshing = asyncio.get_running_loop().call_later(_SOON_S, _refresh, ls)


def tell_review_changed(ls: RolecallServer) -> None:
    """Tell an editor that draws hunks itself that they are others by now: at once, then once in a while."""
    session = ls.session
    if not session.client.review:
        return
    if session.review_told is not None:
        session.review_moved = True
        return
    ls.notify_client(REVIEW_NOTIFICATION, {})
    session.review_told = asyncio.get_running_loop().call_later(_SOON_S, _tell_again, ls)


def _tell_again(ls: RolecallServer) -> None:
    ls.session.review_told = None
    if ls.session.review_moved:
        ls.session.review_moved = False
        tell_review_changed(ls)


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
