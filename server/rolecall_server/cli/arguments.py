"""What can be typed after `rolecall`."""

from __future__ import annotations

import argparse
from pathlib import Path

from rolecall_server import __version__


def parser() -> argparse.ArgumentParser:
    """The command line as argparse knows it."""
    top = argparse.ArgumentParser(
        prog="rolecall", description="A software team inside your editor, and here without one."
    )
    top.add_argument("--version", action="version", version=f"rolecall {__version__}")
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
    demo = commands.add_parser("demo", help="run the main job on a copy of a small library")
    demo.add_argument(
        "--library", type=Path, required=True, metavar="ARCHIVE", help="its source distribution (.tar.gz)"
    )
    demo.add_argument("--yes", action="store_true", help="go through without asking")
    return top
