"""A record of what decisions did to files, as a chain of texts by which they are known again.

An editor may apply an edit and die, answer late or never, undo it, or close the buffer unsaved. So nobody's word is
taken for what is in a file: each step is stored, with the fingerprints of the text before and after it, before the
editor is asked, and the text itself then says which steps stand in it. A text that is none of these was typed in,
or is an older one: its lines say what stands in it (`read_off`).
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from rolecall_server.errors import NotFound
from rolecall_server.processes import still_runs, this_process
from rolecall_server.review.proposals.anchor import path_now, standing
from rolecall_server.review.proposals.proposal import FileChange, HunkKind, HunkState
from rolecall_server.review.proposals.proposal_store import ReadText, Reviewed, decide, load_proposal
from rolecall_server.store import LandingRow, Store
from rolecall_server.store.landings import add_landings, claim_landings, forget_landings, load_landings
from rolecall_server.workspace import BOM, sha256

Key = tuple[str, str]
"""A proposal and one of its hunks, by their ids."""

UNKNOWN = "?"
"""The fingerprint of a text that nobody saw."""

_GONE = "Its text is not in the file any more."
_NEVER_CAME = "It was accepted, but the editor or its server ended before its text was in the file."


def fingerprint(text: str | None) -> str:
    """By what a text is known, its byte order mark apart, which some editors show; empty where there is no file."""
    return "" if text is None else sha256(text.removeprefix(BOM))


def n_standing(chain: Sequence[LandingRow], print_now: str) -> int | None:
    """Return the number of steps of *chain*, from the first, that stand in the text of that fingerprint; ``None``: it
    does not say.
    """
    if not chain or print_now == chain[-1].after:
        return len(chain)
    befores = (i for i, landing in enumerate(chain) if landing.before == print_now)
    afters = (i + 1 for i, landing in enumerate(chain) if landing.after == print_now)  # a text nobody saw came next
    # A text may be met at several steps; it holds the same hunks, whichever of them it is taken for.
    return next(itertools.chain(befores, afters), None)


def hunks_in_text(chain: Sequence[LandingRow], n: int) -> dict[Key, bool]:
    """For each hunk that *chain* speaks of: whether it is in the text after the first *n* steps."""
    found: dict[Key, bool] = {}
    for landing in chain[n:]:  # what did not happen yet is as it was before the first step that speaks of it
        found = {key: not is_in for key, is_in in _effect(landing)} | found
    for landing in chain[:n]:
        found |= dict(_effect(landing))
    return found


def _effect(landing: LandingRow) -> Iterator[tuple[Key, bool]]:
    yield from (((landing.proposal_id, hunk_id), True) for hunk_id in landing.brought_in)
    yield from (((landing.proposal_id, hunk_id), False) for hunk_id in landing.taken_out)


def read_off(store: Store, root: Path, chain: list[LandingRow], path: str, text: str | None) -> dict[Key, bool]:
    """Return for each hunk of *chain* whether it is in *text*, by its lines; *text* is none of the chain's.

    What is otherwise than stored, or than the chain has it, becomes a step of the chain: the text after it is this one.
    """
    said: dict[Key, bool] = {}
    meant = hunks_in_text(chain, len(chain))
    for proposal_id in dict.fromkeys(of for of, _ in meant):
        reviewed = load_proposal(store, proposal_id)
        change = reviewed.proposal.change_of(path)
        if change is None:
            continue
        hunk_ids = [hunk_id for of, hunk_id in meant if of == proposal_id]
        accepted = _with_name(change, reviewed.accepted, hunk_ids, path, text)
        # The file lies under its other name: the text at this path says nothing of these hunks.
        if path_now(change, accepted) != path:
            continue
        now = standing(change, accepted, hunk_ids, text)
        said |= {(proposal_id, h): h in now for h in hunk_ids}
        news = [h for h in hunk_ids if len({h in now, h in reviewed.accepted, meant[proposal_id, h]}) > 1]
        if news:
            came, went = tuple(h for h in news if h in now), tuple(h for h in news if h not in now)
            step = LandingRow(0, path, proposal_id, came, went, UNKNOWN, fingerprint(text), this_process())
            chain += add_landings(store, root, [step])
    return said


def _with_name(
    change: FileChange, accepted: Collection[str], unsure: Collection[str], path: str, text: str | None
) -> set[str]:
    """Return *accepted*, set right in the new name of the file, where that is *unsure*: the file at *path* tells."""
    renames = {hunk.id for hunk in change.hunks if hunk.kind is HunkKind.RENAME and hunk.id in unsure}
    is_there = path == change.renamed_to and text is not None
    return {*accepted} | renames if is_there else {*accepted} - renames


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
            decide(store, reviewed, went, _GONE)
        if came or went:
            changed.append(proposal_id)
    return tuple(changed)


def _turned_down(store: Store, proposal_id: str) -> set[str]:
    """Return the hunks whose rejection was the last thing that was decided of them, whatever their text did since."""
    # A rejection without an act counts too: a later proposal took the place of this one.
    decided = [row for row in store.decisions(proposal_id) if row.act_id is not None or row.state == HunkState.REJECTED]
    latest = {row.hunk_id: row.state for row in decided}
    return {hunk_id for hunk_id, state in latest.items() if state == HunkState.REJECTED}


@dataclass(frozen=True)
class TakenOver:
    """The changes that ended processes had begun, as the files show them now."""

    chains: Mapping[str, list[LandingRow]]
    """By path, the steps of which not all are known to be saved: an editor may still hold them."""
    told: tuple[str, ...]
    """The news for the developer, a sentence for each proposal."""


def take_over(store: Store, root: Path, read_text: ReadText) -> TakenOver:
    """Return what processes that have ended did to files without seeing it saved.

    What the file says came of it is stored, and told where it is otherwise than was stored, or than was wanted.
    """
    left = [row for row in load_landings(store, root) if not still_runs(row.process)]
    # From here on another process that starts finds them watched.
    claim_landings(store, [row.id for row in left])
    known: dict[str, Reviewed] = {}
    for proposal_id in dict.fromkeys(row.proposal_id for row in left):
        with suppress(NotFound):
            known[proposal_id] = load_proposal(store, proposal_id)
    chains: dict[str, list[LandingRow]] = {}
    for row in left:
        if row.proposal_id in known:
            chains.setdefault(row.path, []).append(row)
    found: dict[str, dict[Key, bool]] = {}
    saved: set[str] = set()
    for path, chain in sorted(chains.items(), key=lambda item: item[1][-1].id):  # a new name before the old one
        text, meant = read_text(path), hunks_in_text(chain, len(chain))
        n = n_standing(chain, fingerprint(text))
        said = hunks_in_text(chain, n) if n is not None else read_off(store, root, chain, path, text)
        believe(store, said)
        news = {key for key, is_in in meant.items() if key in said and _is_news(known, key, is_in, said)}
        found[path] = {key: said[key] for key in news}
        # Read off or come back to: an editor may still hold what lies between.
        is_older = chain[-1].before == UNKNOWN or any(row.before == fingerprint(text) for row in chain)
        if (n == len(chain) and not is_older) or (n is None and _are_stored(store, meant)):
            saved.add(path)
    unsaved = {key for path, chain in chains.items() if path not in saved for key in hunks_in_text(chain, 0)}
    for path in saved:
        if not unsaved & hunks_in_text(chains[path], 0).keys():  # else another file may still speak of its hunks
            forget_landings(store, [row.id for row in chains.pop(path)])
    told = (_tell(store, known[of], found) for of in known)
    return TakenOver(chains, tuple(sentence for sentence in told if sentence))


def _is_news(known: Mapping[str, Reviewed], key: Key, is_meant: bool, said: Mapping[Key, bool]) -> bool:
    """Return whether it was not stored so, or was wanted otherwise and nobody was told."""
    proposal_id, hunk_id = key
    reviewed = known[proposal_id]
    if said[key] is not (hunk_id in reviewed.accepted):
        return True
    is_told = reviewed.states[hunk_id] is HunkState.STALE or reviewed.reasons.get(hunk_id) in (_GONE, _NEVER_CAME)
    return said[key] is not is_meant and not is_told


def _tell(store: Store, before: Reviewed, found: Mapping[str, Mapping[Key, bool]]) -> str:
    """Return what a process that ended left of a proposal; with hunks that did not come in, that is stored too."""
    proposal, parts = before.proposal, list[str]()
    for path, said in found.items():
        ids = [hunk.id for _, hunk in proposal.hunks() if (proposal.id, hunk.id) in said]
        there = [hunk_id for hunk_id in ids if said[proposal.id, hunk_id]]
        missing = [hunk_id for hunk_id in ids if hunk_id not in there]
        parts += [f"{path} has {', '.join(there)}"] if there else []
        parts += [f"{path} does not have {', '.join(missing)}"] if missing else []
        if never := [hunk_id for hunk_id in missing if hunk_id not in before.accepted]:
            now = load_proposal(store, proposal.id)
            # The state stays as it is. The reason is stored so that the next start does not tell the same (`_is_news`).
            decide(store, now, {hunk_id: now.states[hunk_id] for hunk_id in never}, _NEVER_CAME)
    if not parts:
        return ""
    what = f"The editor or its server ended while files were changed for {proposal.id} ({proposal.title})"
    return f"{what}. On the disk {'; '.join(parts)}. What is there counts as accepted, and the rest does not."


def _are_stored(store: Store, in_text: Mapping[Key, bool]) -> bool:
    """Return whether those hunks that are in the text, and only those, are stored as accepted."""
    return all(is_in is (hunk_id in load_proposal(store, of).accepted) for (of, hunk_id), is_in in in_text.items())
