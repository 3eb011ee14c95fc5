"""Show a proposal, or a part of one, as a diff with its evidence; show what was sent for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lsprotocol import types

from rolecall_server.lsp.arguments import find_proposal, read_text_argument
from rolecall_server.lsp.proposals.shown import Address, SentAddress, find_any, find_run, render
from rolecall_server.lsp.server import RolecallServer
from rolecall_server.lsp.writing import scratch_folder
from rolecall_server.review.proposals.proposal_store import Reviewed
from rolecall_server.review.proposals.rendering import describe_hunk, hunk_diff, hunk_header
from rolecall_server.team.sent import sent_calls, sent_json


def show_proposal(ls: RolecallServer, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Open a proposal, or one hunk or file of it, as a document; its text is in the reply for clients that draw it.

    An editor that reads documents from a server gets an address, any other a scratch file, which lies beside the
    store, never in the workspace.
    """
    proposal_id = read_text_argument(arguments, "proposalId")
    reviewed = find_any(ls.session, proposal_id) if proposal_id else find_proposal(ls.session, arguments)[1]
    hunk_id, path = (read_text_argument(arguments, name) for name in ("hunkId", "path"))
    address = Address(reviewed.proposal.id, hunk_id, path)
    text = render(ls.session, address)
    _open(ls, address, text)
    return {"proposalId": reviewed.proposal.id, "text": text, "hunks": _hunks(reviewed)}


def show_sent(ls: RolecallServer, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Open what a run told its models, call by call: the run named, that of a proposal, or the latest."""
    run_id = read_text_argument(arguments, "runId")
    if not run_id and (proposal_id := read_text_argument(arguments, "proposalId")):
        run_id = find_any(ls.session, proposal_id).proposal.run_id
    run = find_run(ls.session, run_id)
    address = SentAddress(run.id)
    text = render(ls.session, address)
    _open(ls, address, text)
    return {"runId": run.id, "text": text, "calls": sent_json(sent_calls(ls.session.store, run.id))}


def _open(ls: RolecallServer, address: Address | SentAddress, text: str) -> None:
    client = ls.session.client
    if client.show_document and client.shows_content:
        ls.window_show_document(types.ShowDocumentParams(address.uri, take_focus=True))
        return
    scratch = scratch_folder(ls) / address.file_name
    scratch.write_text(text, encoding="utf-8", newline="")
    if client.show_document:
        ls.window_show_document(types.ShowDocumentParams(scratch.as_uri(), take_focus=True))
    else:
        ls.tell(f"{'the proposal' if isinstance(address, Address) else 'what was sent'} is in {scratch}")


def _hunks(reviewed: Reviewed) -> list[dict[str, Any]]:
    return [
        {
            "hunkId": hunk.id,
            "path": change.path,
            "symbol": hunk.symbol,
            "state": reviewed.states[hunk.id],
            "needs": list(hunk.needs),
            "title": describe_hunk(change, hunk),
            "touches": hunk.touches,
            "serves": list(hunk.serves),
            "off": hunk.off,
            "diff": [hunk_header(change, hunk), *hunk_diff(change, hunk)],
        }
        for change, hunk in reviewed.proposal.hunks()
    ]
