"""The composition root: `python -I -m rolecall_server` for editors, `rolecall` for people."""

from __future__ import annotations

import os
import sys

from rolecall_server.cli.arguments import parser


def main() -> int:
    """Do what the command line says; without a word, serve an editor, or show a person the help."""
    arguments = parser().parse_args()
    command = arguments.command
    if command is None and sys.stdin.isatty():
        parser().print_help()
        return 2
    if command in (None, "serve"):
        from rolecall_server.lsp.stdio import serve

        return serve()
    if command == "demo":
        from rolecall_server.cli.demo import run_demo
        from rolecall_server.lsp.headless import HeadlessEditor

        return run_demo(arguments, HeadlessEditor)
    if command == "graph":
        from rolecall_server.cli.graph import run_graph as carry_out
    elif command == "rank":
        from rolecall_server.cli.rank import run_rank as carry_out
    else:
        from rolecall_server.cli.work import work as carry_out

    try:
        return carry_out(arguments)
    except BrokenPipeError:  # whoever reads our output has seen enough, as in `rolecall ... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


if __name__ == "__main__":
    sys.exit(main())
