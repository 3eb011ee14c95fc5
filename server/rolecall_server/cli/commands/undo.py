"""`rolecall undo`: accepted hunks leave their files again, exactly, or nothing happens and it says what has moved."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from rolecall_server.cli.boundary import exit_code_of
from rolecall_server.cli.files.disk import take_back
from rolecall_server.cli.repository import open_repository, proposal_here, proposals_of_run
from rolecall_server.cli.screen import Screen, print_json, say_prose
from rolecall_server.errors import HunkStale, NotFound
from rolecall_server.review.acceptance import needed_by, plan_edit
from rolecall_server.review.proposals.anchor import Stale, locate, path_now
from rolecall_server.review.proposals.proposal import FileChange, HunkState
from rolecall_server.review.proposals.proposal_store import Reviewed, decide
from rolecall_server.store import Store
from rolecall_server.team.lessons.learning import hand_over
from rolecall_server.workspace import Workspace, read_text_or_none


@dataclass(frozen=True)
class Left:
    """Hunks of one file that cannot be taken back, and why."""

    path: str
    hunk_ids: tuple[str, ...]
    reason: str


@dataclass(frozen=True)
class Undoing:
    """The hunks of one proposal that can be taken back, and those that cannot."""

    reviewed: Reviewed
    fitting: tuple[str, ...]
    left: tuple[Left, ...]


def run_undo(arguments: argparse.Namespace) -> int:
    """Carry out `rolecall undo`; the exit code."""
    screen = Screen()
    return exit_code_of(lambda: _undo(arguments, screen), as_json=arguments.json, cancelled="Cancelled.")


def _undo(arguments: argparse.Namespace, screen: Screen) -> int:
    store, workspace = open_repository(arguments)
    what = arguments.what
    proposal_id, _, hunk_id = what.partition("/")
    if hunk_id and _offer_again(store, workspace, proposal_id, hunk_id):
        _tell(screen, arguments, (f"{what} was rejected; it is offered again.",), {"offered": [what]})
        return 0
    plans = plan_undo(workspace, _accepted(store, workspace, what))
    left = [(plan, one) for plan in plans for one in plan.left]
    refused = bool(left) and not arguments.what_still_fits
    written = () if refused else tuple(_take_back(store, workspace, plans))
    lines = [f"{plan.reviewed.proposal.id}/{','.join(one.hunk_ids)} stays: {one.reason}" for plan, one in left]
    if refused:
        lines.append("Nothing was changed. With --what-still-fits the rest is taken back.")
    elif written:
        lines.append(f"Took back {', '.join(map(_named, plans))}: {', '.join(written)}.")
    else:
        lines.append("Nothing was changed.")
    as_json = [{"proposal": plan.reviewed.proposal.id, "path": one.path, "reason": one.reason} for plan, one in left]
    _tell(screen, arguments, lines, {"written": written, "left": as_json})
    return 1 if refused or not written else 0


def _tell(screen: Screen, arguments: argparse.Namespace, lines: Sequence[str], value: dict[str, object]) -> None:
    if arguments.json:
        print_json(value)
        return
    for line in lines:
        say_prose(screen, line)


def _named(plan: Undoing) -> str:
    return f"{plan.reviewed.proposal.id} ({', '.join(plan.fitting)})"


def _take_back(store: Store, workspace: Workspace, plans: Sequence[Undoing]) -> Iterator[str]:
    for plan in plans:
        if plan.fitting:
            yield from take_back(store, workspace, plan.reviewed, plan.fitting)


def _offer_again(store: Store, workspace: Workspace, proposal_id: str, hunk_id: str) -> bool:
    """Offer the hunk again if it was rejected, and return whether it was."""
    reviewed = proposal_here(store, workspace, proposal_id)
    if reviewed.states.get(hunk_id) is not HunkState.REJECTED:
        return False
    decide(store, reviewed, {hunk_id: reviewed.open_state(hunk_id)}, "", store.add_act(workspace.root, "undo"))
    hand_over(store, workspace, reviewed.proposal.run_id)
    return True


def _accepted(store: Store, workspace: Workspace, what: str) -> list[tuple[Reviewed, tuple[str, ...]]]:
    """Return the accepted hunks that *what* names, the latest proposal first.

    Raises:
        NotFound: there are none.
    """
    proposal_id, _, hunk_id = what.partition("/")
    if what.startswith("r"):
        found = [(reviewed, tuple(reviewed.accepted)) for reviewed in proposals_of_run(store, workspace, what)]
    else:
        reviewed = proposal_here(store, workspace, proposal_id)
        found = [(reviewed, tuple(reviewed.accepted & {hunk_id} if hunk_id else reviewed.accepted))]
    if not any(hunk_ids for _, hunk_ids in found):
        raise NotFound(f"Nothing of {what} is accepted.", f"`rolecall log {proposal_id}` says what was decided.")
    return found


def plan_undo(workspace: Workspace, accepted: Sequence[tuple[Reviewed, Collection[str]]]) -> list[Undoing]:
    """Return the hunks that can be taken back, for each proposal on the texts as the proposals before it leave them."""
    texts: dict[str, str | None] = {}

    def read(path: str) -> str | None:
        return texts[path] if path in texts else read_text_or_none(workspace, path)

    return [_plan(reviewed, hunk_ids, read, texts) for reviewed, hunk_ids in accepted]


def _plan(
    reviewed: Reviewed, hunk_ids: Collection[str], read: Callable[[str], str | None], texts: dict[str, str | None]
) -> Undoing:
    proposal, states = reviewed.proposal, reviewed.states
    wanted = {*hunk_ids, *needed_by(proposal, states, hunk_ids)}
    left: list[Left] = []
    for change in proposal.files:
        left += _left_in(change, reviewed.accepted, wanted, read(path_now(change, reviewed.accepted)))
    staying = {hunk_id for one in left for hunk_id in one.hunk_ids}
    fitting = {h for h in wanted - staying if not staying & {*needed_by(proposal, states, [h])}}
    if held := sorted(wanted - staying - fitting):
        left.append(Left("", tuple(held), "What stays needs it."))
    for change in proposal.files:
        path = path_now(change, reviewed.accepted)
        here = [hunk.id for hunk in change.hunks if hunk.id in fitting]
        if here:
            edit = plan_edit(change, reviewed.accepted, read(path), take_out=here)
            texts |= {path: None, edit.path_after: edit.result}
    return Undoing(reviewed, tuple(hunk.id for _, hunk in proposal.hunks() if hunk.id in fitting), tuple(left))


def _left_in(
    change: FileChange, accepted: Collection[str], wanted: Collection[str], current: str | None
) -> Iterator[Left]:
    """Yield the hunks of one file among *wanted* that *current* has no place for any more."""
    path = path_now(change, accepted)
    here = [hunk.id for hunk in change.hunks if hunk.id in wanted]
    places = locate(change, accepted, current)
    reasons = {hunk_id: place.reason for hunk_id in here if isinstance(place := places[hunk_id], Stale)}
    for reason in dict.fromkeys(reasons.values()):
        yield Left(path, tuple(h for h in reasons if reasons[h] == reason), f"{path}: {reason}")
    fitting = [hunk_id for hunk_id in here if hunk_id not in reasons]
    try:
        if fitting:
            plan_edit(change, accepted, current, take_out=fitting)
    except HunkStale as error:
        yield Left(path, tuple(fitting), error.what)
