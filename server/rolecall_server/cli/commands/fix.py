"""`rolecall fix`: the Engineer mends what makes a test fail; `--locate` says where that may be, `--trace` what
its lines compute, without a model."""

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
from rolecall_server.context.redaction import Covers
from rolecall_server.craft.repair.values import values_of
from rolecall_server.settings import read_settings
from rolecall_server.team.repair import Reproduction
from rolecall_server.team.request import FailureToMend, Report, Repository
from rolecall_server.team.run import locate_failure, trace_failure


def run_fix(arguments: argparse.Namespace) -> int:
    """Carry out `rolecall fix`; the exit code."""
    # The repository is looked for around this file, as it is for the other commands of a role.
    arguments.file = Path(arguments.tests[0].partition("::")[0]) if arguments.tests else None
    if arguments.trace:
        return exit_code_of(lambda: _trace(arguments), as_json=arguments.json)
    if arguments.locate:
        return exit_code_of(lambda: _locate(arguments), as_json=arguments.json)
    return ask_role(arguments)


def _trace(arguments: argparse.Namespace) -> int:
    repository, failure = _opened(arguments)
    traced = run_until_interrupted(trace_failure(repository, failure, _reporting()))
    text = Covers().cover(values_of(traced, repository.snapshot))
    if arguments.json:
        print_json({"test": traced.test_id, "values": text, "ended": traced.ended})
        return 0
    screen = Screen()
    say(screen, traced.test_id, "bold")
    say(screen, text or "No line of this repository was seen to run.")
    return 0


def _opened(arguments: argparse.Namespace) -> tuple[Repository, FailureToMend]:
    store, workspace = open_user_store(), find_workspace(arguments.root, arguments.file)
    settings, _ = read_settings(arguments.settings, os.environ)
    failure = failure_named(arguments, workspace)
    with waiting(Screen(stderr=True), "reading the repository") as status:
        snapshot = read_repository(workspace.root, status)
    return Repository(workspace, snapshot, store, settings, os.environ), failure


def _reporting() -> Report:
    messages = Screen(stderr=True)

    def report(message: str, fraction: float | None) -> None:
        say(messages, message, "dim")

    return report


def _locate(arguments: argparse.Namespace) -> int:
    repository, failure = _opened(arguments)
    found = run_until_interrupted(locate_failure(repository, failure, _reporting()))
    if arguments.json:
        print_json(_as_json(found))
        return 0
    screen = Screen()
    for one in found.failing:
        say_prose(screen, f"{one.test_id}: {one.message}", "bold")
    say_prose(screen, found.text or "Nothing of the repository was seen to run, and nothing leads from there to it.")
    return 0


def _as_json(found: Reproduction) -> dict[str, object]:
    suspects = [
        {"path": one.path, "name": one.name, "line": one.line, "score": one.score, "reasons": one.reasons}
        for one in found.suspects
    ]
    return {"failing": [{"test": one.test_id, "message": one.message} for one in found.failing], "suspects": suspects}
