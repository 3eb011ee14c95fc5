"""Proposals in the store: saved before they are shown, with every change of a hunk's state."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, lru_cache
from pathlib import Path
from types import MappingProxyType

from pydantic import TypeAdapter, ValidationError

from rolecall_server.errors import FileRefused, NotFound
from rolecall_server.review.proposals.anchor import Places, Stale, locate, path_now
from rolecall_server.review.proposals.evidence import Evidence
from rolecall_server.review.proposals.hunks import line_ending
from rolecall_server.review.proposals.proposal import FileChange, Hunk, HunkKind, HunkState, Proposal
from rolecall_server.store import DecisionRow, Store
from rolecall_server.store.landings import load_trials
from rolecall_server.workspace import split_lines

logger = logging.getLogger(__name__)

ReadText = Callable[[str], str | None]
"""The current text of a file by its path, or ``None`` where it does not exist (or cannot be read)."""

OFFERED = (HunkState.PENDING, HunkState.EDITED)
"""The states in which a hunk can be accepted."""
UNDECIDED = (*OFFERED, HunkState.STALE)
DECIDED = (HunkState.ACCEPTED, HunkState.REJECTED)


@dataclass(frozen=True)
class Tried:
    """The results of the tests for some hunks of a proposal without the rest."""

    texts: str
    """The fingerprint of the texts that they ran on: other texts are another claim."""
    hunks: frozenset[str]
    evidence: Evidence


@dataclass(frozen=True)
class Reviewed:
    """A proposal as it stands now."""

    proposal: Proposal
    """With the texts that the developer put in place of the role's."""
    states: Mapping[str, HunkState]
    """Of every hunk, by id."""
    reasons: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Why a hunk is in its state, where something was said."""
    edited: frozenset[str] = frozenset()
    """The hunks whose text is the developer's."""
    tried: tuple[Tried, ...] = ()
    """The trials of some of its hunks without the rest, and what came of them; oldest first."""

    @cached_property
    def accepted(self) -> frozenset[str]:
        """The hunks that are in the text already."""
        return self._in(HunkState.ACCEPTED)

    @cached_property
    def offered(self) -> frozenset[str]:
        """The hunks that can be accepted now."""
        return self._in(*OFFERED)

    @cached_property
    def taken_together(self) -> frozenset[str]:
        """The hunks that an acceptance of all takes: those on offer that are not off until chosen."""
        return self.offered - {hunk.id for _, hunk in self.proposal.hunks() if hunk.off}

    @cached_property
    def undecided(self) -> frozenset[str]:
        """The hunks that are still offered, placed or not."""
        return self._in(*UNDECIDED)

    def open_state(self, hunk_id: str) -> HunkState:
        """Return the state of a hunk while it can be accepted."""
        return HunkState.EDITED if hunk_id in self.edited else HunkState.PENDING

    def _in(self, *states: HunkState) -> frozenset[str]:
        return frozenset(hunk_id for hunk_id, state in self.states.items() if state in states)


@cache
def proposal_adapter() -> TypeAdapter[Proposal]:
    """Return what writes and reads a proposal, in the store and on the command line; made when first used, for it takes
    long, and no session begins with it.
    """
    return TypeAdapter(Proposal)


@cache
def evidence_adapter() -> TypeAdapter[Evidence]:
    """Return what writes and reads evidence."""
    return TypeAdapter(Evidence)


def save_proposal(store: Store, proposal: Proposal) -> None:
    """Store *proposal* under its id."""
    store.save_proposal(proposal.id, proposal_adapter().dump_json(proposal).decode(), _paths(proposal))


def remember_modes(store: Store, proposal_id: str, modes: Mapping[str, int]) -> None:
    """Store the permissions of files of a proposal that are taken away, by their paths."""
    # As it was written: with the developer's texts in it, it could not be told any more which those are.
    proposal = _written(store.proposal(proposal_id))
    gone = {change.path: mode for path, mode in modes.items() if (change := proposal.change_of(path)) is not None}
    if gone:
        files = tuple(replace(change, mode=gone.get(change.path, change.mode)) for change in proposal.files)
        save_proposal(store, replace(proposal, files=files))


