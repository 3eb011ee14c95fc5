"""A proposal on the screen once its run has ended: a question for each hunk, and only then a write."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from rolecall_server.cli.deciding.choices import refuse_what_breaks
from rolecall_server.cli.deciding.deciding import (
    Deciding,
    ask_for_decisions,
    carry_out_decisions,
    leaving,
    settle_what_is_missing,
)
from rolecall_server.cli.screen import (
    Screen,
    print_diff,
    print_overview,
    print_summary,
    print_title,
    say,
    say_prose,
)
from rolecall_server.review.acceptance import with_needs
from rolecall_server.review.checks.untested import untested_paths
from rolecall_server.review.guards.guarded_paths import kept_from_yes
from rolecall_server.review.proposals.proposal import HunkState
from rolecall_server.review.proposals.proposal_store import Reviewed, load_proposal
from rolecall_server.store import Store
from rolecall_server.team.lessons.learning import is_handover, waiting_handover
from rolecall_server.team.messages.board import load_pool
from rolecall_server.team.sprint.proposing import work_to_redo
from rolecall_server.workspace import Workspace


def hunks_to_write(
    store: Store, workspace: Workspace, reviewed: Reviewed, arguments: argparse.Namespace
) -> tuple[str, ...]:
    """Return what `--yes` accepts, in order; nothing without it, or where some of that is held back.

    Raises:
        SelectionBreaks: what it leaves out would be missing, and `--anyway` was not given.
        HunkStale: a file changed meanwhile.
    """
    wanted = ()
    if arguments.yes and not held_back(workspace, reviewed, arguments):
        wanted = _all_together(workspace, reviewed, arguments)
    if not arguments.anyway:
        refuse_what_breaks(store, workspace, reviewed, wanted)
    return wanted


def held_back(workspace: Workspace, reviewed: Reviewed, arguments: argparse.Namespace) -> tuple[str, ...]:
    """Return the files of code and tests that `--yes` leaves alone because no test ran with the proposal."""
    may_be_untested = arguments.untested or not arguments.yes
    return () if may_be_untested else untested_paths(reviewed.proposal, _all_together(workspace, reviewed, arguments))


def _all_together(workspace: Workspace, reviewed: Reviewed, arguments: argparse.Namespace) -> tuple[str, ...]:
    """Return all that is on offer but what waits for its own id, or, without `--guarded`, for a person."""
    offered = with_needs(reviewed.proposal, reviewed.states, reviewed.taken_together)
    kept = {} if arguments.guarded else kept_from_yes(workspace, reviewed.proposal, offered)
    return leaving(reviewed, offered, kept)


def review_in_terminal(screen: Screen, store: Store, workspace: Workspace, reviewed: Reviewed) -> None:
    """Show a proposal, ask about each hunk on offer, write what was accepted, and say what was done.

    Raises:
        HunkStale: a file changed meanwhile; nothing was written.
        FileRefused: a file cannot be written.
    """
    print_title(screen, reviewed)
    print_overview(screen, reviewed)
    print_summary(screen, reviewed)
    deciding = Deciding(screen, store, workspace, reviewed)
    ask_for_decisions(deciding)
    if not settle_what_is_missing(deciding):
        say(screen, "Nothing was written; what you decided is not stored.", "yellow")
        return
    written = carry_out_decisions(store, workspace, deciding.reviewed, deciding.accepted, deciding.rejected)
    say_what_was_done(screen, store, workspace, reviewed.proposal.id, written)


def write_without_asking(
    store: Store, workspace: Workspace, reviewed: Reviewed, wanted: tuple[str, ...], arguments: argparse.Namespace
) -> None:
    """Show a proposal, write the hunks *wanted*, and say what was done and what was not."""
    screen = Screen()
    print_title(screen, reviewed)
    print_diff(screen, reviewed)
    print_summary(screen, reviewed)
    written = carry_out_decisions(store, workspace, reviewed, wanted, {})
    if untested := held_back(workspace, reviewed, arguments):
        say_prose(screen, say_held_back(untested), "bold yellow")
    elif arguments.yes:
        for path, why in kept_from_yes(workspace, reviewed.proposal, reviewed.taken_together - set(wanted)).items():
            say_prose(screen, f"{path} is guarded: {why}. --yes does not include it; --guarded does.", "yellow")
    say_what_was_done(screen, store, workspace, reviewed.proposal.id, written)
    if not arguments.yes:
        say(screen, "There is no terminal to ask in; --yes accepts sources, tests and documentation.")


def say_held_back(paths: Sequence[str]) -> str:
    """Return what kept the files *paths* from being written, and what to do."""
    return (
        f"Not written, because no test of it ran: {', '.join(paths)}. What kept the tests from running stands first "
        "above; mend that and run the command again, or add --untested."
    )


def say_what_was_done(
    screen: Screen, store: Store, workspace: Workspace, proposal_id: str, written: tuple[str, ...]
) -> None:
    """Print which files were changed, and which hunks are left."""
    gone = [path for path in written if not (workspace.root / path).exists()]
    there = [path for path in written if path not in gone]
    done = [*([f"Wrote {', '.join(there)}."] if there else []), *([f"Deleted {', '.join(gone)}."] if gone else [])]
    say_prose(screen, " ".join(done) or "Nothing was written.", "bold")
    now = load_proposal(store, proposal_id)
    if left := [hunk.id for _, hunk in now.proposal.hunks() if hunk.id in now.offered]:
        say_prose(
            screen,
            f"Undecided: {', '.join(left)}. `rolecall review {proposal_id}` offers them again; "
            f'`rolecall revise {proposal_id} "…"` has them made anew, as you say.',
        )
    for hunk_id, state in now.states.items():
        if state is HunkState.STALE:
            say_prose(screen, f"{hunk_id} does not fit any more: {now.reasons.get(hunk_id, '')}", "yellow")
    again = work_to_redo(store, load_pool(store, now.proposal.run_id))
    if again and not is_handover(now.proposal):
        say_prose(
            screen, f"`rolecall resume {now.proposal.run_id}` has {', '.join(again)} done again, by your reasons."
        )
    if (learned := waiting_handover(store, now.proposal.run_id)) not in ("", proposal_id):
        say_prose(screen, f"Your reasons can be rules from now on: `rolecall review {learned}`.")
