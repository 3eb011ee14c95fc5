"""`rolecall undo`: accepted hunks leave their files again, exactly, or nothing happens and it says what has moved."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

from rolecall_server.cli.boundary import exit_code_of
from rolecall_server.cli.files.disk import take_back
from rolecall_server.cli.repository import open_repository, proposal_here, proposals_of_run, read_repository
from rolecall_server.cli.screen import Screen, print_json, say_prose
from rolecall_server.errors import NotFound, SelectionBreaks
from rolecall_server.review.proposals.proposal import HunkState
from rolecall_server.review.proposals.proposal_store import Reviewed, decide, load_all
from rolecall_server.review.proposals.provenance import Traces
from rolecall_server.review.selection import Lack, describe_lacks
from rolecall_server.review.taking_back import Remainder, Undoing, broken_names, failing_tests, plan_undo
from rolecall_server.store import Store
from rolecall_server.team.lessons.learning import hand_over
from rolecall_server.workspace import Workspace


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
    if not refused and not arguments.anyway:
        _refuse_what_breaks(store, workspace, plans)
    written = () if refused else tuple(_take_back(store, workspace, plans))
    _tell(screen, arguments, [*_lines(plans, written, refused=refused)], _as_json(plans, written))
    return 1 if refused or not written else 0


def _lines(plans: Sequence[Undoing], written: Sequence[str], *, refused: bool) -> Iterator[str]:
    for plan in plans:
        of = plan.reviewed.proposal.id
        for one in plan.left:
            yield f"{of}/{','.join(one.hunk_ids)}{'' if one.is_gone else ' stays'}: {one.reason}"
        if plan.along and written:
            need = "needs" if len(plan.along) == 1 else "need"
            yield f"{of}/{','.join(plan.along)} {need} what was named, and went with it."
    if written:
        yield f"Took back {', '.join(_named(plan) for plan in plans if plan.fitting)}: {', '.join(written)}."
    elif refused and any(plan.fitting for plan in plans):
        yield "Nothing was changed. With --what-still-fits the rest is taken back."
    else:
        yield "Nothing was changed."


def _as_json(plans: Sequence[Undoing], written: Sequence[str]) -> dict[str, object]:
    left = [(plan.reviewed.proposal.id, one) for plan in plans for one in plan.left]
    return {
        "written": written,
        "along": [f"{plan.reviewed.proposal.id}/{hunk_id}" for plan in plans for hunk_id in plan.along],
        "left": [{"proposal": proposal_id, "path": one.path, "reason": one.reason} for proposal_id, one in left],
    }


def _refuse_what_breaks(store: Store, workspace: Workspace, plans: Sequence[Undoing]) -> None:
    """Pass where nothing would be missing or fail in what is left.

    Raises:
        SelectionBreaks: something would.
    """
    texts = {path: text for plan in plans for path, text in plan.texts.items()}
    if not texts:
        return
    taken = frozenset(f"{plan.reviewed.proposal.id}/{hunk_id}" for plan in plans for hunk_id in plan.fitting)
    remainder = Remainder(read_repository(workspace.root), texts, Traces(store, workspace.root), taken)
    lacks = broken_names(remainder) or _failing(store, workspace, remainder)
    if lacks:
        first = " and ".join(f"`rolecall undo {code}`" for lack in lacks for code in lack.hunks)
        either = f"Begin with {first}, or add" if first else "Add"
        raise SelectionBreaks(
            f"Without it something would break: {describe_lacks(lacks)}.",
            f"{either} --anyway to take it back all the same; nothing was changed.",
        )


def _failing(store: Store, workspace: Workspace, remainder: Remainder) -> tuple[Lack, ...]:
    """Return the tests that would fail; none run where none ran for anything that was accepted here."""
    if not any(one.accepted and one.proposal.evidence.ran for one in load_all(store, workspace.root)):
        return ()
    from rolecall_server.cli.trying import try_texts  # half of all modules

    doing = "running the tests with what would be left"
    shown = try_texts(store, workspace, remainder.now, remainder.texts, doing)
    return failing_tests(remainder, shown) if shown is not None else ()


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
