"""Show a proposal as a diff with its evidence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lsprotocol import types

from rolecall_server.lsp.arguments import find_proposal
from rolecall_server.lsp.server import RolecallServer
from rolecall_server.review.rendering import describe_hunk, hunk_diff, hunk_header, render_proposal
from rolecall_server.review.shelf import Reviewed


def show_proposal(ls: RolecallServer, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Open the proposal as a scratch document of our own; its text is in the reply for clients that draw it themselves.

    The file lies beside the store, never in the workspace.
    """
    _, reviewed = find_proposal(ls.session, arguments)
    text = render_proposal(reviewed)
    scratch = ls.session.store.path.with_name("shown") / f"{reviewed.proposal.id}.diff"
    scratch.parent.mkdir(exist_ok=True)
    scratch.write_text(text, encoding="utf-8", newline="")
    if ls.session.client.show_document:
        ls.window_show_document(types.ShowDocumentParams(scratch.as_uri(), take_focus=True))
    else:
        ls.tell(f"the proposal is in {scratch}")
    return {"proposalId": reviewed.proposal.id, "text": text, "hunks": _hunks(reviewed)}


def _hunks(reviewed: Reviewed) -> list[dict[str, Any]]:
    return [
        {
            "hunkId": hunk.id,
            "path": change.path,
            "symbol": hunk.symbol,
            "state": reviewed.states[hunk.id],
            "needs": list(hunk.needs),
            "title": describe_hunk(change, hunk),
            "diff": [hunk_header(change, hunk), *hunk_diff(change, hunk)],
        }
        for change, hunk in reviewed.proposal.hunks()
    ]
