"""`rolecall review` with one proposal: show it, ask about each hunk, or decide as the options say."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence

from rolecall_server.cli.boundary import NOT_WRITTEN
from rolecall_server.cli.deciding.choices import name_hunks, refuse_what_breaks
from rolecall_server.cli.deciding.deciding import (
    Deciding,
    ReviewAnswer,
    carry_out_decisions,
    leaving,
    settle_what_is_missing,
    with_rejected,
)
from rolecall_server.cli.deciding.offering import review_in_terminal, say_held_back, say_what_was_done
from rolecall_server.cli.repository import proposal_here, refreshed
from rolecall_server.cli.screen import (
    Screen,
    print_diff,
    print_json,
    print_summary,
    print_title,
    proposal_json,
    say,
    say_prose,
)
from rolecall_server.errors import FileRefused
from rolecall_server.review.acceptance import with_needs
from rolecall_server.review.checks.untested import untested_paths
from rolecall_server.review.guards.guarded_paths import guarded_paths, kept_from_yes
from rolecall_server.review.proposals.proposal import HunkState
from rolecall_server.review.proposals.proposal_store import Reviewed, check_undecided
from rolecall_server.review.proposals.rendering import render_checks
from rolecall_server.store import Store
from rolecall_server.workspace import Workspace


def show(store: Store, workspace: Workspace, arguments: argparse.Namespace) -> None:
    """Print a proposal, or, where somebody can answer, ask about each hunk of it."""
    reviewed = proposal_here(store, workspace, arguments.proposal)
    if arguments.json:
        print_json(proposal_json(workspace, reviewed))
        return
    screen = Screen()
    if reviewed.offered and sys.stdin.isatty():
        review_in_terminal(screen, store, workspace, reviewed)
        return
    print_title(screen, reviewed)
    print_diff(screen, reviewed)
    print_summary(screen, reviewed)


def decide_by_options(store: Store, workspace: Workspace, arguments: argparse.Namespace) -> int:
    """Decide as the options say; return the exit code.

    Who names a hunk has been shown what was checked of it: all that is named is decided, or nothing. Who says ``all``
    maybe not: what takes a second answer waits, as what does not fit any more does.

    Raises:
        NotFound: a hunk does not exist, or was decided before.
        FileRefused: a guarded file would change, and nobody said that it may.
        SelectionBreaks: what is left out would be missing, and nobody said that it may be.
    """
    reviewed = proposal_here(store, workspace, arguments.proposal)
    accepted, rejected = _hunk_ids(reviewed, arguments.accept), _hunk_ids(reviewed, arguments.reject)
    done = _decided_so(reviewed, {HunkState.ACCEPTED: accepted, HunkState.REJECTED: rejected})
    accepted, rejected = (tuple(one for one in named if one not in done) for named in (accepted, rejected))
    check_undecided(reviewed, (*accepted, *rejected))
    if both := sorted({*accepted} & {*rejected}):
        raise FileRefused(f"{', '.join(both)} cannot be accepted and rejected.", "Name each hunk once.")
    is_all = _is_all(arguments.accept)
    kept: Mapping[str, str] = {}
    if is_all and not arguments.guarded:
        kept = kept_from_yes(workspace, reviewed.proposal, accepted)
        accepted = leaving(with_rejected(reviewed, rejected), accepted, kept)
    elif not arguments.guarded:
        _refuse_guarded(workspace, with_rejected(reviewed, rejected), accepted)
    untested = untested_paths(reviewed.proposal, accepted) if is_all and not arguments.untested else ()
    answers = [ReviewAnswer(0, () if untested else accepted)]
    answers.append(ReviewAnswer(0, rejected=rejected, reason=str(arguments.reason)))
    deciding = Deciding(Screen(), store, workspace, reviewed, answers)
    if not arguments.anyway and not _settle(deciding, may_ask=not arguments.json and sys.stdin.isatty()):
        say(deciding.screen, "Nothing was written or stored.")
        return 0
    written = carry_out_decisions(store, workspace, reviewed, deciding.accepted, deciding.rejected)
    if arguments.json:
        shown = proposal_json(workspace, refreshed(store, workspace, reviewed.proposal.id))
        print_json({**shown, "written": written, "guarded": {**shown["guarded"], **kept}})
    else:
        for path, why in kept.items():
            told = f"{path} is guarded: {why}. --accept all does not include it; --guarded does."
            say_prose(deciding.screen, told, "yellow")
        _say_beside(deciding, untested, done)
        say_what_was_done(deciding.screen, store, workspace, reviewed.proposal.id, written)
    return NOT_WRITTEN if untested or kept or (is_all and _has_lost_its_place(reviewed)) else 0


def _has_lost_its_place(reviewed: Reviewed) -> bool:
    return any(reviewed.states[hunk.id] is HunkState.STALE for _, hunk in reviewed.proposal.hunks() if not hunk.off)


def _decided_so(reviewed: Reviewed, wanted: Mapping[HunkState, Sequence[str]]) -> dict[str, HunkState]:
    """Return those of the hunks *wanted* in a state that are in it already: to give a command twice is no mistake."""
    return {one: state for state, named in wanted.items() for one in named if reviewed.states.get(one) is state}


def _say_beside(deciding: Deciding, untested: Sequence[str], done: Mapping[str, HunkState]) -> None:
    """Print what was held back, what came along and what was *done* before."""
    reviewed = deciding.reviewed
    if untested:
        for line in render_checks(reviewed.proposal.evidence)[0]:
            say_prose(deciding.screen, line, "yellow")
        say_prose(deciding.screen, say_held_back(untested), "bold yellow")
    coming = with_needs(reviewed.proposal, deciding.as_answered.states, deciding.accepted)
    if along := {*coming} - {*deciding.accepted}:
        say_prose(deciding.screen, f"Accepted too, for what needs it: {name_hunks(reviewed, along)}.")
    for hunk_id, state in done.items():
        say_prose(deciding.screen, f"{hunk_id} was {state} before.")


def _is_all(listed: str) -> bool:
    return listed.strip() == "all"


def _settle(deciding: Deciding, *, may_ask: bool) -> bool:
    """Return whether to go on, once what the accepted hunks would lack is settled.

    Raises:
        SelectionBreaks: something would be missing, and there is nobody to ask.
    """
    if may_ask:
        return settle_what_is_missing(deciding)
    refuse_what_breaks(deciding.store, deciding.workspace, deciding.as_answered, deciding.accepted)
    return True


def _hunk_ids(reviewed: Reviewed, listed: str) -> tuple[str, ...]:
    """Return the ids in ``h1,h2``; ``all`` are those on offer."""
    if _is_all(listed):
        return with_needs(reviewed.proposal, reviewed.states, reviewed.taken_together)
    return tuple(dict.fromkeys(part.strip() for part in listed.split(",") if part.strip()))


def _refuse_guarded(workspace: Workspace, reviewed: Reviewed, accepted: Sequence[str]) -> None:
    """Pass where *accepted* changes nothing that takes a second answer.

    Raises:
        FileRefused: it does.
    """
    kept = guarded_paths(workspace, reviewed.proposal, with_needs(reviewed.proposal, reviewed.states, accepted))
    left = [hunk_id for hunk_id in accepted if hunk_id not in leaving(reviewed, accepted, kept)]
    if left:
        named = "; ".join(f"{path} is guarded: {why}" for path, why in kept.items())
        raise FileRefused(f"{', '.join(left)}: {named}.", "Add --guarded to change it all the same.")
