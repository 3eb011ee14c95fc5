"""The hunks that the developer turned down, told to the role that proposed them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from rolecall_server.review.proposals.proposal import HunkState
from rolecall_server.review.proposals.proposal_store import Reviewed, load_all
from rolecall_server.review.proposals.rendering import describe_hunk
from rolecall_server.store import Store
from rolecall_server.team.documents.values import one_line

MAX_REJECTIONS = 8
MAX_REASON_CHARACTERS = 2000
_SENTENCE_END = re.compile(r"[.!?](?=\s)")


def earlier_rejections(store: Store, root: Path, role: str, path: str) -> tuple[str, ...]:
    """Return the latest hunks of *role*, made on or for *path*, that the developer rejected with a reason; oldest
    first.

    ``- adds test_tax to tests/test_price.py (7 lines): too slow``
    """
    if not path:
        return ()
    mine = [reviewed for reviewed in load_all(store, root) if reviewed.proposal.role == role]
    found = [line for reviewed in mine for line in _rejected(store, reviewed, path)]
    return tuple(found[-MAX_REJECTIONS:])


def decided_by_developer(store: Store, proposal_id: str) -> frozenset[str]:
    """Return the hunks on which the developer had the last word; others were put aside by code."""
    acts = {row.hunk_id: row.act_id for row in store.decisions(proposal_id)}
    return frozenset(hunk_id for hunk_id, act_id in acts.items() if act_id is not None)


def _rejected(store: Store, reviewed: Reviewed, path: str) -> Iterator[str]:
    if HunkState.REJECTED not in reviewed.states.values():
        return
    by_developer = decided_by_developer(store, reviewed.proposal.id)
    for change, hunk in reviewed.proposal.hunks():
        concerns = path in (reviewed.proposal.origin, change.path, change.renamed_to)
        reason = _whole_sentences(one_line(reviewed.reasons.get(hunk.id, "")))
        is_rejected = reviewed.states[hunk.id] is HunkState.REJECTED and hunk.id in by_developer
        if concerns and is_rejected and reason:
            yield f"- {describe_hunk(change, hunk)}: {reason}"


def _whole_sentences(reason: str) -> str:
    """Return *reason*, or those of its sentences that fit; half a sentence may say the opposite."""
    if len(reason) <= MAX_REASON_CHARACTERS:
        return reason
    ends = [found.end() for found in _SENTENCE_END.finditer(reason, 0, MAX_REASON_CHARACTERS + 1)]
    return reason[: ends[-1]] if ends else ""
