"""Commands that ask the code graph."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rolecall_server.cli.arguments.options import add_command

if TYPE_CHECKING:
    from rolecall_server.cli.arguments.options import Commands


def add_graph(commands: Commands) -> None:
    """Add `graph`."""
    graph = add_command(
        commands,
        "graph",
        "ask the code graph of a folder: calls, imports, impact, a map",
        "graph impact . --of shop/cart.py::Cart.total",
        "graph imports . --json",
        'graph packages . --about "retry a request"',
    )
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
    tests = questions.add_parser("tests", help="which tests to run for a change of a file or symbol, best first")
    tests.add_argument("--of", nargs="+", required=True, metavar="PATH[::NAME]", help="what changes")
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
    packages = questions.add_parser("packages", help="what some words are about, in packages that the folder imports")
    packages.add_argument("--about", required=True, metavar="WORDS", help="what it should do, in a few words")
    packages.add_argument("--package", default="", metavar="NAME", help="only in this package, by its import name")
    packages.add_argument("--limit", type=int, default=12, metavar="N", help="how much to tell, 12 if not given")
    for question in (calls, imports, symbols, impact, tests, stats, view, packages):
        question.add_argument("folder", type=Path, metavar="DIR", help="a repository or a package")
    for question in (calls, imports, symbols, impact, tests, stats, packages):
        question.add_argument("--json", action="store_true", help="print everything, as JSON")
    unbound = questions.add_parser("unbound", help="names that may be read before they have a value")
    unbound.add_argument("files", type=Path, nargs="+", metavar="FILE", help="a Python file, or a folder of them")


def add_rank(commands: Commands) -> None:
    """Add `rank`."""
    rank = add_command(
        commands,
        "rank",
        "the files or functions that some words are about",
        'rank . "session cookie is not partitioned"',
    )
    rank.add_argument("folder", type=Path, nargs="?", metavar="DIR", help="a repository")
    rank.add_argument("words", nargs="?", default="", metavar="WORDS", help="a task, a question, an error message")
    rank.add_argument("--seed", type=Path, metavar="FILE", help="a file that is known to be concerned")
    rank.add_argument("--functions", action="store_true", help="functions instead of files")
    rank.add_argument("--limit", type=int, default=20, metavar="N", help="how many, 20 if not given")
    rank.add_argument("--json", action="store_true", help="print items, scores and reasons as JSON")
    rank.add_argument(
        "--serve", action="store_true", help="answer JSON lines {repo_dir, query} on standard input with JSON lists"
    )
