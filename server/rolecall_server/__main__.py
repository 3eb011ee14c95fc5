"""The composition root: `python -I -m rolecall_server` for editors, `rolecall` for people."""

from __future__ import annotations

import argparse
import gc
import os
import signal
import sys
from collections.abc import Callable
from pkgutil import resolve_name

from rolecall_server.cli.arguments import parser, read_arguments

_FOR_EDITORS = (
    "rolecall serve speaks the Language Server Protocol over standard input and output: it is for editors to start. "
    "Ctrl+C ends it; `rolecall --help` lists what can be done here."
)

_STOPPED = 130

_COMMANDS = {
    "tests": "run:ask_role",
    "implement": "run:ask_role",
    "revise": "run:ask_role",
    "fix": "fix:run_fix",
    "run": "run:run_team",
    "resume": "run:run_team",
    "graph": "graph:run_graph",
    "rank": "rank:run_rank",
    "review": "review:run_review",
    "review-code": "review_code:run_review_code",
    "propose": "propose:run_propose",
    "log": "log:run_log",
    "undo": "undo:run_undo",
    "documents": "documents:run_documents",
    "usage": "measuring.usage:run_usage",
    "export": "experience.export:run_export",
    "experience": "experience.listing:run_experience",
    "bench": "measuring.bench:run_bench",
    "doctor": "doctor:run_doctor",
    "trust": "trust:run_trust",
}
"""Where each command is carried out, below `cli/commands`; imported when it is called, so that others start sooner."""


def main() -> int:
    """Do what the command line says; without a word, serve an editor, or show a person the help."""
    try:
        code = _carry_out()
    except KeyboardInterrupt:  # before the command began, or when it had said how it ended
        sys.stderr.write("Stopped.\n")
        code = _STOPPED
    finally:
        _end_at_once()
    if code == _STOPPED:
        from rolecall_server.cli.interrupts import end_without_threads

        end_without_threads(code)
    return code


def _end_at_once() -> None:
    """Have a signal that comes while Python takes itself down end the process: there is nothing left to tidy."""
    for number in (getattr(signal, name, None) for name in ("SIGINT", "SIGTERM", "SIGHUP")):
        if number is not None and signal.getsignal(number) not in (signal.SIG_IGN, None):
            signal.signal(number, signal.SIG_DFL)


def _carry_out() -> int:
    arguments = read_arguments()
    command = arguments.command
    if command is None and sys.stdin.isatty():
        parser().print_help()
        return 2
    from rolecall_server.cli.leftovers import (
        finish_what_was_begun,
        remove_leftovers,
        settle_temporary_folder,
    )

    settle_temporary_folder()
    told = finish_what_was_begun()
    for sentence in told:
        sys.stderr.write(f"{sentence}\n")
    if command in (None, "serve"):
        if sys.stdin.isatty():
            print(_FOR_EDITORS, file=sys.stderr)
        gc.disable()  # imports make little garbage, and looking for it takes a tenth of the start
        from rolecall_server.lsp.stdio import serve

        return serve(told=told)
    # A server does that itself, after its first answer.
    remove_leftovers()
    if command == "demo":
        from rolecall_server.cli.commands.demo import run_demo
        from rolecall_server.lsp.headless import HeadlessEditor

        return run_demo(arguments, HeadlessEditor)
    carry_out: Callable[[argparse.Namespace], int] = resolve_name(f"rolecall_server.cli.commands.{_COMMANDS[command]}")
    try:
        return carry_out(arguments)
    except BrokenPipeError:  # whoever reads our output has seen enough, as in `rolecall ... | head`
        # Python flushes the output once more at its end, and would fail with the same error there.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


if __name__ == "__main__":
    sys.exit(main())
