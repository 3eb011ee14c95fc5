"""Proposals in the store: saved before they are shown, with every change of a hunk's state."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

import psutil
from pydantic import TypeAdapter, ValidationError

from rolecall_server.errors import FileRefused, NotFound
from rolecall_server.review.anchor import Places, Stale, locate, path_now, standing
from rolecall_server.review.evidence import Evidence
from rolecall_server.review.hunks import line_ending
from rolecall_server.review.landings import UNKNOWN, Key, fingerprint, hunks_in_text, n_standing
from rolecall_server.review.proposal import FileChange, Hunk, HunkKind, HunkState, Proposal
from rolecall_server.store import DecisionRow, LandingRow, Store
from rolecall_server.store.landings import (
    add_landings,
    claim_landings,
    forget_landings,
    load_landings,
    load_trials,
)
from rolecall_server.workspace import split_lines

logger = logging.getLogger(__name__)

PROPOSAL_JSON = TypeAdapter(Proposal)
"""A proposal as JSON, in the store and on the command line."""

EVIDENCE_JSON = TypeAdapter(Evidence)

ReadText = Callable[[str], str | None]
"""The current text of a file by its path, or ``None`` where it does not exist (or cannot be read)."""

OFFERED = (HunkState.PENDING, HunkState.EDITED)
"""The states in which a hunk can be accepted."""
UNDECIDED = (*OFFERED, HunkState.STALE)
DECIDED = (HunkState.ACCEPTED, HunkState.REJECTED)


@dataclass(frozen=True)
class Tried:
    """What the tests showed of some hunks of a proposal without the rest."""

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
    """Which of its hunks were tried without the rest, and what came of it; oldest first."""

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
        """The state of a hunk while it can be accepted."""
        return HunkState.EDITED if hunk_id in self.edited else HunkState.PENDING

    def _in(self, *states: HunkState) -> frozenset[str]:
        return frozenset(hunk_id for hunk_id, state in self.states.items() if state in states)


def save_proposal(store: Store, proposal: Proposal) -> None:
    """Store *proposal* under its id."""
    store.save_proposal(proposal.id, PROPOSAL_JSON.dump_json(proposal).decode(), _paths(proposal))


def load_all(store: Store, root: Path) -> tuple[Reviewed, ...]:
    """Every proposal for the workspace at *root*, oldest first."""
    return _readable(store, store.proposals(root))


def load_undecided(store: Store, root: Path) -> tuple[Reviewed, ...]:
    """The proposals for the workspace at *root* with something left to decide, oldest first."""
    _list_hunks(store, root)
    return _readable(store, store.proposals_without(root, DECIDED))


def load_accepted(store: Store, root: Path, path: str) -> tuple[Reviewed, ...]:
    """The proposals of which something was accepted in the file at *path*, oldest first."""
    _list_hunks(store, root)
    return _readable(store, store.proposals_on(root, path, HunkState.ACCEPTED))


def _list_hunks(store: Store, root: Path) -> None:
    """Store where the hunks of proposals are that an earlier Rolecall saved."""
    for body in store.proposals_unlisted(root):
        with suppress(ValidationError):
            proposal = PROPOSAL_JSON.validate_json(body)
            store.save_proposal(proposal.id, body, _paths(proposal))


def _paths(proposal: Proposal) -> list[tuple[str, str]]:
    """The id of each hunk with each path that its file has or may get."""
    return [(h.id, path) for change, h in proposal.hunks() for path in (change.path, change.renamed_to) if path]


def _readable(store: Store, bodies: Iterable[str]) -> tuple[Reviewed, ...]:
    found: list[Reviewed] = []
    for body in bodies:
        try:
            found.append(_reviewed(store, body))
        except ValidationError:
            logger.warning("A stored proposal cannot be read and is passed over.")
    return tuple(found)


def load_run(store: Store, run_id: str) -> tuple[Reviewed, ...]:
    """Every proposal of a run, oldest first."""
    return tuple(_reviewed(store, body) for body in store.proposals_of(run_id))


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
            put_aside(store, reviewed, reviewed.undecided, f"{proposal.id} took its place.")
            superseded.append(earlier.id)
    return tuple(superseded)


def put_aside(
    store: Store, reviewed: Reviewed, hunk_ids: Collection[str], reason: str = "", act_id: int | None = None
) -> Reviewed:
    """The proposal with *hunk_ids* rejected.

    Raises:
        NotFound: one of them does not exist or was decided before.
    """
    check_undecided(reviewed, hunk_ids)
    return decide(store, reviewed, dict.fromkeys(hunk_ids, HunkState.REJECTED), reason, act_id)


def decide(
    store: Store, reviewed: Reviewed, states: Mapping[str, HunkState], reason: str = "", act_id: int | None = None
) -> Reviewed:
    """The proposal with some hunks in new states; stored, all or none."""
    store.decide(reviewed.proposal.id, states, reason, act_id)
    return replace(
        reviewed, states={**reviewed.states, **states}, reasons={**reviewed.reasons, **dict.fromkeys(states, reason)}
    )


def edit_hunk(store: Store, reviewed: Reviewed, hunk_id: str, text: str, act_id: int) -> Reviewed:
    """The proposal with *text* as what a hunk brings in; its lines get the file's ending.

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
    if change.base is not None and lines == change.base_lines[hunk.start : hunk.end]:
        raise FileRefused(f"With that text {hunk_id} would change nothing.", "Reject it instead.")
    state = HunkState.EDITED if reviewed.states[hunk_id] is not HunkState.STALE else HunkState.STALE
    store.decide(reviewed.proposal.id, {hunk_id: state}, "", act_id, {hunk_id: "".join(lines)})
    return load_proposal(store, reviewed.proposal.id)


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


