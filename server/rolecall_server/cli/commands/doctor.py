"""`rolecall doctor`: on one screen, what there is to work with and what has to be fixed."""

from __future__ import annotations

import argparse
import os

from rolecall_server.cli.boundary import exit_code_of
from rolecall_server.cli.interrupts import run_until_interrupted
from rolecall_server.cli.repository import find_workspace, open_until_the_end
from rolecall_server.cli.screen import Screen, next_step, print_json, say_prose
from rolecall_server.errors import NoModelConfigured, StoreUnavailable
from rolecall_server.settings import read_settings
from rolecall_server.team.checkup import Checked, CheckupSubject, check_everything, must_fix

_MARKS = {"fine": ("ok", "green"), "limited": ("!", "yellow"), "broken": ("fix", "bold red")}
_NAME_WIDTH = 13


def run_doctor(arguments: argparse.Namespace) -> int:
    """Look at everything and say it; 1 where something has to be fixed."""
    return exit_code_of(lambda: _examine(arguments), as_json=arguments.json)


def _examine(arguments: argparse.Namespace) -> int:
    workspace = find_workspace(arguments.root)
    settings, problems = read_settings(arguments.settings, os.environ)
    told = [Checked("settings", "broken", problem) for problem in problems]
    try:
        store = open_until_the_end()
    except StoreUnavailable as error:
        store = None
        told.append(Checked("store", "broken", error.what, error.next_step))
    around = CheckupSubject(workspace.root, settings, os.environ, store)
    checked = (*run_until_interrupted(check_everything(around, try_model=arguments.probe)), *told)
    if arguments.json:
        print_json({"ok": not must_fix(checked), "checked": [_as_json(each) for each in checked]})
    else:
        _print(Screen(), checked)
    return 1 if must_fix(checked) else 0


def _print(screen: Screen, checked: tuple[Checked, ...]) -> None:
    for each in checked:
        mark, style = _MARKS[each.state]
        say_prose(screen, f"{mark:>3}  {each.name:<{_NAME_WIDTH}}{each.what}", style if each.state != "fine" else "")
        if each.next_step and each.state != "fine":
            say_prose(screen, f"{'':5}{'':{_NAME_WIDTH}}{_advice(each)}")


def _advice(checked: Checked) -> str:
    """Return the next step, in words for somebody at a command line."""
    missing = checked.next_step == NoModelConfigured.next_step
    return next_step(NoModelConfigured("")) if missing else checked.next_step


def _as_json(checked: Checked) -> dict[str, object]:
    told = {"name": checked.name, "state": checked.state, "what": checked.what}
    return {**told, "nextStep": checked.next_step, **checked.facts}
