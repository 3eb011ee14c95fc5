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
    _add_graph(commands.add_parser("graph", help="ask the code graph of a folder: calls, imports, impact, a map"))
    _add_rank(commands.add_parser("rank", help="the files or functions that some words are about"))
    return top


def _add_rank(rank: argparse.ArgumentParser) -> None:
    rank.add_argument("folder", type=Path, nargs="?", metavar="DIR", help="a repository")
    rank.add_argument("words", nargs="?", default="", metavar="WORDS", help="a task, a question, an error message")
    rank.add_argument("--seed", type=Path, metavar="FILE", help="a file that is known to be concerned")
    rank.add_argument("--functions", action="store_true", help="functions instead of files")
    rank.add_argument("--limit", type=int, default=20, metavar="N", help="how many, 20 if not given")
    rank.add_argument("--json", action="store_true", help="print items, scores and reasons as JSON")
    rank.add_argument(
        "--serve", action="store_true", help="answer JSON lines {repo_dir, query} on standard input with JSON lists"
    )


def _add_graph(graph: argparse.ArgumentParser) -> None:
    questions = graph.add_subparsers(dest="question", metavar="QUESTION", required=True)
    calls = questions.add_parser("calls", help="which function calls which")
    imports = questions.add_parser("imports", help="which module imports which")
    symbols = questions.add_parser("symbols", help="classes, functions and variables")
    symbols.add_argument("--find", metavar="NAME", help="only those whose name has these letters, best first")
    impact = questions.add_parser("impact", help="what a change of a file or symbol touches")
    impact.add_argument(
        "--of",
        nargs="+",
        required=True,
        metavar="PATH[::SYMBOL]",
        help="what changes: shop/cart.py::Cart.total",
    )
    impact.add_argument("--steps", type=int, default=4, metavar="N", help="how far to follow, 4 if not given")
    impact.add_argument("--limit", type=int, default=200, metavar="N", help="how much to tell, 200 if not given")
    impact.add_argument("--certain", action="store_true", help="only follow what is certain")
    stats = questions.add_parser("stats", help="files, lines and definitions, counted")
    view = questions.add_parser("view", help="write a map of the code as one HTML page")
    view.add_argument(
        "--output",
        type=Path,
        default=Path("rolecall-graph.html"),
        metavar="FILE",
        help="rolecall-graph.html if not given",
    )
    view.add_argument(
        "--calls",
        choices=("names", "values"),
        help="find calls by resolving names, or by following values, which finds more and takes longer; "
        "values for up to 300 files if not given",
    )
    for question in (calls, imports, symbols, impact, stats, view):
        question.add_argument("folder", type=Path, metavar="DIR", help="a repository or a package")
    for question in (calls, imports, symbols, impact, stats):
        question.add_argument("--json", action="store_true", help="print everything, as JSON")
    unbound = questions.add_parser("unbound", help="names that may be read before they have a value")
    unbound.add_argument("files", type=Path, nargs="+", metavar="FILE", help="a Python file, or a folder of them")


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
