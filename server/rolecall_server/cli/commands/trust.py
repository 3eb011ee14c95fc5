"""`rolecall trust`: say that the Python which lies in the workspace may run its tests."""

from __future__ import annotations

import argparse
import os
import sys

from rolecall_server.cli.boundary import exit_code_of
from rolecall_server.cli.deciding.under_way import may_be_used
from rolecall_server.cli.interrupts import run_until_interrupted
from rolecall_server.cli.repository import find_workspace, open_user_store
from rolecall_server.cli.screen import Screen, say_prose
from rolecall_server.errors import UserMustAct
from rolecall_server.sandbox import NotRun, find_interpreter
from rolecall_server.sandbox.python.trust import Unconfirmed, confirm, to_confirm
from rolecall_server.settings import read_settings


def run_trust(arguments: argparse.Namespace) -> int:
    """Ask whether the workspace's Python may be used, and remember it; 1 where it may not."""
    return exit_code_of(lambda: _ask(arguments, Screen()), as_json=False)


def _ask(arguments: argparse.Namespace, screen: Screen) -> int:
    workspace = find_workspace(arguments.root)
    settings, _ = read_settings(arguments.settings, os.environ)
    store = open_user_store()
    interpreter = find_interpreter(workspace.root, settings.tests.interpreter, os.environ)
    if isinstance(interpreter, NotRun):
        raise UserMustAct(interpreter.reason, interpreter.next_step)
    found = to_confirm(interpreter, workspace.root, settings.tests.interpreter, store)
    if found is None:
        say_prose(screen, f"Nothing to confirm: {interpreter.path} ({interpreter.source}) runs the tests.")
        return 0
    if not _agrees(found, arguments, screen):
        say_prose(screen, "Not confirmed; it is not used.", "bold")
        return 1
    confirm(found, workspace.root, store)
    say_prose(screen, f"{interpreter.path} runs the tests from now on, behind walls.", "bold")
    return 0


def _agrees(found: Unconfirmed, arguments: argparse.Namespace, screen: Screen) -> bool:
    if arguments.yes:
        say_prose(screen, found.question, "yellow")
        return True
    if sys.stdin.isatty():
        return run_until_interrupted(may_be_used(screen, found))
    raise UserMustAct(found.question, "There is no terminal to ask in; --yes confirms it.")
