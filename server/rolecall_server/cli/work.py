"""`rolecall tests` and `rolecall implement`: a run, its proposal on the screen, a question, and only then a write."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from rolecall_server.cli.boundary import NOT_WRITTEN, exit_code_of
from rolecall_server.cli.deciding import (
    Deciding,
    ask_for_decisions,
    carry_out_decisions,
    leaving,
    refuse_what_breaks,
    settle_what_is_missing,
)
from rolecall_server.cli.interrupts import run_until_interrupted
from rolecall_server.cli.repository import find_workspace, open_user_store, read_repository
from rolecall_server.cli.screen import (
    Screen,
    Waiting,
    next_step,
    print_diff,
    print_json,
    print_overview,
    print_summary,
    print_title,
    proposal_json,
    say,
    say_prose,
    waiting,
)
from rolecall_server.cli.under_way import how_much_more, may_be_used
from rolecall_server.errors import NoModelConfigured
from rolecall_server.review.acceptance import with_needs
from rolecall_server.review.proposal import HunkState
from rolecall_server.review.protected import kept_from_yes
from rolecall_server.review.shelf import Reviewed, load_proposal
from rolecall_server.review.untested import untested_paths
from rolecall_server.sandbox.trust import Unconfirmed
from rolecall_server.settings import Settings, read_settings
from rolecall_server.store import Store
from rolecall_server.team.learning import is_handover, waiting_handover
from rolecall_server.team.pool import load_pool
from rolecall_server.team.proposing import work_to_redo
from rolecall_server.team.request import TITLES, RoleName, RunRequest
from rolecall_server.team.run import Finished, Repository, carry_out, describe_broken, whom_to_ask
from rolecall_server.workspace import Workspace, relative_path, resolve


def work(arguments: argparse.Namespace) -> int:
    """Carry out `rolecall tests` or `rolecall implement`; the exit code."""
    messages = Screen(stderr=True)
    return exit_code_of(lambda: _work(arguments, messages), as_json=arguments.json)


def _work(arguments: argparse.Namespace, messages: Screen) -> int:
    store = open_user_store()
    workspace, request = _request(arguments)
    settings, _ = read_settings(arguments.settings, os.environ)
    asks = not arguments.json
    finished = run_until_interrupted(_run(store, workspace, request, settings, messages, asks=asks))
    if finished.error is not None and not arguments.json:
        say_prose(messages, f"{finished.error.code}: cut short; this is the best of what there was.", "bold red")
        say_prose(messages, next_step(finished.error))
    reviewed = load_proposal(store, finished.proposal.id)
    wanted = hunks_to_write(store, workspace, reviewed, arguments)
    if arguments.json:
        written = carry_out_decisions(store, workspace, reviewed, wanted, {})
        error = {"error": finished.error.code} if finished.error else {}
        print_json(
            {**proposal_json(workspace, load_proposal(store, reviewed.proposal.id)), "written": written, **error}
        )
    elif arguments.yes or not sys.stdin.isatty():
        write_without_asking(store, workspace, reviewed, wanted, arguments)
    else:
        review_in_terminal(Screen(), store, workspace, reviewed)
    return 1 if finished.error is not None else NOT_WRITTEN * bool(held_back(workspace, reviewed, arguments))


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


def _request(arguments: argparse.Namespace) -> tuple[Workspace, RunRequest]:
    """The workspace and what is to be done in it.

    Raises:
        FileRefused: the root is no folder, or the file lies outside.
    """
    file: Path | None = arguments.file
    workspace = find_workspace(arguments.root, file)
    path = relative_path(workspace, resolve(file)) if file is not None else ""
    if arguments.command == "tests":
        return workspace, RunRequest(RoleName.QA_ENGINEER, path, arguments.symbol, arguments.brief)
    makes_file = bool(path) and not (workspace.root / path).exists()
    return workspace, RunRequest(RoleName.ENGINEER, path, "", arguments.brief, makes_file=makes_file)


async def _run(
    store: Store, workspace: Workspace, request: RunRequest, settings: Settings, messages: Screen, *, asks: bool
) -> Finished:
    client = await whom_to_ask(request, settings, os.environ, store=store)
    how = "without a model" if isinstance(client, NoModelConfigured) else f"with {client.label}"
    try:
        say(messages, f"{TITLES[request.role]} in {workspace.root}, {how}")
        with waiting(messages, "reading the repository") as status:
            snapshot = await asyncio.to_thread(read_repository, workspace.root, status)
            for sentence in describe_broken(snapshot, request.path):
                say_prose(messages, f"{sentence}; the {TITLES[request.role]} gets it as it is.", "yellow")
            repository = Repository(workspace, snapshot, store, settings, os.environ)
            if asks and sys.stdin.isatty():
                ask_for_more, ask_trust = (
                    partial(_ask_for_more, messages, status),
                    partial(_ask_trust, messages, status),
                )
                repository = replace(repository, ask_for_more=ask_for_more, ask_trust=ask_trust)
            run_id = store.add_run(workspace.root, request.role, request.path, request.brief)
            try:
                return await carry_out(run_id, request, repository, client, report_on(status))
            except asyncio.CancelledError:
                say(messages, f"{run_id} was stopped; `rolecall log {run_id} --sent` shows what was asked.")
                raise
    finally:
        if not isinstance(client, NoModelConfigured):
            await client.aclose()


async def _ask_for_more(messages: Screen, status: Waiting, what: str) -> float:
    """Return how many budgets more the developer at the terminal allows."""
    status.status.stop()
    try:
        return await how_much_more(messages, what)
    finally:
        status.status.start()


async def _ask_trust(messages: Screen, status: Waiting, unconfirmed: Unconfirmed) -> bool:
    """Return whether the developer at the terminal says that a Python of the workspace may be used."""
    status.status.stop()
    try:
        return await may_be_used(messages, unconfirmed)
    finally:
        status.status.start()


def report_on(status: Waiting) -> Callable[[str, float | None], None]:
    def report(message: str, fraction: float | None) -> None:
        status.tell(message if fraction is None else f"{message} ({fraction:.0%})")

    return report


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
        say_prose(screen, f"Undecided: {', '.join(left)}. `rolecall review {proposal_id}` offers them again.")
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
