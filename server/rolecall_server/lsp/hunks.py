"""Hunks in the editor: Information diagnostics, kept where the text they belong to is."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from lsprotocol import types

from rolecall_server.lsp.server import RolecallServer
from rolecall_server.lsp.session import Folder, Session, uri_of
from rolecall_server.lsp.to_lsp import to_diagnostic, to_range
from rolecall_server.review.anchor import Anchor, locate
from rolecall_server.review.proposal import FileChange, Hunk, HunkState
from rolecall_server.review.shelf import ReadText, Reviewed, load_proposal, refresh
from rolecall_server.workspace import split_lines


@dataclass(frozen=True)
class ShownHunk:
    """A pending hunk and where the editor shows it."""

    reviewed: Reviewed
    change: FileChange
    hunk: Hunk
    uri: str
    range: types.Range


def text_changed(ls: RolecallServer, folder: Folder, path: str) -> None:
    """See where the hunks on *path* stand now that its text is another.

    While an acceptance is under way the change is most likely the acceptance itself; it is looked at afterwards.
    """
    concerned = [
        proposal_id
        for proposal_id, reviewed in folder.proposals.items()
        if any(path in (change.path, reviewed.proposal.origin) for change in reviewed.proposal.files)
    ]
    if concerned and not folder.deciding.locked():
        refresh_hunks(ls, folder, concerned)


def refresh_hunks(ls: RolecallServer, folder: Folder, proposal_ids: Collection[str]) -> None:
    """See where the hunks of these proposals stand, and show all."""
    for proposal_id in proposal_ids:
        reviewed = folder.proposals[proposal_id]
        folder.proposals[proposal_id] = refresh(ls.session.store, reviewed, _reader(ls.session, folder))
    show_hunks(ls, folder)


def reload_proposal(ls: RolecallServer, folder: Folder, proposal_id: str) -> Reviewed:
    """The proposal as stored and as the text is now; kept by the folder while something is undecided."""
    reviewed = refresh(ls.session.store, load_proposal(ls.session.store, proposal_id), _reader(ls.session, folder))
    if reviewed.undecided:
        folder.proposals[proposal_id] = reviewed
    else:
        folder.proposals.pop(proposal_id, None)
    return reviewed


def show_hunks(ls: RolecallServer, folder: Folder) -> None:
    """Publish the pending hunks of *folder*, and clear the files that have none any more."""
    by_uri: dict[str, list[types.Diagnostic]] = {}
    for shown in shown_hunks(ls.session, folder):
        diagnostic = to_diagnostic(shown.reviewed.proposal, shown.change, shown.hunk, shown.range)
        by_uri.setdefault(shown.uri, []).append(diagnostic)
    for uri in folder.shown | by_uri.keys():
        ls.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, by_uri.get(uri, [])))
    folder.shown = set(by_uri)


def clear_hunks(ls: RolecallServer, folder: Folder) -> None:
    """Take back what was published for *folder*, which is open no more."""
    for uri in folder.shown:
        ls.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))
    folder.shown.clear()


def shown_hunks(session: Session, folder: Folder) -> Iterator[ShownHunk]:
    """The pending hunks of *folder* with their places, proposal by proposal.

    A hunk of a file that does not exist yet is shown on the first line of the file the command was given on.
    """
    for reviewed in folder.proposals.values():
        for change in reviewed.proposal.files:
            text = session.read_text(folder, change.path)
            places = locate(change, reviewed.accepted, text)
            shown_on = change.path if text is not None else reviewed.proposal.origin
            if not shown_on:
                continue
            uri = _uri(session, folder, shown_on)
            shown_text = text if text is not None else session.read_text(folder, shown_on)
            lines = split_lines(shown_text or "")
            for hunk in change.hunks:
                place = places.get(hunk.id)
                if reviewed.states[hunk.id] is HunkState.PENDING and isinstance(place, Anchor):
                    where = place if text is not None else Anchor(0, 0)
                    yield ShownHunk(reviewed, change, hunk, uri, to_range(lines, where, session.client))


def _uri(session: Session, folder: Folder, path: str) -> str:
    document = session.document_at(folder, path)
    return document.uri if document else uri_of(folder.root, path)


def _reader(session: Session, folder: Folder) -> ReadText:
    return lambda path: session.read_text(folder, path)
