"""`rolecall propose`: a patch that another agent made becomes a proposal, checked and tried like a role's own."""

from __future__ import annotations

import argparse
import os
import sys
from functools import partial
from pathlib import Path

from rolecall_server.cli.boundary import exit_code_of
from rolecall_server.cli.deciding.under_way import UnderWay
from rolecall_server.cli.interrupts import run_until_interrupted
from rolecall_server.cli.repository import open_repository, read_repository
from rolecall_server.cli.screen import (
    Screen,
    print_diff,
    print_json,
    print_summary,
    print_title,
    proposal_json,
    say,
    waiting,
)
from rolecall_server.craft.edits.unified_diff import apply_diff
from rolecall_server.errors import FileRefused, PatchRefused, RolecallError
from rolecall_server.review.proposals.proposal import Proposal
from rolecall_server.review.proposals.proposal_store import load_proposal
from rolecall_server.settings import read_settings
from rolecall_server.team.foreign import GUEST, ForeignEdit, base_text, check_foreign, propose_foreign
from rolecall_server.team.request import Repository
from rolecall_server.text_work import beside_the_loop
from rolecall_server.workspace import MAX_FILE_BYTES


def run_propose(arguments: argparse.Namespace) -> int:
    """Carry out `rolecall propose`, which writes nothing; the exit code."""
    return exit_code_of(lambda: _propose(arguments), as_json=arguments.json)


def _propose(arguments: argparse.Namespace) -> int:
    store, workspace = open_repository(arguments)
    settings, _ = read_settings(arguments.settings, os.environ)
    given = _read(arguments.patch)
    patched = run_until_interrupted(
        beside_the_loop("Reading the patch", apply_diff, given, partial(base_text, workspace))
    )
    messages = Screen(stderr=True)
    with waiting(messages, "reading the repository") as status:
        snapshot = read_repository(workspace.root, status)
    repository = Repository(workspace, snapshot, store, settings, os.environ)
    title = arguments.title or f"a patch by {arguments.origin}"
    edit = ForeignEdit(arguments.origin, title, "", patched.files, patched.renames)
    proposal = run_until_interrupted(_try(repository, check_foreign(repository, edit), messages))
    reviewed = load_proposal(store, proposal.id)
    if arguments.json:
        print_json(proposal_json(workspace, reviewed))
        return 0
    screen = Screen()
    print_title(screen, reviewed)
    print_diff(screen, reviewed)
    print_summary(screen, reviewed)
    say(screen, "Nothing is written yet.", "bold")
    return 0


async def _try(repository: Repository, edit: ForeignEdit, messages: Screen) -> Proposal:
    store = repository.store
    run_id = store.add_run(repository.workspace.root, GUEST, next(iter(edit.files)), edit.title)
    state = "cancelled"
    try:
        with UnderWay(messages, store, run_id, repository.settings.team.question_seconds) as shown:
            proposed = await propose_foreign(repository, run_id, edit, shown.report)
        state = "finished"
    except RolecallError:
        state = "failed"
        raise
    else:
        return proposed.proposal
    finally:
        store.end_run(run_id, state)


def _read(name: str) -> str:
    """Return the text of a patch; ``-`` is standard input.

    Raises:
        FileRefused: it cannot be read.
        PatchRefused: it is too long for anybody to decide on.
    """
    try:
        with sys.stdin.buffer if name == "-" else Path(name).open("rb") as file:
            # One byte more than may be: that it is too long is noticed, however long it is.
            content = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise FileRefused(
            f"{name} cannot be read: {error.strerror}.", "Name a file with a diff, or - for input."
        ) from None
    if len(content) > MAX_FILE_BYTES:
        raise PatchRefused("That is more than anybody can decide on at once.", "Propose it in parts.")
    return content.decode("utf-8", "replace")
