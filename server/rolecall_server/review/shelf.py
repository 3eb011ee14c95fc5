"""Proposals in the store: saved before they are shown, with the state of each hunk."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from rolecall_server.errors import NotFound
from rolecall_server.review.anchor import Stale, locate
from rolecall_server.review.proposal import HunkState, Proposal
from rolecall_server.store import Store

logger = logging.getLogger(__name__)

PROPOSAL_JSON = TypeAdapter(Proposal)
"""A proposal as JSON, in the store and on the command line."""

ReadText = Callable[[str], str | None]
"""The current text of a file by its path, or ``None`` where it does not exist (or cannot be read)."""


@dataclass(frozen=True)
class Reviewed:
    """A proposal as it stands now."""

    proposal: Proposal
    states: Mapping[str, HunkState]
    """Of every hunk, by id."""

    @property
    def accepted(self) -> frozenset[str]:
        """The hunks that are in the text already."""
        return frozenset(hunk_id for hunk_id, state in self.states.items() if state is HunkState.ACCEPTED)

    @property
    def undecided(self) -> frozenset[str]:
        """The hunks that are still offered, placed or not."""
        return frozenset(
            hunk_id for hunk_id, state in self.states.items() if state in (HunkState.PENDING, HunkState.STALE)
        )


def save_proposal(store: Store, proposal: Proposal) -> None:
    """Store *proposal* under its id."""
    store.save_proposal(proposal.id, PROPOSAL_JSON.dump_json(proposal).decode())


def load_undecided(store: Store, root: Path) -> tuple[Reviewed, ...]:
    """The proposals for the workspace at *root* with something left to decide, oldest first."""
    found: list[Reviewed] = []
    for body in store.proposals(root):
        try:
            found.append(_reviewed(store, body))
        except ValidationError:
            logger.warning("A stored proposal cannot be read and is passed over.")
    return tuple(reviewed for reviewed in found if reviewed.undecided)


def load_proposal(store: Store, proposal_id: str) -> Reviewed:
    """One proposal in the states last stored.

    Raises:
        NotFound: there is none of that id.
    """
    return _reviewed(store, store.proposal(proposal_id))


def supersede_earlier(store: Store, root: Path, proposal: Proposal) -> tuple[str, ...]:
    """Put aside what is undecided of earlier proposals for the same thing; the ids of those proposals."""
    superseded: list[str] = []
    for reviewed in load_undecided(store, root):
        earlier = reviewed.proposal
        same = (earlier.role, earlier.title, earlier.origin) == (proposal.role, proposal.title, proposal.origin)
        if same and earlier.id != proposal.id:
            decide(store, reviewed, reviewed.undecided, HunkState.REJECTED, f"{proposal.id} took its place.")
            superseded.append(earlier.id)
    return tuple(superseded)


def refresh(store: Store, reviewed: Reviewed, read_text: ReadText) -> Reviewed:
    """The same proposal against the text as it is now: what cannot be placed is stale, what can is pending again.

    Changes of state are stored.
    """
    changed: dict[str, HunkState] = {}
    reasons: dict[str, str] = {}
    for change in reviewed.proposal.files:
        places = locate(change, reviewed.accepted, read_text(change.path))
        for hunk_id in reviewed.undecided & places.keys():
            place = places[hunk_id]
            state = HunkState.STALE if isinstance(place, Stale) else HunkState.PENDING
            if state is not reviewed.states[hunk_id]:
                changed[hunk_id] = state
                reasons[hunk_id] = place.reason if isinstance(place, Stale) else "The text is back."
    for hunk_id, state in changed.items():
        store.decide(reviewed.proposal.id, {hunk_id: state}, reasons[hunk_id])
    return Reviewed(reviewed.proposal, {**reviewed.states, **changed}) if changed else reviewed


def check_undecided(reviewed: Reviewed, hunk_ids: Collection[str]) -> None:
    """Pass where all *hunk_ids* are still to be decided.

    Raises:
        NotFound: one of them does not exist or was decided before.
    """
    for hunk_id in hunk_ids:
        if hunk_id not in reviewed.undecided:
            known = reviewed.states.get(hunk_id)
            what = f"was {known} before" if known else "does not exist"
            raise NotFound(f"Hunk {hunk_id} of {reviewed.proposal.id} {what}.")


def decide(store: Store, reviewed: Reviewed, hunk_ids: Collection[str], state: HunkState, reason: str = "") -> Reviewed:
    """The proposal with a decision taken on *hunk_ids*; stored, all or none.

    Raises:
        NotFound: one of them does not exist or was decided before.
    """
    check_undecided(reviewed, hunk_ids)
    store.decide(reviewed.proposal.id, dict.fromkeys(hunk_ids, state), reason)
    return Reviewed(reviewed.proposal, {**reviewed.states, **dict.fromkeys(hunk_ids, state)})


def _reviewed(store: Store, body: str) -> Reviewed:
    proposal = PROPOSAL_JSON.validate_json(body)
    stored = store.decisions(proposal.id)
    states = {hunk.id: HunkState(stored.get(hunk.id, HunkState.PENDING)) for _, hunk in proposal.hunks()}
    return Reviewed(proposal, states)