def load_all(store: Store, root: Path) -> tuple[Reviewed, ...]:
    """Return every proposal for the workspace at *root*, oldest first."""
    return _readable(store, store.proposals(root))


def load_undecided(store: Store, root: Path) -> tuple[Reviewed, ...]:
    """Return the proposals for the workspace at *root* with something left to decide, oldest first."""
    _list_hunks(store, root)
    return _readable(store, store.proposals_without(root, DECIDED))


def load_accepted(store: Store, root: Path, path: str) -> tuple[Reviewed, ...]:
    """Return the proposals of which something was accepted in the file at *path*, oldest first."""
    _list_hunks(store, root)
    return _readable(store, store.proposals_on(root, path, HunkState.ACCEPTED))


def _list_hunks(store: Store, root: Path) -> None:
    """Store where the hunks of proposals are that an earlier Rolecall saved."""
    for body in store.proposals_unlisted(root):
        # A damaged one stays unlisted, and keeps nobody from the others.
        with suppress(ValidationError):
            proposal = proposal_adapter().validate_json(body)
            store.save_proposal(proposal.id, body, _paths(proposal))


def _paths(proposal: Proposal) -> list[tuple[str, str]]:
    """Return the id of each hunk with each path that its file has or may get."""
    return [(h.id, path) for change, h in proposal.hunks() for path in (change.path, change.renamed_to) if path]


def _readable(store: Store, bodies: Iterable[str]) -> tuple[Reviewed, ...]:
    found: list[Reviewed] = []
    for body in bodies:
        try:
            found.append(_reviewed(store, body))
        # Not only a ValidationError: an unknown state makes `HunkState` raise a plain ValueError.
        except ValueError:
            logger.warning("A stored proposal cannot be read and is passed over.")
    return tuple(found)


def load_run(store: Store, run_id: str) -> tuple[Reviewed, ...]:
    """Return every proposal of a run that can be read, oldest first."""
    return _readable(store, store.proposals_of(run_id))


def load_proposal(store: Store, proposal_id: str) -> Reviewed:
    """Return one proposal in the states last stored.

    Raises:
        NotFound: there is none of that id, or what is stored of it cannot be read.
    """
    body = store.proposal(proposal_id)
    try:
        return _reviewed(store, body)
    except ValueError:
        what = f"What {store.path} holds of {proposal_id} cannot be read: it is damaged."
        raise NotFound(what, "Run the command again that made it; the files are as they were.") from None


def supersede_earlier(store: Store, root: Path, proposal: Proposal) -> tuple[str, ...]:
    """Put aside what is undecided of earlier proposals for the same thing; the ids of those proposals."""
    superseded: list[str] = []
    for reviewed in load_undecided(store, root):
        earlier = reviewed.proposal
        same = (earlier.role, earlier.title, earlier.origin) == (proposal.role, proposal.title, proposal.origin)
        if same and earlier.id != proposal.id:
            put_aside(store, reviewed, reviewed.undecided, f"{proposal.id} took its place.")
            superseded.append(earlier.id)
    return tuple(superseded)


def successor_of(reviewed: Reviewed, hunk_id: str) -> str:
    """Return the proposal that took the place of a hunk; empty where none did."""
    # Nothing else than these words, which every replacement gives as its reason, leads from a hunk to its successor.
    successor, _, said = reviewed.reasons.get(hunk_id, "").partition(" ")
    is_replaced = reviewed.states[hunk_id] is HunkState.REJECTED and said == "took its place."
    return successor if is_replaced and successor[:1] == "p" and successor[1:].isdigit() else ""


def put_aside(
    store: Store, reviewed: Reviewed, hunk_ids: Collection[str], reason: str = "", act_id: int | None = None
) -> Reviewed:
    """Reject *hunk_ids* and return the proposal.

    Raises:
        NotFound: one of them does not exist or was decided before.
    """
    check_undecided(reviewed, hunk_ids)
    return decide(store, reviewed, dict.fromkeys(hunk_ids, HunkState.REJECTED), reason, act_id)


