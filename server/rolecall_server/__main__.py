"""The composition root: `python -I -m rolecall_server` for editors, `rolecall` for people."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pkgutil import resolve_name

from rolecall_server.cli.arguments import parser

_FOR_EDITORS = (
    "rolecall serve speaks the Language Server Protocol over standard input and output: it is for editors to start. "
    "Ctrl+C ends it; `rolecall --help` lists what can be done here."
)

_COMMANDS = {
    "tests": "work:work",
    "implement": "work:work",
    "run": "run:run_team",
    "resume": "run:run_team",
    "graph": "graph:run_graph",
    "rank": "rank:run_rank",
    "review": "review:run_review",
    "log": "log:run_log",
    "undo": "undo:run_undo",
    "documents": "documents:run_documents",
    "usage": "usage:run_usage",
    "doctor": "doctor:run_doctor",
    "trust": "trust:run_trust",
}
"""Where each command is carried out, below `cli`; imported when it is called, so that others start sooner."""


def main() -> int:
    """Do what the command line says; without a word, serve an editor, or show a person the help."""
    arguments = parser().parse_args()
    command = arguments.command
    if command is None and sys.stdin.isatty():
        parser().print_help()
        return 2
    from rolecall_server.cli.leftovers import finish_what_was_begun, remove_leftovers

    if command in (None, "serve"):
        if sys.stdin.isatty():
            print(_FOR_EDITORS, file=sys.stderr)
        from rolecall_server.lsp.stdio import serve

        return serve(told=finish_what_was_begun())
    remove_leftovers()
    for sentence in finish_what_was_begun():
        sys.stderr.write(f"{sentence}\n")
    if command == "demo":
        from rolecall_server.cli.demo import run_demo
        from rolecall_server.lsp.headless import HeadlessEditor

        return run_demo(arguments, HeadlessEditor)
    carry_out: Callable[[argparse.Namespace], int] = resolve_name(f"rolecall_server.cli.{_COMMANDS[command]}")
    try:
        return carry_out(arguments)
    except BrokenPipeError:  # whoever reads our output has seen enough, as in `rolecall ... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


if __name__ == "__main__":
    sys.exit(main())
