"""`rolecall review`: what is undecided in this repository, and the decisions, one by one or from a script."""

from __future__ import annotations

import argparse
from typing import Any

from rolecall_server.cli.boundary import exit_code_of
from rolecall_server.cli.repository import open_repository, proposals_here
from rolecall_server.cli.screen import (
    Screen,
    print_json,
    say,
    say_prose,
)
from rolecall_server.review.proposals.evidence import summarise_tests
from rolecall_server.review.proposals.proposal import HunkState
from rolecall_server.review.proposals.proposal_store import Reviewed
from rolecall_server.store import Store
from rolecall_server.workspace import Workspace


def run_review(arguments: argparse.Namespace) -> int:
    """Carry out `rolecall review`; the exit code."""
    return exit_code_of(lambda: _review(arguments), as_json=arguments.json)


def _review(arguments: argparse.Namespace) -> int:
    store, workspace = open_repository(arguments)
    if arguments.proposal is None:
        _list(store, workspace, as_json=arguments.json)
        return 0
    from rolecall_server.cli.deciding.one_proposal import decide_by_options, show  # half of all modules

    if arguments.accept or arguments.reject:
        return decide_by_options(store, workspace, arguments)
    show(store, workspace, arguments)
    return 0


def _list(store: Store, workspace: Workspace, *, as_json: bool) -> None:
    waiting = proposals_here(store, workspace)
    if as_json:
        print_json([_row(reviewed) for reviewed in waiting])
        return
    screen = Screen()
    if not waiting:
        say(screen, f"Nothing is undecided in {workspace.root}.")
        return
    for reviewed in waiting:
        proposal = reviewed.proposal
        say_prose(screen, f"{proposal.id}  {proposal.title}", "bold")
        say_prose(screen, f"    {_what_is_left(reviewed)}")
        say_prose(screen, f"    {proposal.role}: {summarise_tests(proposal.evidence)}")
    say(screen, f"\nrolecall review {waiting[-1].proposal.id}  shows the last of them, and asks.", "dim")


def _what_is_left(reviewed: Reviewed) -> str:
    """``2 of 3 hunks undecided, in a.py, b.py; h3 does not fit any more``"""
    left, n_all = reviewed.undecided, len(reviewed.states)
    hunks = reviewed.proposal.hunks()
    files = dict.fromkeys(change.path for change, hunk in hunks if hunk.id in left)
    stale = [hunk.id for _, hunk in hunks if reviewed.states[hunk.id] is HunkState.STALE]
    unfit = f"; {', '.join(stale)} {'does' if len(stale) == 1 else 'do'} not fit any more" if stale else ""
    return f"{len(left)} of {n_all} hunk{'s' * (n_all != 1)} undecided, in {', '.join(files)}{unfit}"


def _row(reviewed: Reviewed) -> dict[str, Any]:
    proposal = reviewed.proposal
    return {
        "proposal": proposal.id,
        "run": proposal.run_id,
        "role": proposal.role,
        "title": proposal.title,
        "files": [change.path for change in proposal.files],
        "states": dict(reviewed.states),
    }
