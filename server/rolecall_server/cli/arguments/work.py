"""Commands that have one role or the team work."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rolecall_server.cli.arguments.options import add_acceptance, add_command, add_root

if TYPE_CHECKING:
    from rolecall_server.cli.arguments.options import Commands

WAYS = ("engineer", "middle", "team")
"""Those of `team.roles.declarations.RunWay`, which takes longer to import than `--help` shall take."""


def add_work(commands: Commands) -> None:
    """Add the commands of one role: `tests`, `implement`, `revise` and `fix`."""
    tests = add_command(
        commands,
        "tests",
        "have the QA Engineer write tests for a file",
        "tests src/shop/price.py",
        "tests src/shop/cart.py --symbol Cart.total --yes",
        'tests src/shop/price.py -m "use the db fixture"',
        "tests src/shop/price.py --fault 12",
    )
    tests.add_argument("file", type=Path, help="the Python file to test")
    tests.add_argument("--symbol", default="", metavar="NAME", help="only this function or class, such as Cart.total")
    tests.add_argument(
        "-m",
        "--brief",
        default="",
        metavar="TEXT",
        help='what the QA Engineer should know, or do otherwise than in its last proposal: "use the db fixture"',
    )
    tests.add_argument(
        "--fault",
        type=int,
        default=0,
        metavar="LINE",
        help="only a test that shows the fault which `review-code` tells of this line",
    )
    implement = add_command(
        commands,
        "implement",
        "have the Engineer implement a brief",
        'implement "let total() take a tax rate" --in src/shop/price.py',
        'implement "rename shop/price.py to shop/prices.py"',
    )
    implement.add_argument("brief", help="what to implement, in a sentence or a page")
    implement.add_argument("--in", dest="file", type=Path, metavar="FILE", help="the file to work on; it may be new")
    revise = add_command(
        commands,
        "revise",
        "have what you did not decide yet made anew, as you say; what you accepted stays",
        'revise p7 "use a set, and name it seen"',
        'revise p7 "no network in this test" --hunk h2',
    )
    revise.add_argument("proposal", help="such as p7")
    revise.add_argument("brief", help="what shall be different, in a sentence or a page")
    revise.add_argument("--hunk", default="", metavar="HUNK", help="only this hunk, such as h2; else all that waits")
    fix = add_command(
        commands,
        "fix",
        "have the Engineer mend what makes tests fail, or only say where that may be",
        "fix tests/test_price.py::test_total",
        "fix tests/test_price.py::test_total --locate",
        "fix --traceback build.log --yes",
    )
    fix.add_argument(
        "tests", nargs="*", default=[], metavar="FILE::TEST", help="tests as pytest names them, or their files"
    )
    fix.add_argument("--traceback", metavar="FILE", help="a traceback or the log of a red build; - for standard input")
    fix.add_argument("--locate", action="store_true", help="only rank the functions it may be in, without a model")
    fix.add_argument(
        "--trace", action="store_true", help="only show what each line of the test computes, without a model"
    )
    fix.add_argument("--unreproduced", action="store_true", help="go on although nothing fails here")
    fix.add_argument("--change-tests", action="store_true", help="the tests may be changed too: they may be wrong")
    for command in (tests, implement, revise, fix):
        add_root(command)
        add_acceptance(command)


def add_team(commands: Commands) -> None:
    """Add the commands of the team: `run` and `resume`."""
    run = add_command(
        commands,
        "run",
        "have the team work on a brief, from requirements to a reviewed proposal",
        'run "let total() take a tax rate, and print a receipt with it"',
        'run --plan "$(cat brief.md)"',
        'run --way middle "$(cat brief.md)"',
        'run "explain prices in the receipt" --roles engineer,reviewer',
    )
    run.add_argument("brief", help="what you want, in a sentence or a page")
    run.add_argument("--in", dest="file", type=Path, metavar="FILE", help="the file it is about")
    run.add_argument("--plan", action="store_true", help="only say who would work on it, and what that may cost")
    resume = add_command(
        commands,
        "resume",
        "go on with a run that was paused, stopped or killed, or that waits for you",
        "resume",
        "resume r12",
        "resume r12 --again m7",
        "resume r12 --edit design design.md",
        "resume r12 --edit m4 requirements.md --branch",
    )
    resume.add_argument(
        "run", metavar="RUN", nargs="?", help="such as r12; without it those that can be gone on with are listed"
    )
    resume.add_argument("--again", default="", metavar="MESSAGE", help="have this done anew, and what rests on it: m7")
    resume.add_argument(
        "--edit", nargs=2, metavar=("DOCUMENT", "FILE"), help="put the text of FILE in the place of a document: design"
    )
    resume.add_argument("--drop", default="", metavar="TASKS", help="leave tasks out that are not done yet: T2,T3")
    resume.add_argument(
        "--missing", action="store_true", help="have the tasks done that `documents --check` calls missing"
    )
    resume.add_argument("--branch", action="store_true", help="with --edit: as a run of its own")
    who = run.add_mutually_exclusive_group()
    who.add_argument(
        "--way",
        choices=WAYS,
        help="the Engineer alone; the middle way: requirements, one Engineer, independent tests, a review; the whole "
        "team. Without it the size of the brief decides",
    )
    for command, options in ((run, who), (resume, resume)):
        options.add_argument("--roles", default="", metavar="ROLES", help="who works on it: engineer,reviewer, or all")
        command.add_argument(
            "--repository-roles", action="store_true", help="confirm the roles in .rolecall/roles as they are now"
        )
        add_root(command)
        add_acceptance(command)
