"""`rolecall fix`: the Engineer mends what makes a test fail; `--locate` says where that may be, without a model."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from rolecall_server.cli.boundary import exit_code_of
from rolecall_server.cli.commands.run import ask_role
from rolecall_server.cli.failures import failure_named
from rolecall_server.cli.interrupts import run_until_interrupted
from rolecall_server.cli.repository import find_workspace, open_user_store, read_repository
from rolecall_server.cli.screen import Screen, print_json, say, say_prose, waiting
from rolecall_server.settings import read_settings
from rolecall_server.team.repair import Reproduction
from rolecall_server.team.request import FailureToMend, Repository
from rolecall_server.team.run import locate_failure


def run_fix(arguments: argparse.Namespace) -> int:
    """Carry out `rolecall fix`; the exit code."""
    arguments.file = Path(arguments.test.partition("::")[0]) if arguments.test else None
    if arguments.locate:
        return exit_code_of(lambda: _locate(arguments), as_json=arguments.json)
    return ask_role(arguments)


def _locate(arguments: argparse.Namespace) -> int:
    store, workspace = open_user_store(), find_workspace(arguments.root, arguments.file)
    settings, _ = read_settings(arguments.settings, os.environ)
    failure = failure_named(arguments, workspace)
    messages = Screen(stderr=True)
    with waiting(messages, "reading the repository") as status:
        snapshot = read_repository(workspace.root, status)
    repository = Repository(workspace, snapshot, store, settings, os.environ)
    found = run_until_interrupted(_found(repository, failure, messages))
    if arguments.json:
        print_json(_as_json(found))
        return 0
    screen = Screen()
    for one in found.failing:
        say_prose(screen, f"{one.test_id}: {one.message}", "bold")
    say_prose(screen, found.text or "Nothing of the repository was seen to run, and nothing leads from there to it.")
    return 0


async def _found(repository: Repository, failure: FailureToMend, messages: Screen) -> Reproduction:
    def report(message: str, fraction: float | None) -> None:
        say(messages, message, "dim")

    return await locate_failure(repository, failure, report)


def _as_json(found: Reproduction) -> dict[str, object]:
    suspects = [
        {"path": one.path, "name": one.name, "line": one.line, "score": one.score, "reasons": one.reasons}
        for one in found.suspects
    ]
    return {"failing": [{"test": one.test_id, "message": one.message} for one in found.failing], "suspects": suspects}
