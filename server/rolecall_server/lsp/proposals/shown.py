"""Proposals, and what was sent for them, as documents: an address for each, and the text an editor reads there."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote

from rolecall_server.errors import NotFound
from rolecall_server.lsp.protocol import PROPOSAL_SCHEME, RUN_SCHEME
from rolecall_server.lsp.session import Session
from rolecall_server.review.proposals.proposal_store import Reviewed, load_proposal
from rolecall_server.review.proposals.rendering import render_proposal
from rolecall_server.store import RunRow

# Some editors write three slashes after the colon.
_ADDRESS = re.compile(
    rf"{PROPOSAL_SCHEME}:/+(?P<proposal>p\d+)(?:/(?P<hunk>h\d+)|/files/(?P<path>.+))?\.diff", re.DOTALL
)
_RUN_ADDRESS = re.compile(rf"{PROPOSAL_SCHEME}:/+(?P<run>r\d+)\.txt")

_SENT_ADDRESS = re.compile(rf"{RUN_SCHEME}:/+(?P<run>r\d+)/sent\.md")


@dataclass(frozen=True)
class SentAddress:
    """The address of a document on what a run told its models."""

    run_id: str

    @property
    def uri(self) -> str:
        """``rolecall-run:/r12/sent.md``"""
        return f"{RUN_SCHEME}:/{self.run_id}/sent.md"

    @property
    def file_name(self) -> str:
        """A name for the same in a folder of files."""
        return f"{self.run_id}-sent.md"


@dataclass(frozen=True)
class Address:
    """A proposal, or one hunk or one file of it."""

    proposal_id: str
    hunk_id: str = ""
    path: str = ""

    @property
    def uri(self) -> str:
        """``rolecall-proposal:/p7.diff``, ``…/p7/h2.diff``, ``…/p7/files/shop/price.py.diff``"""
        part = f"/{self.hunk_id}" if self.hunk_id else f"/files/{quote(self.path)}" if self.path else ""
        return f"{PROPOSAL_SCHEME}:/{self.proposal_id}{part}.diff"

    @property
    def file_name(self) -> str:
        """A name for the same in a folder of files."""
        part = f"-{self.hunk_id}" if self.hunk_id else re.sub(r"\W+", "-", f"-{self.path}")[:80] if self.path else ""
        return f"{self.proposal_id}{part}.diff"


def read_address(uri: str) -> Address | SentAddress:
    """Return the address in *uri*.

    Raises:
        NotFound: it is none.
    """
    if (sent := _SENT_ADDRESS.fullmatch(unquote(uri))) is not None:
        return SentAddress(sent["run"])
    match = _ADDRESS.fullmatch(unquote(uri))
    if match is None:
        raise NotFound(f"{uri} is no proposal.")
    return Address(match["proposal"], match["hunk"] or "", match["path"] or "")


def read_run_address(uri: str) -> str:
    """Return the run whose messages stand at ``rolecall-proposal:/r12.txt``; empty where *uri* is something else."""
    match = _RUN_ADDRESS.fullmatch(unquote(uri))
    return match["run"] if match else ""


def render(session: Session, address: Address | SentAddress) -> str:
    """Return the text at *address* as things stand, decided or not.

    Raises:
        NotFound: there is no such run or proposal in the opened folders, or it has no such part.
    """
    if isinstance(address, SentAddress):
        from rolecall_server.team.sent import render_sent, sent_calls

        return render_sent(find_run(session, address.run_id), sent_calls(session.store, address.run_id))
    reviewed = find_any(session, address.proposal_id)
    hunk_ids = {
        hunk.id
        for change, hunk in reviewed.proposal.hunks()
        if address.hunk_id in ("", hunk.id) and address.path in ("", change.path)
    }
    if not hunk_ids:
        raise NotFound(f"{address.proposal_id} has no {address.hunk_id or address.path}.")
    return render_proposal(reviewed, hunk_ids if address.hunk_id or address.path else None)


def find_any(session: Session, proposal_id: str) -> Reviewed:
    """Return the proposal of that id in one of the opened folders, be it decided or not.

    Raises:
        NotFound: there is none.
    """
    for folder in session.folders.values():
        if (pending := folder.proposals.get(proposal_id)) is not None:
            return pending
    if session.store.root_of(proposal_id) not in session.folders:
        raise NotFound(f"There is no proposal {proposal_id} in the opened folders.")
    return load_proposal(session.store, proposal_id)


def find_run(session: Session, run_id: str = "") -> RunRow:
    """Return the run of that id in one of the opened folders; the latest of them all where none is named.

    Raises:
        NotFound: there is none.
    """
    runs = [run for root in session.folders for run in session.store.runs(root) if run_id in ("", run.id)]
    if not runs:
        raise NotFound(f"There is no run {run_id} in the opened folders.".replace(" run  in", " run in"))
    return max(runs, key=lambda run: int(run.id[1:]))