def refresh(store: Store, reviewed: Reviewed, read_text: ReadText) -> Reviewed:
    """The same proposal against the text as it is now: what cannot be placed is stale, what can is offered again.

    Changes of state are stored.
    """
    places: Places = {}
    for change in reviewed.proposal.files:
        places |= locate(change, reviewed.accepted, read_text(path_now(change, reviewed.accepted)))
    return replaced(store, reviewed, places)


def replaced(store: Store, reviewed: Reviewed, places: Places) -> Reviewed:
    """The same proposal with the undecided hunks among *places* stale or offered, as their places say."""
    changed: dict[str, dict[str, HunkState]] = {}
    for hunk_id, place in places.items():
        if hunk_id not in reviewed.undecided:
            continue
        state = HunkState.STALE if isinstance(place, Stale) else reviewed.open_state(hunk_id)
        if state is not reviewed.states[hunk_id]:
            changed.setdefault(place.reason if isinstance(place, Stale) else "", {})[hunk_id] = state
    for reason, states in changed.items():
        reviewed = decide(store, reviewed, states, reason)
    return reviewed


def read_off(store: Store, root: Path, chain: list[LandingRow], path: str, text: str | None) -> dict[Key, bool]:
    """Which hunks of *chain* are in a *text* that is none of it, by its lines.

    What is otherwise than stored, or than the chain has it, becomes a step of the chain: the text after it is this one.
    """
    said: dict[Key, bool] = {}
    meant = hunks_in_text(chain, len(chain))
    for proposal_id in dict.fromkeys(of for of, _ in meant):
        reviewed = load_proposal(store, proposal_id)
        change = reviewed.proposal.change_of(path)
        if change is None or path_now(change, reviewed.accepted) != path:
            continue
        hunk_ids = [hunk_id for of, hunk_id in meant if of == proposal_id]
        now = standing(change, reviewed.accepted, hunk_ids, text)
        said |= {(proposal_id, h): h in now for h in hunk_ids}
        news = [h for h in hunk_ids if len({h in now, h in reviewed.accepted, meant[proposal_id, h]}) > 1]
        if news:
            came, went = tuple(h for h in news if h in now), tuple(h for h in news if h not in now)
            step = LandingRow(0, path, proposal_id, came, went, UNKNOWN, fingerprint(text), os.getpid())
            chain += add_landings(store, root, [step])
    return said


def believe(store: Store, in_text: Mapping[Key, bool]) -> tuple[str, ...]:
    """Set right which hunks are accepted by what stands in the text (`landings.hunks_in_text`); the proposals changed.

    The text decides: an edit that an editor undid, or never saved, was not accepted after all. A hunk that was rejected
    and that an editor's undo brings in is accepted as long as it stands there, and rejected again afterwards.
    """
    changed: list[str] = []
    for proposal_id in dict.fromkeys(proposal_id for proposal_id, _ in in_text):
        reviewed = load_proposal(store, proposal_id)
        of_it = {hunk_id: is_in for (of, hunk_id), is_in in in_text.items() if of == proposal_id}
        came = {h: HunkState.ACCEPTED for h, is_in in of_it.items() if is_in and h not in reviewed.accepted}
        went = {h: reviewed.open_state(h) for h, is_in in of_it.items() if not is_in and h in reviewed.accepted}
        went |= dict.fromkeys(went.keys() & _turned_down(store, proposal_id), HunkState.REJECTED) if went else {}
        if came:
            reviewed = decide(store, reviewed, came, "Its text is in the file.")
        if went:
            decide(store, reviewed, went, "Its text is not in the file any more.")
        if came or went:
            changed.append(proposal_id)
    return tuple(changed)