def decide(
    store: Store, reviewed: Reviewed, states: Mapping[str, HunkState], reason: str = "", act_id: int | None = None
) -> Reviewed:
    """Store new states of some hunks, all or none, and return the proposal with them."""
    store.decide(reviewed.proposal.id, states, reason, act_id)
    return replace(
        reviewed, states={**reviewed.states, **states}, reasons={**reviewed.reasons, **dict.fromkeys(states, reason)}
    )


def edit_hunk(store: Store, reviewed: Reviewed, hunk_id: str, text: str, act_id: int) -> Reviewed:
    """Replace what a hunk adds by *text*, with the file's line endings, and return the proposal.

    Raises:
        NotFound: there is no such hunk, or it was decided before.
        FileRefused: the hunk has no text, as where it removes or renames a file; or nothing would be left to decide.
    """
    check_undecided(reviewed, [hunk_id])
    change, hunk = next((c, h) for c, h in reviewed.proposal.hunks() if h.id == hunk_id)
    if hunk.kind is not HunkKind.TEXT:
        raise FileRefused(
            f"{hunk_id} has no text to edit: it is about {change.path} as a whole.", "Accept or reject it."
        )
    lines = _as_in_file(change, hunk, text)
    # In a new file a hunk without lines does change something: it makes the file.
    if change.base is not None and _is_base(change, hunk, lines):
        raise FileRefused(f"With that text {hunk_id} would change nothing.", "Reject it instead.")
    # Another text does not give a stale hunk its place back.
    state = HunkState.EDITED if reviewed.states[hunk_id] is not HunkState.STALE else HunkState.STALE
    store.decide(reviewed.proposal.id, {hunk_id: state}, "", act_id, {hunk_id: "".join(lines)})
    return load_proposal(store, reviewed.proposal.id)


def is_taken_back(reviewed: Reviewed, hunk_id: str, text: str) -> bool:
    """Return whether with *text* a hunk would change nothing."""
    change, hunk = next((c, h) for c, h in reviewed.proposal.hunks() if h.id == hunk_id)
    return _is_base(change, hunk, _as_in_file(change, hunk, text))


def check_undecided(reviewed: Reviewed, hunk_ids: Collection[str]) -> None:
    """Pass where all *hunk_ids* are still to be decided.

    Raises:
        NotFound: one of them does not exist or was decided before.
    """
    for hunk_id in hunk_ids:
        if hunk_id not in reviewed.undecided:
            raise _not_open(reviewed, hunk_id)


def _not_open(reviewed: Reviewed, hunk_id: str) -> NotFound:
    proposal_id, known = reviewed.proposal.id, reviewed.states.get(hunk_id)
    if known is None:
        hunk_ids = [*reviewed.states]
        there = f"{hunk_ids[0]} to {hunk_ids[-1]}" if len(hunk_ids) > 1 else "".join(hunk_ids)
        return NotFound(f"Hunk {hunk_id} of {proposal_id} does not exist.", f"There is {there}.")
    what = f"Hunk {hunk_id} of {proposal_id} was {known} before."
    return NotFound(what, f"`rolecall undo {proposal_id}/{hunk_id}` offers it again.")


def refresh(store: Store, reviewed: Reviewed, read_text: ReadText) -> Reviewed:
    """Place the hunks in the text as it is now, and return the proposal: what cannot be placed is stale, what can is
    offered again.

    Changes of state are stored.
    """
    places: Places = {}
    for change in reviewed.proposal.files:
        places |= locate(change, reviewed.accepted, read_text(path_now(change, reviewed.accepted)))
    return replaced(store, reviewed, places)


def replaced(store: Store, reviewed: Reviewed, places: Places) -> Reviewed:
    """Return the proposal with the undecided hunks among *places* stale or offered, as their places say.

    Where another process decided something since it was read, that is what holds, and nothing is stored.
    """
    changed: dict[str, dict[str, HunkState]] = {}
    for hunk_id, place in places.items():
        if hunk_id not in reviewed.undecided:
            continue
        state = HunkState.STALE if isinstance(place, Stale) else reviewed.open_state(hunk_id)
        if state is not reviewed.states[hunk_id]:
            changed.setdefault(place.reason if isinstance(place, Stale) else "", {})[hunk_id] = state
    if not changed:
        return reviewed
    with store.together():
        now = load_proposal(store, reviewed.proposal.id)
        if now.states != reviewed.states:
            return now
        for reason, states in changed.items():
            reviewed = decide(store, reviewed, states, reason)
    return reviewed


