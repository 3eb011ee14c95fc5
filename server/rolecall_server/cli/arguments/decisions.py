"""Commands that decide proposals, and tell what was decided."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rolecall_server.cli.arguments.options import add_command, add_root, add_settings

if TYPE_CHECKING:
    from rolecall_server.cli.arguments.options import Commands


def add_decisions(commands: Commands) -> None:
    """Add `review`, `log`, `undo` and `propose`."""
    review = add_command(
        commands,
        "review",
        "decide what is undecided, hunk by hunk",
        "review",
        "review p7",
        'review p7 --accept h1,h2 --reject h3 --reason "it repeats test_total"',
    )
    review.add_argument("proposal", nargs="?", help="such as p7; without it the undecided ones are listed")
    review.add_argument("--accept", default="", metavar="HUNKS", help="accept these without asking: h1,h2 or all")
    review.add_argument("--reject", default="", metavar="HUNKS", help="reject these without asking: h3 or all")
    review.add_argument("--reason", default="", metavar="TEXT", help="why they are rejected")
    review.add_argument("--guarded", action="store_true", help="with --accept: files that take a second answer as well")
    review.add_argument(
        "--anyway", action="store_true", help="with --accept: also where what is left out would be missing"
    )
    review.add_argument("--untested", action="store_true", help="with --accept all: also where no test ran")
    log = add_command(
        commands,
        "log",
        "what the team did here, and what was decided",
        "log",
        "log p7",
        "log r12 --sent",
        "log --at src/shop/price.py:12",
    )
    log.add_argument(
        "what", nargs="?", help="a run, a proposal or a message, such as r12, p7 or m3; without it all runs are listed"
    )
    log.add_argument("--sent", action="store_true", help="what the model was told in that run, call by call")
    log.add_argument("--at", metavar="FILE:LINE", help="where that line came from")
    log.add_argument("--limit", type=int, default=20, metavar="N", help="how many runs, 20 if not given")
    undo = add_command(
        commands,
        "undo",
        "take accepted hunks out of their files again",
        "undo r12",
        "undo p7/h2",
        "undo p7 --what-still-fits",
    )
    undo.add_argument("what", help="a run, a proposal or a hunk: r12, p7, p7/h2; a rejected hunk is offered again")
    undo.add_argument(
        "--what-still-fits", action="store_true", help="where some of it was changed since, take back the rest"
    )
    undo.add_argument(
        "--anyway", action="store_true", help="also where something would be missing or a test would fail"
    )
    propose = add_command(
        commands,
        "propose",
        "have a patch of another agent checked, tried and reviewed hunk by hunk",
        "propose fix.patch",
        'propose - --from "Some Agent" --title "Round the total" < fix.patch',
    )
    propose.add_argument("patch", help="a file with a unified diff of the files as they are; - for standard input")
    propose.add_argument("--from", dest="origin", default="another agent", metavar="NAME", help="who made it")
    propose.add_argument("--title", default="", metavar="TEXT", help="what it is for, in a line")
    add_settings(propose)
    for command in (review, propose, log, undo):
        add_root(command)
        command.add_argument("--json", action="store_true", help="print everything as JSON; asks nothing")
