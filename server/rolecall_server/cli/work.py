"""`rolecall tests` and `rolecall implement`: a run, its proposal on the screen, a question, and only then a write."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.status import Status

from rolecall_analysis import Index, Snapshot, Workers
from rolecall_analysis.saved import saved_path
from rolecall_server.cli.disk import write_accepted
from rolecall_server.cli.interrupts import end_like_ctrl_c
from rolecall_server.cli.screen import ask_for_decisions, print_diff, print_summary, say
from rolecall_server.errors import FileRefused, RolecallError
from rolecall_server.model import choose_model
from rolecall_server.review.proposal import HunkState
from rolecall_server.review.shelf import PROPOSAL_JSON, Reviewed, load_proposal
from rolecall_server.settings import Settings, read_settings
from rolecall_server.store import Store, cache_path, open_store, store_path
from rolecall_server.team.request import TITLES, RoleName, RunRequest
from rolecall_server.team.run import Finished, Repository, carry_out
from rolecall_server.workspace import Workspace, find_root, relative_path, resolve


def work(arguments: argparse.Namespace) -> int:
    """Carry out `rolecall tests` or `rolecall implement`; the exit code."""
    end_like_ctrl_c()
    messages = Console(stderr=True, highlight=False)
    try:
        store = open_store(store_path())
        workspace, request = _request(arguments)
        settings, _ = read_settings(arguments.settings, os.environ)
        finished = asyncio.run(_run(store, workspace, request, settings, messages))
        if finished.error is not None:
            say(messages, f"{finished.error.code}: cut short; this is the best of what there was.", "bold red")
            say(messages, finished.error.next_step)
        reviewed = load_proposal(store, finished.proposal.id)
        if arguments.json:
            _print_json(store, workspace, reviewed, accept=arguments.yes)
        else:
            _review(store, workspace, reviewed, accept=arguments.yes)
    except RolecallError as error:
        say(messages, f"{error.code}: {error.what}", "bold red")
        say(messages, error.next_step)
        return 1
    except KeyboardInterrupt:
        say(messages, "Cancelled; nothing was written.")
        return 130
    return 1 if finished.error is not None else 0


def _request(arguments: argparse.Namespace) -> tuple[Workspace, RunRequest]:
    """The workspace and what is to be done in it.

    Raises:
        FileRefused: the root is no folder, or the file lies outside.
    """
    file: Path | None = arguments.file
    root: Path = arguments.root or find_root(file if file is not None else Path.cwd() / "anything")
    if not root.is_dir():
        raise FileRefused(f"{root} is no folder.", "Give --root the folder of a repository.")
    workspace = Workspace(root.resolve())
    path = relative_path(workspace, resolve(file)) if file is not None else ""
    if arguments.command == "tests":
        return workspace, RunRequest(RoleName.QA_ENGINEER, path, arguments.symbol, arguments.brief)
    return workspace, RunRequest(RoleName.ENGINEER, path, "", arguments.brief)


async def _run(
    store: Store, workspace: Workspace, request: RunRequest, settings: Settings, messages: Console
) -> Finished:
    client = choose_model(settings.model, os.environ)
    try:
        say(messages, f"{TITLES[request.role]} in {workspace.root}, with {client.label}")
        with messages.status("reading the repository") as status:
            snapshot = await asyncio.to_thread(_read_repository, workspace.root, status)
            repository = Repository(workspace, snapshot, store, settings, os.environ)
            run_id = store.add_run(workspace.root, request.role, request.path, request.brief)
            return await carry_out(run_id, request, repository, client, _reporter(status))
    finally:
        await client.aclose()


def _read_repository(root: Path, status: Status) -> Snapshot:
    """The code graph of the folder; what is known from an earlier time is not read again."""
    workers = Workers()
    index = Index(root, saved_in=saved_path(cache_path(), root), workers=workers)
    try:
        index.scan(lambda n_done, n_files: status.update(f"reading the repository ({n_done:,} of {n_files:,} files)"))
        return index.snapshot()
    finally:
        workers.close()
        index.close()


def _reporter(status: Status) -> Callable[[str, float | None], None]:
    def report(message: str, fraction: float | None) -> None:
        status.update(message if fraction is None else f"{message} ({fraction:.0%})")

    return report


def _review(store: Store, workspace: Workspace, reviewed: Reviewed, *, accept: bool) -> None:
    screen = Console(highlight=False)
    print_summary(screen, reviewed)
    if not accept and sys.stdin.isatty():
        wanted = ask_for_decisions(screen, store, reviewed)
    else:
        print_diff(screen, reviewed)
        wanted = list(reviewed.undecided) if accept else []
    written = write_accepted(store, workspace, load_proposal(store, reviewed.proposal.id), wanted)
    say(screen, f"Wrote {', '.join(written)}." if written else "Nothing was written.", "bold")
    if left := _in_state(load_proposal(store, reviewed.proposal.id), HunkState.PENDING):
        say(screen, f"Undecided: {', '.join(left)}. An editor with Rolecall offers them again.")
    if not accept and not sys.stdin.isatty():
        say(screen, "There is no terminal to ask in; --yes accepts everything.")


def _in_state(reviewed: Reviewed, state: HunkState) -> list[str]:
    return [hunk.id for _, hunk in reviewed.proposal.hunks() if reviewed.states[hunk.id] is state]


def _print_json(store: Store, workspace: Workspace, reviewed: Reviewed, *, accept: bool) -> None:
    written = write_accepted(store, workspace, reviewed, list(reviewed.undecided)) if accept else ()
    body = json.loads(PROPOSAL_JSON.dump_json(reviewed.proposal))
    now = load_proposal(store, reviewed.proposal.id)
    counts = {state.value: len(_in_state(now, state)) for state in HunkState}
    print(json.dumps({"proposal": body, "states": now.states, "counts": counts, "written": written}, indent=2))
