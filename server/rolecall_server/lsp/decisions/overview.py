"""Plain values for an editor that draws the proposals that wait: their files, their hunks, their states."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from functools import partial
from typing import Any

from lsprotocol import types

from rolecall_server.errors import NotFound
from rolecall_server.lsp.arguments import find_decided
from rolecall_server.lsp.session import Folder, Session, uri_of
from rolecall_server.review.claims import claim_of
from rolecall_server.review.guards.cautions import cautions
from rolecall_server.review.guards.guarded_paths import guarded_paths
from rolecall_server.review.proposals.anchor import path_now
from rolecall_server.review.proposals.edit_journal import fingerprint
from rolecall_server.review.proposals.evidence import summarise
from rolecall_server.review.proposals.proposal import FileChange, Hunk, HunkKind, Proposal
from rolecall_server.review.proposals.proposal_store import DECIDED, Reviewed
from rolecall_server.review.proposals.rendering import (
    describe_hunk,
    failures_at,
    render_evidence,
    visible,
    worth_at,
)
from rolecall_server.store import Store


def review_of(session: Session) -> dict[str, Any]:
    """Return every proposal with something undecided, the newest first, and what an undo would take back."""
    found = [(folder, one) for folder in session.folders.values() for one in folder.proposals.values()]
    found.sort(key=lambda entry: -int(entry[1].proposal.id[1:]))
    return {"proposals": [_proposal(session, *entry) for entry in found], "undo": _undo(session)}


def _undo(session: Session) -> dict[str, Any] | None:
    """Return the decision that is taken back next; ``None`` where there is none."""
    try:
        decided = find_decided(session, {})
    except NotFound:
        return None
    _, latest, hunk_ids = decided[0]
    text = "; ".join(_counted(reviewed, of_it) for _, reviewed, of_it in decided)
    return {"proposalId": latest.proposal.id, "hunkIds": list(hunk_ids), "text": text}


def _counted(reviewed: Reviewed, hunk_ids: Collection[str]) -> str:
    """``p7: 2 hunks accepted, 1 hunk rejected``"""
    states = Counter(reviewed.states[hunk_id].value for hunk_id in hunk_ids)
    what = ", ".join(f"{n} hunk{'s' if n != 1 else ''} {state}" for state, n in states.items())
    return f"{reviewed.proposal.id}: {what}"


def _proposal(session: Session, folder: Folder, reviewed: Reviewed) -> dict[str, Any]:
    proposal = reviewed.proposal
    claim = claim_of(reviewed, partial(session.read_text, folder))
    guarded = _guarded(session, folder, proposal)
    return {
        "proposalId": proposal.id,
        "runId": proposal.run_id,
        "role": proposal.role,
        "title": visible(proposal.title),
        "rationale": visible(proposal.rationale),
        "root": folder.root.as_uri(),
        "evidence": {
            "text": visible(summarise(claim.evidence)),
            "lines": [visible(line) for line in render_evidence(claim.evidence)],
            "misfit": visible(claim.misfit),
        },
        "counts": Counter(state.value for state in reviewed.states.values()),
        "tasks": _tasks(session.store, reviewed),
        "files": [_file(session, folder, reviewed, change, guarded) for change in proposal.files],
    }


def _guarded(session: Session, folder: Folder, proposal: Proposal) -> Mapping[str, str]:
    """Return the guarded files of *proposal*; an acceptance looks anew, and asks about each."""
    known = folder.marks.guarded.get(proposal.id)
    if known is None or known[0] != proposal:
        whys = guarded_paths(session.workspace(folder), proposal, {hunk.id for _, hunk in proposal.hunks()})
        known = folder.marks.guarded[proposal.id] = proposal, whys
    return known[1]


def _tasks(store: Store, reviewed: Reviewed) -> list[dict[str, str]]:
    """Return the tasks that its hunks serve, each with the line that explains it."""
    names = dict.fromkeys(name for _, hunk in reviewed.proposal.hunks() for name in hunk.serves if name[:1] == "T")
    if not names:
        return []
    from rolecall_server.team.documents.document_store import documents_of
    from rolecall_server.team.documents.links.linking import Linked
    from rolecall_server.team.documents.links.pages import explain

    run = Linked(documents_of(store, reviewed.proposal.run_id))
    explained = {name: explain(name, run) for name in names}
    return [
        {"taskId": name, "title": visible(lines[0].replace("**", "") if lines else name)}
        for name, lines in explained.items()
    ]


def _file(
    session: Session, folder: Folder, reviewed: Reviewed, change: FileChange, guarded: Mapping[str, str]
) -> dict[str, Any]:
    path = path_now(change, reviewed.accepted)
    return {
        "path": change.path,
        "newPath": change.renamed_to,
        "kind": _kind(change),
        "uri": uri_of(folder.root, path),
        "version": fingerprint(session.read_text(folder, path)),
        "guarded": visible(_why_guarded(reviewed, change, guarded)),
        "hunks": _hunks(folder, reviewed, change),
    }


def _kind(change: FileChange) -> str:
    is_deleted = any(hunk.kind is HunkKind.DELETE for hunk in change.hunks)
    what = "added" if change.creates else "deleted" if is_deleted else "changed"
    return "renamed" if change.renamed_to else what


def _why_guarded(reviewed: Reviewed, change: FileChange, guarded: Mapping[str, str]) -> str:
    """Return why a file of which something waits is guarded."""
    waits = any(hunk.id in reviewed.undecided for hunk in change.hunks)
    return (guarded.get(change.path) or guarded.get(change.renamed_to) or "") if waits else ""


def _hunks(folder: Folder, reviewed: Reviewed, change: FileChange) -> list[dict[str, Any]]:
    """Return the hunks of a file as values: those of the last time, where nothing that they are made of is another."""
    key = reviewed.proposal.id, change.path
    states = [(reviewed.states[h.id], reviewed.reasons.get(h.id), h.id in reviewed.edited) for h in change.hunks]
    made_of = (change, reviewed.proposal.evidence, states, folder.marks.placed.get(key))
    known = folder.marks.hunks.get(key)
    if known is None or known[0] != made_of:
        known = folder.marks.hunks[key] = made_of, [_hunk(folder, reviewed, change, hunk) for hunk in change.hunks]
    return known[1]


def _hunk(folder: Folder, reviewed: Reviewed, change: FileChange, hunk: Hunk) -> dict[str, Any]:
    proposal, state = reviewed.proposal, reviewed.states[hunk.id]
    placed = None if state in DECIDED else folder.marks.placed.get((proposal.id, change.path))
    place = placed and (placed.ranges.get(hunk.id) or placed.lost.get(hunk.id))
    parts = change.parts(hunk)
    told = [*failures_at(proposal, change, hunk), *worth_at(proposal, change, hunk)]
    return {
        "hunkId": hunk.id,
        "kind": hunk.kind.value,
        "state": state.value,
        "reason": visible(reviewed.reasons.get(hunk.id, "")),
        "title": visible(describe_hunk(change, hunk)),
        "symbol": visible(hunk.symbol),
        "edited": hunk.id in reviewed.edited,
        "off": hunk.off,
        "needs": list(hunk.needs),
        "serves": list(hunk.serves),
        "touches": visible(hunk.touches),
        "cautions": [visible(one) for one in cautions(change, hunk)],
        "evidence": [visible(one) for one in told],
        "removed": sum(end - start for start, end, _, _ in parts),
        "added": sum(end - start for _, _, start, end in parts),
        "place": {"uri": placed.uri, "range": _range(place)} if placed and place and not change.creates else None,
    }


def _range(range_: types.Range) -> dict[str, Any]:
    """Return a range as JSON has it, which the protocol need not convert."""
    ends = {"start": range_.start, "end": range_.end}
    return {name: {"line": at.line, "character": at.character} for name, at in ends.items()}
