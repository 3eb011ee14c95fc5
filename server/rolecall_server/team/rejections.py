"""What the developer turned down, told to the role that proposed it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rolecall_server.review.proposal import HunkState
from rolecall_server.review.rendering import describe_hunk
from rolecall_server.review.shelf import Reviewed, load_all
from rolecall_server.store import Store

MAX_REJECTIONS = 8
MAX_REASON_CHARACTERS = 300


def earlier_rejections(store: Store, root: Path, role: str, path: str) -> tuple[str, ...]:
    """The latest hunks of *role* that the developer rejected with a reason, on *path* or for it, oldest first.

    ``- adds test_tax to tests/test_price.py (7 lines): too slow``
    """
    if not path:
        return ()
    mine = [reviewed for reviewed in load_all(store, root) if reviewed.proposal.role == role]
    found = [line for reviewed in mine for line in _rejected(store, reviewed, path)]
    return tuple(found[-MAX_REJECTIONS:])


def _rejected(store: Store, reviewed: Reviewed, path: str) -> Iterator[str]:
    if HunkState.REJECTED not in reviewed.states.values():
        return
    acts = {row.hunk_id: row.act_id for row in store.decisions(reviewed.proposal.id)}
    for change, hunk in reviewed.proposal.hunks():
        concerns = path in (reviewed.proposal.origin, change.path, change.renamed_to)
        reason = " ".join(reviewed.reasons.get(hunk.id, "").split())[:MAX_REASON_CHARACTERS]
        by_developer = reviewed.states[hunk.id] is HunkState.REJECTED and acts.get(hunk.id) is not None
        if concerns and by_developer and reason:
            yield f"- {describe_hunk(change, hunk)}: {reason}"
