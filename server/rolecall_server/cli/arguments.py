"""What can be typed after `rolecall`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rolecall_server import __version__


def parser() -> argparse.ArgumentParser:
    """The command line as argparse knows it."""
    top = argparse.ArgumentParser(
        prog="rolecall", description="A software team inside your editor, and here without one."
    )
    top.add_argument("-V", "--version", action="version", version=f"rolecall {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND")
    commands.add_parser("serve", help="speak the Language Server Protocol over standard input and output")
    tests = commands.add_parser("tests", help="have the QA Engineer write tests for a file")
    tests.add_argument("file", type=Path, help="the Python file to test")
    tests.add_argument("--symbol", default="", metavar="NAME", help="only this function or class, such as Cart.total")
    tests.add_argument("--brief", default="", metavar="TEXT", help="what else the QA Engineer should know")
    implement = commands.add_parser("implement", help="have the Engineer implement a brief")
    implement.add_argument("brief", help="what to implement, in a sentence or a page")
    implement.add_argument("--in", dest="file", type=Path, metavar="FILE", help="the file to work on")
    for command in (tests, implement):
        command.add_argument(
            "--root", type=Path, metavar="DIR", help="the repository; else the project around the file"
        )
        command.add_argument("--yes", action="store_true", help="accept every hunk without asking")
        command.add_argument("--json", action="store_true", help="print the proposal as JSON; asks nothing")
        command.add_argument(
            "--set",
            dest="settings",
            action=_Set,
            default={},
            metavar="NAME=VALUE",
            help="a setting for this once, such as tests.run=false; may be given several times",
        )
    demo = commands.add_parser("demo", help="run the main job on a copy of a small library")
    demo.add_argument(
        "--library", type=Path, required=True, metavar="ARCHIVE", help="its source distribution (.tar.gz)"
    )
    demo.add_argument("--yes", action="store_true", help="go through without asking")
    return top


class _Set(argparse.Action):
    """Collects settings as an editor would send them; an unknown name or a wrong value is refused, not replaced."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        from rolecall_server.settings import read_settings, setting_rows  # slow to import, and seldom needed

        name, equals, value = str(values).partition("=")
        name = name.removeprefix("rolecall.")
        if not equals or name not in {row.key.removeprefix("rolecall.") for row in setting_rows()}:
            parser.error(f"argument --set: {values} is no NAME=VALUE of a setting; docs/settings.md lists them")
        group, _, option = name.partition(".")
        _, problems = read_settings({group: {option: value}}, {})
        if problems:
            parser.error(f"argument --set: {problems[0].partition(';')[0]}")
        given: dict[str, dict[str, str]] = getattr(namespace, self.dest)
        setattr(namespace, self.dest, {**given, group: {**given.get(group, {}), option: value}})
