"""`rolecall tests` and `rolecall implement`: a run, its proposal on the screen, a question, and only then a write."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from pathlib import Path

from rich.console import Console
from rich.status import Status

from rolecall_analysis import Index
from rolecall_server.cli.disk import write_accepted
from rolecall_server.cli.screen import ask_for_decisions, print_proposal
from rolecall_server.errors import RolecallError
from rolecall_server.model import choose_model
from rolecall_server.review.proposal import HunkState
from rolecall_server.review.shelf import PROPOSAL_JSON, Reviewed, load_proposal
from rolecall_server.settings import read_settings
from rolecall_server.store import Store, open_store, store_path
from rolecall_server.team.request import TITLES, RoleName, RunRequest
from rolecall_server.team.run import Finished, Repository, carry_out
from rolecall_server.workspace import Workspace, find_root, relative_path


def work(arguments: argparse.Namespace) -> int:
    """Carry out `rolecall tests` or `rolecall implement`; the exit code."""
    messages = Console(stderr=True)
    try:
        store = open_store(store_path())
        workspace, request = _request(arguments)
        finished = asyncio.run(_run(store, workspace, request, messages))
        if finished.error is not None:
            messages.print(f"[bold red]Cut short:[/] {finished.error}", highlight=False)
        reviewed = load_proposal(store, finished.proposal.id)
        if arguments.json:
            _print_json(store, workspace, reviewed, accept=arguments.yes)
        else:
            _review(store, workspace, reviewed, accept=arguments.yes)
    except RolecallError as error:
        messages.print(f"[bold red]{error.code}:[/] {error.what}\n{error.next_step}", highlight=False)
        return 1
    except KeyboardInterrupt:
        messages.print("Cancelled; nothing was written.")
        return 130
    return 1 if finished.error is not None else 0


def _request(arguments: argparse.Namespace) -> tuple[Workspace, RunRequest]:
    file: Path | None = arguments.file
    root = arguments.root or find_root(file if file is not None else Path.cwd() / "anything")
    workspace = Workspace(Path(root).resolve())
    path = relative_path(workspace, file.resolve()) if file is not None else ""
    if arguments.command == "tests":
        return workspace, RunRequest(RoleName.QA_ENGINEER, path, arguments.symbol, arguments.brief)
    return workspace, RunRequest(RoleName.ENGINEER, path, "", arguments.brief)


async def _run(store: Store, workspace: Workspace, request: RunRequest, messages: Console) -> Finished:
    settings, _ = read_settings({}, os.environ)
    client = choose_model(settings.model, os.environ)
    try:
        messages.print(f"{TITLES[request.role]}, with {client.label}", highlight=False)
        with messages.status("reading the repository") as status:
            index = Index(workspace.root)
            await asyncio.to_thread(index.scan)
            repository = Repository(workspace, index.snapshot(), store, settings, os.environ)
            run_id = store.add_run(workspace.root, request.role, request.path, request.brief)
            return await carry_out(run_id, request, repository, client, _reporter(status))
    finally:
        await client.aclose()


def _reporter(status: Status):
    def report(message: str, fraction: float | None) -> None:
        status.update(message if fraction is None else f"{message} ({fraction:.0%})")

    return report


def _review(store: Store, workspace: Workspace, reviewed: Reviewed, *, accept: bool) -> None:
    screen = Console(highlight=False)
    print_proposal(screen, reviewed)
    if accept:
        wanted = list(reviewed.undecided)
    elif sys.stdin.isatty():
        wanted = ask_for_decisions(screen, store, reviewed)
    else:
        screen.print("Nothing was written: there is no terminal to ask in. Use --yes to accept everything.")
        return
    written = write_accepted(store, workspace, load_proposal(store, reviewed.proposal.id), wanted)
    screen.print(f"Wrote {', '.join(written)}." if written else "Nothing was written.")


def _print_json(store: Store, workspace: Workspace, reviewed: Reviewed, *, accept: bool) -> None:
    written = write_accepted(store, workspace, reviewed, list(reviewed.undecided)) if accept else ()
    body = json.loads(PROPOSAL_JSON.dump_json(reviewed.proposal))
    states = load_proposal(store, reviewed.proposal.id).states
    counts = {state.value: sum(each is state for each in states.values()) for state in HunkState}
    print(json.dumps({"proposal": body, "states": states, "counts": counts, "written": written}, indent=2))