def _turned_down(store: Store, proposal_id: str) -> set[str]:
    """The hunks whose rejection was the last thing that was decided of them, whatever their text did since."""
    decided = [row for row in store.decisions(proposal_id) if row.act_id is not None or row.state == HunkState.REJECTED]
    latest = {row.hunk_id: row.state for row in decided}
    return {hunk_id for hunk_id, state in latest.items() if state == HunkState.REJECTED}


def last_act(store: Store, root: Path) -> tuple[int, str, tuple[str, ...]] | None:
    """What the developer decided last and has not taken back: its number, the proposal and the hunks."""
    for act in reversed(store.acts(root)):
        if act.kind not in ("accept", "reject"):
            continue
        for proposal_id, hunk_ids in store.decided_in(act.id).items():
            latest = {row.hunk_id: row for row in store.decisions(proposal_id) if row.act_id is not None}
            standing = tuple(h for h in hunk_ids if latest[h].act_id == act.id and latest[h].state in DECIDED)
            if standing:
                return act.id, proposal_id, standing
    return None


def take_over(store: Store, root: Path, read_text: ReadText) -> dict[str, list[LandingRow]]:
    """What processes that have ended did to files without seeing it saved, by path.

    What the file says came of it is stored.
    """
    left = [row for row in load_landings(store, root) if not psutil.pid_exists(row.process_id)]
    claim_landings(store, [row.id for row in left], os.getpid())
    chains: dict[str, list[LandingRow]] = {}
    for row in left:
        chains.setdefault(row.path, []).append(row)
    for path, chain in list(chains.items()):
        text, meant = read_text(path), hunks_in_text(chain, len(chain))
        n = n_standing(chain, fingerprint(text))
        said = hunks_in_text(chain, n) if n is not None else read_off(store, root, chain, path, text)
        believe(store, said)
        # Read off or come back to: an editor may still hold what lies between.
        is_older = chain[-1].before == UNKNOWN or any(row.before == fingerprint(text) for row in chain)
        if (n == len(chain) and not is_older) or (n is None and _are_stored(store, meant)):  # saved
            forget_landings(store, [row.id for row in chain])
            del chains[path]
    return chains


def _are_stored(store: Store, in_text: Mapping[Key, bool]) -> bool:
    """Whether those hunks that are in the text, and only those, are stored as accepted."""
    return all(is_in is (hunk_id in load_proposal(store, of).accepted) for (of, hunk_id), is_in in in_text.items())


def _as_in_file(change: FileChange, hunk: Hunk, text: str) -> tuple[str, ...]:
    """*text* as lines that fit where *hunk* stands: with the file's ending, also after the last one."""
    ending = line_ending(change.base or "".join(hunk.new_lines))
    lines = tuple(line.rstrip("\r\n") + ending for line in split_lines(text))
    ends_open = bool(hunk.new_lines) and not hunk.new_lines[-1].endswith(("\n", "\r"))
    return (*lines[:-1], lines[-1].rstrip("\r\n")) if lines and ends_open else lines


def _reviewed(store: Store, body: str) -> Reviewed:
    written = PROPOSAL_JSON.validate_json(body)
    rows = store.decisions(written.id)
    proposal, edited = _with_texts(written, {row.hunk_id: row.text for row in rows if row.text is not None})
    latest: dict[str, DecisionRow] = {row.hunk_id: row for row in rows}
    states = {hunk.id: HunkState.PENDING for _, hunk in proposal.hunks()}
    states |= {hunk_id: HunkState(row.state) for hunk_id, row in latest.items()}
    reasons = {hunk_id: row.reason for hunk_id, row in latest.items()}
    trials = load_trials(store, written.id)
    tried = tuple(Tried(texts, hunks, EVIDENCE_JSON.validate_json(shown)) for texts, hunks, shown in trials)
    return Reviewed(proposal, states, reasons, edited, tried)


def _with_texts(proposal: Proposal, texts: Mapping[str, str]) -> tuple[Proposal, frozenset[str]]:
    """*proposal* with some hunks' texts replaced, and the hunks for which that makes a difference."""
    lines = {hunk_id: tuple(split_lines(text)) for hunk_id, text in texts.items()}
    edited = frozenset(h.id for _, h in proposal.hunks() if h.id in lines and lines[h.id] != h.new_lines)
    if not edited:
        return proposal, edited
    files = tuple(
        replace(change, hunks=tuple(replace(h, new_lines=lines[h.id]) if h.id in edited else h for h in change.hunks))
        for change in proposal.files
    )
    return replace(proposal, files=files), edited