def last_act(store: Store, root: Path) -> tuple[int, dict[str, tuple[str, ...]]] | None:
    """Return the last decision that the developer has not taken back: its number, and its hunks by proposal, in the
    order in which they were decided; ``None`` if there is none.
    """
    for act in reversed(store.acts(root)):
        if act.kind not in ("accept", "reject"):
            continue
        found = {of: _standing(store, act.id, of, hunk_ids) for of, hunk_ids in store.decided_in(act.id).items()}
        if any(found.values()):
            return act.id, {proposal_id: hunk_ids for proposal_id, hunk_ids in found.items() if hunk_ids}
    return None


def _is_base(change: FileChange, hunk: Hunk, lines: Sequence[str]) -> bool:
    return tuple(lines) == change.base_lines[hunk.start : hunk.end]


def _standing(store: Store, act_id: int, proposal_id: str, hunk_ids: Collection[str]) -> tuple[str, ...]:
    """Return those of *hunk_ids* of which nothing was decided after that act."""
    # A row without an act is not the developer's: the hunk was placed anew, or made way for a later proposal.
    latest = {row.hunk_id: row for row in store.decisions(proposal_id) if row.act_id is not None}
    return tuple(h for h in hunk_ids if latest[h].act_id == act_id and latest[h].state in DECIDED)


def _as_in_file(change: FileChange, hunk: Hunk, text: str) -> tuple[str, ...]:
    """Return *text* as lines for the place of *hunk*: with the file's ending, and with none at the end where the hunk
    has none there.
    """
    ending = line_ending(change.base or "".join(hunk.new_lines))
    lines = tuple(line.rstrip("\r\n") + ending for line in split_lines(text))
    ends_open = bool(hunk.new_lines) and not hunk.new_lines[-1].endswith(("\n", "\r"))
    return (*lines[:-1], lines[-1].rstrip("\r\n")) if lines and ends_open else lines


def _reviewed(store: Store, body: str) -> Reviewed:
    written = _written(body)
    rows = store.decisions(written.id)
    proposal, edited = _with_texts(written, {row.hunk_id: row.text for row in rows if row.text is not None})
    latest: dict[str, DecisionRow] = {row.hunk_id: row for row in rows}
    states = {hunk.id: HunkState.PENDING for _, hunk in proposal.hunks()}
    states |= {hunk_id: HunkState(row.state) for hunk_id, row in latest.items()}
    reasons = {hunk_id: row.reason for hunk_id, row in latest.items()}
    trials = load_trials(store, written.id)
    tried = tuple(Tried(texts, hunks, evidence_adapter().validate_json(shown)) for texts, hunks, shown in trials)
    return Reviewed(proposal, states, reasons, edited, tried)


@lru_cache(maxsize=16)
def _written(body: str) -> Proposal:
    """Return the proposal in *body*; a text that is read again gives the same values, with what was found out of them.

    Every decision reads its proposal a few times.
    """
    return proposal_adapter().validate_json(body)


def _with_texts(proposal: Proposal, texts: Mapping[str, str]) -> tuple[Proposal, frozenset[str]]:
    """Replace the texts of some hunks; return *proposal* with them, and the ids of the hunks that this changes."""
    lines = {hunk_id: tuple(split_lines(text)) for hunk_id, text in texts.items()}
    # A text that was put back to what the role wrote is no edit.
    edited = frozenset(h.id for _, h in proposal.hunks() if h.id in lines and lines[h.id] != h.new_lines)
    if not edited:
        return proposal, edited

    def with_lines(change: FileChange) -> FileChange:
        if edited.isdisjoint(h.id for h in change.hunks):
            return change
        hunks = tuple(replace(h, new_lines=lines[h.id]) if h.id in edited else h for h in change.hunks)
        return replace(change, hunks=hunks)

    return replace(proposal, files=tuple(map(with_lines, proposal.files))), edited
