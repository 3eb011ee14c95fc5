"""The evidence of a proposal as it stands now: shown for other texts than those on offer, it says so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rolecall_server.errors import HunkStale
from rolecall_server.review.acceptance import same_lines
from rolecall_server.review.proposals.anchor import path_now, text_with
from rolecall_server.review.proposals.evidence import Evidence
from rolecall_server.review.proposals.proposal import HunkState
from rolecall_server.review.proposals.proposal_store import ReadText, Reviewed
from rolecall_server.review.selection import trial_of

_MOST_NAMED = 5


@dataclass(frozen=True)
class Claim:
    """The evidence of a proposal, and how far it is about what can be accepted now."""

    evidence: Evidence
    misfit: str
    """Why it is about other texts, as a sentence; empty where it is about these."""


def claim_of(reviewed: Reviewed, read_text: ReadText) -> Claim:
    """Return the evidence of the hunks on offer and accepted: of exactly these texts where they were tried."""
    changed = [*_changed(reviewed, read_text)]
    if not changed:
        return Claim(reviewed.proposal.evidence, "")
    try:
        tried = trial_of(reviewed, reviewed.offered, read_text)
    except HunkStale:
        tried = None
    if tried is not None:
        return Claim(tried, "")
    return Claim(reviewed.proposal.evidence, f"This was seen before {', and '.join(changed)}.")


def _changed(reviewed: Reviewed, read_text: ReadText) -> Iterator[str]:
    """Yield what makes the texts others than those that the evidence is about."""
    rejected = [h for h, state in reviewed.states.items() if state is HunkState.REJECTED]
    stale = [h for h, state in reviewed.states.items() if state is HunkState.STALE]
    edited = [h for h in reviewed.states if h in reviewed.edited and h not in rejected]
    for hunk_ids, what in ((edited, "edited"), (rejected, "rejected"), (stale, "lost its place")):
        if hunk_ids:
            verb = what if what == "lost its place" else f"{'was' if len(hunk_ids) == 1 else 'were'} {what}"
            yield f"{_named(hunk_ids)} {verb}"
    for change in reviewed.proposal.files:
        path = path_now(change, reviewed.accepted)
        if not same_lines(read_text(path), text_with(change, reviewed.accepted)):
            yield f"{path} was changed"


def _named(hunk_ids: list[str]) -> str:
    more = len(hunk_ids) - _MOST_NAMED
    return f"{', '.join(hunk_ids[:_MOST_NAMED])}{f' and {more} more' if more > 0 else ''}"
