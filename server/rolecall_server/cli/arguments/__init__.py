"""The commands and options that can be typed after `rolecall`."""

from __future__ import annotations

import argparse

from rolecall_server import __version__
from rolecall_server.cli.arguments.decisions import add_decisions
from rolecall_server.cli.arguments.graph import add_graph, add_rank
from rolecall_server.cli.arguments.knowledge import (
    add_documents,
    add_experience,
    add_export,
    add_review_code,
    add_usage,
)
from rolecall_server.cli.arguments.machine import add_bench, add_demo, add_doctor, add_trust
from rolecall_server.cli.arguments.options import add_command
from rolecall_server.cli.arguments.work import WAYS, add_team, add_work

__all__ = ["WAYS", "parser", "read_arguments"]


def read_arguments() -> argparse.Namespace:
    """Return what this process was given on its command line; of words too many it is said that text takes quotes."""
    top = parser()
    known, more = top.parse_known_args()
    if more:
        words = " ".join((getattr(known, "brief", ""), *more)).strip()
        is_text = not any(word.startswith("-") for word in more)
        hint = f'; text of several words stands in quotes: "{words}"' if is_text else ""
        top.error(f"unrecognized arguments: {' '.join(more)}{hint}")
    return known


def parser() -> argparse.ArgumentParser:
    """Return the command line as argparse knows it."""
    top = argparse.ArgumentParser(
        prog="rolecall",
        description="A software team inside your editor, and here without one.",
        epilog="rolecall COMMAND --help shows what a command takes, with examples.",
    )
    top.add_argument("-V", "--version", action="version", version=f"rolecall {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND")
    add_command(
        commands, "serve", "speak the Language Server Protocol over standard input and output; editors start it"
    )
    add_work(commands)
    add_team(commands)
    add_decisions(commands)
    add_documents(commands)
    add_review_code(commands)
    add_bench(commands)
    add_doctor(commands)
    add_trust(commands)
    add_usage(commands)
    add_experience(commands)
    add_export(commands)
    add_demo(commands)
    add_graph(commands)
    add_rank(commands)
    return top
