"""Hunks in the editor: where each stands now, shown as Information diagnostics on the text it belongs to.

One that is stale is shown as a hint near the place where it stood.

What was worked out for a file is kept until its text changes: a keystroke looks at the hunks of one file.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from lsprotocol import types

from rolecall_server.lsp.proposals.faults import shown_faults
from rolecall_server.lsp.proposals.findings import place_findings, shown_findings
from rolecall_server.lsp.proposals.refreshing import refresh_soon, tell_review_changed
from rolecall_server.lsp.server import RolecallServer
from rolecall_server.lsp.session import Folder, Placed, Session, uri_of
from rolecall_server.lsp.to_lsp import to_diagnostic, to_range, to_stale_diagnostic
from rolecall_server.review.proposals.anchor import Anchor, Places, Stale, locate, path_now
from rolecall_server.review.proposals.edit_journal import believe, fingerprint, hunks_in_text, n_standing, read_off
from rolecall_server.review.proposals.proposal import FileChange, Hunk, HunkState
from rolecall_server.review.proposals.proposal_store import OFFERED, Reviewed, last_act, load_proposal, replaced
from rolecall_server.workspace import split_lines


@dataclass(frozen=True)
class ShownHunk:
    """A hunk on offer, or stale, and where the editor shows it."""

    reviewed: Reviewed
    change: FileChange
    hunk: Hunk
    uri: str
    range: types.Range


def text_changed(ls: RolecallServer, folder: Folder, path: str) -> None:
    """See where the hunks on *path* stand now that its text is another.

    While a decision is being carried out the change is most likely its own; everything is looked at afterwards.
    """
    if folder.edits.lock.locked():
        folder.edits.moved.add(path)
    else:
        look_again(ls, folder, [path])


def look_again(ls: RolecallServer, folder: Folder, paths: Collection[str]) -> None:
    """See where the hunks on these files stand, and show them."""
    for path in paths:
        _believe_text(ls.session, folder, path)
    for proposal_id, reviewed in list(folder.proposals.items()):
        for change in reviewed.proposal.files:
            shown_on = (change.path, change.renamed_to, reviewed.proposal.origin)
            if any(path in shown_on for path in paths):
                _place(ls.session, folder, proposal_id, change)
    place_findings(ls.session, folder, paths)
    _publish(ls, folder)


def reload_proposal(ls: RolecallServer, folder: Folder, proposal_id: str) -> Reviewed:
    """Return the proposal as stored, placed in the text as it is now; the folder keeps it while something is
    undecided.
    """
    return _reload(ls.session, folder, proposal_id)


def show_hunks(ls: RolecallServer, folder: Folder) -> None:
    """Place every hunk of *folder* and publish those on offer; say first what was found when it was opened."""
    for sentence in folder.edits.to_tell:
        ls.tell(sentence)
    folder.edits.to_tell = ()
    for path in list(folder.edits.chains):
        _believe_text(ls.session, folder, path)
    # A list of its own: `_reload` takes proposals out of which nothing is undecided.
    for proposal_id in list(folder.proposals):
        _reload(ls.session, folder, proposal_id)
    place_findings(ls.session, folder)
    _publish(ls, folder)


def clear_hunks(ls: RolecallServer, folder: Folder) -> None:
    """Take back what was published for *folder*, which is open no more."""
    for uri in folder.marks.published:
        ls.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))
    folder.marks.published.clear()


def shown_hunks(session: Session, folder: Folder) -> Iterator[ShownHunk]:
    """Yield the hunks on offer in *folder* with their places, proposal by proposal.

    A hunk of a file that does not exist yet is shown on the first line of the file the command was given on.
    """
    yield from _shown(folder, OFFERED)


def stale_hunks(session: Session, folder: Folder) -> Iterator[ShownHunk]:
    """Yield the stale hunks in *folder*, each at the nearest line that is still known, proposal by proposal."""
    yield from _shown(folder, (HunkState.STALE,))


def decided_last(session: Session, folder: Folder) -> tuple[tuple[Reviewed, tuple[str, ...]], ...]:
    """Return the last decision that the developer has not taken back: proposals, each with its hunks; none if there is
    none.

    The store is asked again only once something was stored since, here or by another process.
    """
    moment = session.store.moment()
    if folder.marks.decided_last is None or folder.marks.decided_last[0] != moment:
        act = last_act(session.store, folder.root)
        decided = act[1].items() if act is not None else ()
        found = tuple((load_proposal(session.store, proposal_id), hunk_ids) for proposal_id, hunk_ids in decided)
        folder.marks.decided_last = moment, found
    return folder.marks.decided_last[1]


def diagnostic_of(shown: ShownHunk) -> types.Diagnostic:
    """Return the diagnostic of a hunk for the editor: an Information while it is on offer, a hint when it is stale."""
    reviewed, hunk = shown.reviewed, shown.hunk
    if reviewed.states[hunk.id] is HunkState.STALE:
        reason = reviewed.reasons.get(hunk.id, "")
        return to_stale_diagnostic(reviewed.proposal, shown.change, hunk, shown.range, reason)
    return to_diagnostic(reviewed.proposal, shown.change, hunk, shown.range)


def _shown(folder: Folder, states: Collection[HunkState]) -> Iterator[ShownHunk]:
    for reviewed in folder.proposals.values():
        for change in reviewed.proposal.files:
            placed = folder.marks.placed.get((reviewed.proposal.id, change.path))
            if placed is None:
                continue
            for hunk in change.hunks:
                place = placed.ranges.get(hunk.id) or placed.lost.get(hunk.id)
                if reviewed.states[hunk.id] in states and place is not None:
                    yield ShownHunk(reviewed, change, hunk, placed.uri, place)


def _reload(session: Session, folder: Folder, proposal_id: str) -> Reviewed:
    reviewed = folder.proposals[proposal_id] = load_proposal(session.store, proposal_id)
    for change in reviewed.proposal.files:
        reviewed = _place(session, folder, proposal_id, change)
    folder.traces.take(reviewed)
    if not reviewed.undecided:
        del folder.proposals[proposal_id]
        for change in reviewed.proposal.files:
            folder.marks.placed.pop((proposal_id, change.path), None)
    return reviewed


def _believe_text(session: Session, folder: Folder, path: str) -> None:
    """Set right what is accepted by what stands in the text of *path*, where decisions of this session changed it."""
    chain = folder.edits.chains.get(path)
    if not chain:
        return
    text = session.read_text(folder, path)
    n = n_standing(chain, fingerprint(text))
    # Emacs tells of an edit of ours only after the next key, so its text may still be the one before.
    untold = session.client.tells_when_idle and chain[-1].before in _prints(text)
    if n == len(chain) or (session.document_at(folder, path) is not None and not untold):
        folder.edits.in_memory.discard(path)
    # Nothing is new, or the text that is seen here is not the one that the editor holds.
    if (n is not None and n == folder.edits.standing.get(path)) or path in folder.edits.in_memory:
        return
    said = hunks_in_text(chain, n) if n is not None else read_off(session.store, folder.root, chain, path, text)
    if said:
        folder.edits.standing[path] = len(chain) if n is None else n
    for proposal_id in believe(session.store, said):
        _reload(session, folder, proposal_id)


def _prints(text: str | None) -> set[str]:
    """Return the fingerprints that a file may have had on disk when an editor that opened it shows *text*."""
    # An editor shows a file that is not there as an empty text, and may show every line end as "\n".
    return {fingerprint(text), fingerprint(text or None), fingerprint((text or "").replace("\n", "\r\n"))}


def _place(session: Session, folder: Folder, proposal_id: str, change: FileChange) -> Reviewed:
    """Place the hunks of *change* in the text as it is now and return the proposal; the folder keeps their places."""
    reviewed, key = folder.proposals[proposal_id], (proposal_id, change.path)
    path = path_now(change, reviewed.accepted)
    text = session.read_text(folder, path)
    shown_on = path if text is not None else reviewed.proposal.origin
    document = session.document_at(folder, shown_on) if shown_on else None
    shown_text = text if text is not None else session.read_text(folder, shown_on) if shown_on else None
    accepted = [hunk.id for hunk in change.hunks if hunk.id in reviewed.accepted]
    made_of = (change, accepted, text, shown_on, shown_text, document and document.uri)
    placed = folder.marks.placed.get(key)
    if placed is None or placed.made_of != made_of:
        places = locate(change, reviewed.accepted, text)
        ranges = _ranges(session, places, shown_text or "", is_own=text is not None) if shown_on else {}
        lost = {h: ranges.pop(h) for h, place in places.items() if isinstance(place, Stale) and h in ranges}
        uri = document.uri if document else uri_of(folder.root, shown_on) if shown_on else ""
        placed = folder.marks.placed[key] = Placed(uri, ranges, lost, places, made_of)
    reviewed = folder.proposals[proposal_id] = replaced(session.store, reviewed, placed.places)
    return reviewed


def _ranges(session: Session, places: Places, shown_text: str, *, is_own: bool) -> dict[str, types.Range]:
    lines = split_lines(shown_text)
    return {
        hunk_id: to_range(lines, _known(place) if is_own else Anchor(0, 0), session.client)
        for hunk_id, place in places.items()
    }


def _known(place: Anchor | Stale) -> Anchor:
    """Return *place*, or for a stale one the nearest line that is still known."""
    return place if isinstance(place, Anchor) else Anchor(place.near, place.near)


def _publish(ls: RolecallServer, folder: Folder) -> None:
    """Publish what is on offer where it differs from what the editor was told."""
    by_uri: dict[str, list[types.Diagnostic]] = {}
    if not ls.session.client.review:
        for shown in (*shown_hunks(ls.session, folder), *stale_hunks(ls.session, folder)):
            by_uri.setdefault(shown.uri, []).append(diagnostic_of(shown))
    for uri, finding in shown_findings(folder):
        by_uri.setdefault(uri, []).append(finding)
    for fault in shown_faults(ls.session, folder):
        by_uri.setdefault(fault.uri, []).append(fault.diagnostic)
    changed = [
        uri
        for uri in folder.marks.published.keys() | by_uri.keys()
        if by_uri.get(uri, []) != folder.marks.published.get(uri, [])
    ]
    for uri in changed:
        ls.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, by_uri.get(uri, [])))
    folder.marks.published = by_uri
    drawn = _drawn(folder) if ls.session.client.rolecall else folder.marks.drawn
    is_drawn_anew = drawn != folder.marks.drawn
    if is_drawn_anew:
        folder.marks.drawn = drawn
        tell_review_changed(ls)
        ls.activity_changed()
    if changed or is_drawn_anew:
        refresh_soon(ls)


def _drawn(folder: Folder) -> dict[str, object]:
    """Return what an editor that draws hunks sees of each proposal, as far as it can change."""
    return {
        proposal_id: (
            reviewed.states,
            {hunk.id: hunk.new_lines for _, hunk in reviewed.proposal.hunks() if hunk.id in reviewed.edited},
            [folder.marks.placed.get((proposal_id, change.path)) for change in reviewed.proposal.files],
        )
        for proposal_id, reviewed in folder.proposals.items()
    }
