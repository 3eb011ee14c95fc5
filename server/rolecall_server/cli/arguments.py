"""The commands and options that can be typed after `rolecall`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rolecall_server import __version__

if TYPE_CHECKING:
    _Commands = argparse._SubParsersAction[argparse.ArgumentParser]  # pyright: ignore[reportPrivateUsage]

WAYS = ("engineer", "middle", "team")
"""Those of `team.roles.declarations.RunWay`, which takes longer to import than `--help` shall take."""
_WRITING = ("tests", "implement", "revise", "fix", "run", "resume", "review")
_EXIT_CODES = """

exit codes:
  0    done; with --yes, or review --accept: written after tests ran, or only documentation changed
  1    an error, which is told; what there is of a proposal waits
  2    something typed cannot be understood
  3    a proposal of code or tests waits and was not written, because no test ran with it: see --untested
  130  stopped with Ctrl+C"""


def parser() -> argparse.ArgumentParser:
    """Return the command line as argparse knows it."""
    top = argparse.ArgumentParser(
        prog="rolecall",
        description="A software team inside your editor, and here without one.",
        epilog="rolecall COMMAND --help shows what a command takes, with examples.",
    )
    top.add_argument("-V", "--version", action="version", version=f"rolecall {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND")
    _add(commands, "serve", "speak the Language Server Protocol over standard input and output; editors start it")
    _add_work(commands)
    _add_team(commands)
    _add_decisions(commands)
    _add_documents(commands)
    _add_review_code(commands)
    _add_doctor(commands)
    _add_trust(commands)
    _add_usage(
        _add(
            commands,
            "usage",
            "what the models have used: tokens, calls and money",
            "usage",
            "usage --by model --days 30",
            "usage --by role,run --root . --json",
        )
    )
    _add_experience(commands)
    _add_export(commands)
    demo = _add(commands, "demo", "run the main job on a copy of a small library")
    demo.add_argument(
        "--library", type=Path, required=True, metavar="ARCHIVE", help="its source distribution (.tar.gz)"
    )
    demo.add_argument("--yes", action="store_true", help="go through without asking")
    _add_graph(
        _add(
            commands,
            "graph",
            "ask the code graph of a folder: calls, imports, impact, a map",
            "graph impact . --of shop/cart.py::Cart.total",
            "graph imports . --json",
            'graph packages . --about "retry a request"',
        )
    )
    _add_rank(
        _add(
            commands,
            "rank",
            "the files or functions that some words are about",
            'rank . "session cookie is not partitioned"',
        )
    )
    return top


def _add(commands: _Commands, name: str, summary: str, *examples: str) -> argparse.ArgumentParser:
    """Add a command that explains itself, with *examples* of what follows `rolecall`."""
    shown = "\n".join(["examples:", *(f"  rolecall {example}" for example in examples)]) if examples else ""
    shown += _EXIT_CODES if name in _WRITING else ""
    description = f"{summary[0].upper()}{summary[1:]}."
    formatter = argparse.RawDescriptionHelpFormatter
    return commands.add_parser(name, help=summary, description=description, epilog=shown, formatter_class=formatter)


def _add_work(commands: _Commands) -> None:
    tests = _add(
        commands,
        "tests",
        "have the QA Engineer write tests for a file",
        "tests src/shop/price.py",
        "tests src/shop/cart.py --symbol Cart.total --yes",
        'tests src/shop/price.py -m "use the db fixture"',
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
    implement = _add(
        commands,
        "implement",
        "have the Engineer implement a brief",
        'implement "let total() take a tax rate" --in src/shop/price.py',
        'implement "rename shop/price.py to shop/prices.py"',
    )
    implement.add_argument("brief", help="what to implement, in a sentence or a page")
    implement.add_argument("--in", dest="file", type=Path, metavar="FILE", help="the file to work on; it may be new")
    revise = _add(
        commands,
        "revise",
        "have what you did not decide yet made anew, as you say; what you accepted stays",
        'revise p7 "use a set, and name it seen"',
        'revise p7 "no network in this test" --hunk h2',
    )
    revise.add_argument("proposal", help="such as p7")
    revise.add_argument("brief", help="what shall be different, in a sentence or a page")
    revise.add_argument("--hunk", default="", metavar="HUNK", help="only this hunk, such as h2; else all that waits")
    fix = _add(
        commands,
        "fix",
        "have the Engineer mend what makes a test fail, or only say where that may be",
        "fix tests/test_price.py::test_total",
        "fix tests/test_price.py::test_total --locate",
        "fix --traceback build.log --yes",
    )
    fix.add_argument("test", nargs="?", default="", metavar="FILE::TEST", help="a test as pytest names it, or its file")
    fix.add_argument("--traceback", metavar="FILE", help="a traceback or the log of a red build; - for standard input")
    fix.add_argument("--locate", action="store_true", help="only rank the functions it may be in, without a model")
    fix.add_argument(
        "--trace", action="store_true", help="only show what each line of the test computes, without a model"
    )
    fix.add_argument("--unreproduced", action="store_true", help="go on although nothing fails here")
    fix.add_argument("--change-tests", action="store_true", help="the tests may be changed too: they may be wrong")
    for command in (tests, implement, revise, fix):
        _add_root(command)
        _add_acceptance(command)


def _add_team(commands: _Commands) -> None:
    run = _add(
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
    resume = _add(
        commands,
        "resume",
        "go on with a run that was paused, stopped or killed, or that waits for you",
        "resume r12",
        "resume r12 --again m7",
        "resume r12 --edit design design.md",
        "resume r12 --edit m4 requirements.md --branch",
    )
    resume.add_argument("run", metavar="RUN", help="such as r12")
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
        _add_root(command)
        _add_acceptance(command)


def _add_acceptance(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--yes", action="store_true", help="accept changes of sources, tests and documentation without asking"
    )
    command.add_argument("--guarded", action="store_true", help="with --yes: all other files as well")
    command.add_argument(
        "--anyway", action="store_true", help="with --yes: also where what is left out would be missing"
    )
    command.add_argument("--untested", action="store_true", help="with --yes: also where no test ran for the change")
    command.add_argument("--json", action="store_true", help="print the proposal as JSON; asks nothing")
    _add_settings(command)


def _add_doctor(commands: _Commands) -> None:
    doctor = _add(
        commands,
        "doctor",
        "say which model answers and why, whether tests can run here, and what has to be fixed",
        "doctor",
        "doctor --probe",
    )
    _add_root(doctor)
    doctor.add_argument("--probe", action="store_true", help="try what the model can do: a handful of short calls")
    doctor.add_argument("--json", action="store_true", help="print everything as JSON")
    _add_settings(doctor)


def _add_trust(commands: _Commands) -> None:
    trust = _add(
        commands,
        "trust",
        "say that the Python which lies in the repository may run its tests, behind walls",
        "trust",
        "trust --root . --yes",
    )
    _add_root(trust)
    trust.add_argument("--yes", action="store_true", help="confirm it without being asked, as it is now")
    _add_settings(trust)


def _add_settings(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--set",
        dest="settings",
        action=_Set,
        default={},
        metavar="NAME=VALUE",
        help="a setting for this once, such as tests.run=false; may be given several times",
    )


def _add_decisions(commands: _Commands) -> None:
    review = _add(
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
    log = _add(
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
    undo = _add(
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
    propose = _add(
        commands,
        "propose",
        "have a patch of another agent checked, tried and reviewed hunk by hunk",
        "propose fix.patch",
        'propose - --from "Some Agent" --title "Round the total" < fix.patch',
    )
    propose.add_argument("patch", help="a file with a unified diff of the files as they are; - for standard input")
    propose.add_argument("--from", dest="origin", default="another agent", metavar="NAME", help="who made it")
    propose.add_argument("--title", default="", metavar="TEXT", help="what it is for, in a line")
    _add_settings(propose)
    for command in (review, propose, log, undo):
        _add_root(command)
        command.add_argument("--json", action="store_true", help="print everything as JSON; asks nothing")


def _add_usage(usage: argparse.ArgumentParser) -> None:
    usage.add_argument(
        "--by", default="day,model", metavar="WHAT", help="day, model, role or run, several with commas; day,model"
    )
    usage.add_argument("--days", type=int, metavar="N", help="only today and the N - 1 days before it, UTC")
    usage.add_argument("--root", type=Path, metavar="DIR", help="only in this repository; else in all")
    usage.add_argument("--json", action="store_true", help="print everything as JSON")


def _add_experience(commands: _Commands) -> None:
    experience = _add(
        commands,
        "experience",
        "what is kept of earlier attempts here, where rolecall.experience.use has it kept",
        "experience",
        "experience e41",
        'experience --for "let total() take a tax rate" --in src/shop/price.py',
        "experience --forget e41",
    )
    experience.add_argument("what", nargs="?", help="an experience, or a run: e41, r12; without it all are listed")
    experience.add_argument(
        "--for", dest="brief", default="", metavar="BRIEF", help="show what a role would be told of it for this brief"
    )
    experience.add_argument("--in", dest="file", type=Path, metavar="FILE", help="the file of that brief")
    experience.add_argument(
        "--role", choices=("engineer", "qa_engineer"), default="engineer", help="whose brief it is; engineer"
    )
    experience.add_argument("--forget", default="", metavar="WHAT", help="delete e41, those of r12, or all; for good")
    experience.add_argument("--limit", type=int, default=20, metavar="N", help="list so many, the latest; 20")
    experience.add_argument("--json", action="store_true", help="print everything as JSON")
    _add_root(experience)
    _add_settings(experience)


def _add_export(commands: _Commands) -> None:
    export = _add(
        commands,
        "export",
        "write what earlier attempts here showed as training data: verified, secrets covered",
        "export chat --to chat.jsonl --set experience.licences=MIT",
        "export preference --to pairs.jsonl",
    )
    export.add_argument(
        "format",
        choices=("chat", "preference", "trajectories", "repairs"),
        help="conversations that end well; a good answer beside a bad one; attempts with rewards; bug, why, fix",
    )
    export.add_argument("--to", type=Path, required=True, metavar="FILE", help="the file to write, a row a line")
    export.add_argument("--yes", action="store_true", help="replace that file where it is there")
    export.add_argument("--json", action="store_true", help="print what was written as JSON; asks nothing")
    _add_root(export)
    _add_settings(export)


def _add_review_code(commands: _Commands) -> None:
    review = _add(
        commands,
        "review-code",
        "tell what looks wrong in files, or in what changed since a commit; exit code 4 where something does",
        "review-code src/shop/price.py",
        "review-code --diff main --json",
    )
    review.add_argument("files", type=Path, nargs="*", metavar="FILE", help="Python files, or folders of them")
    review.add_argument("--diff", default="", metavar="REV", help="what changed since this commit, and who calls that")
    review.add_argument(
        "--no-model", action="store_true", help="tell what the rules find, without asking a model which of it is real"
    )
    review.add_argument("--json", action="store_true", help="print everything as JSON")
    _add_root(review)
    _add_settings(review)


def _add_documents(commands: _Commands) -> None:
    documents = _add(
        commands,
        "documents",
        "what the team wrote down: requirements, designs, tasks, reviews",
        "documents",
        "documents d3 > tasks.md",
        "documents d3 --take tasks.md",
        "documents r12 --check",
        "documents --understand",
    )
    documents.add_argument("what", nargs="?", help="a document or a run, such as d3 or r12; without it all are listed")
    documents.add_argument("--take", type=Path, metavar="FILE", help="store an edited document as its next version")
    documents.add_argument("--check", action="store_true", help="say which ids and names in the code lead nowhere")
    documents.add_argument("--understand", action="store_true", help="tell this repository in ten lines")
    documents.add_argument("--json", action="store_true", help="print everything as JSON")
    _add_root(documents)


def _add_root(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--root", type=Path, metavar="DIR", help="the repository; else the project around the file or this folder"
    )


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
        rows = {row.key.removeprefix("rolecall."): row for row in setting_rows()}
        row_name = ".".join(name.split(".")[:2])
        in_object = row_name in rows and rows[row_name].schema.get("type") == "object"
        if not equals or row_name not in rows or in_object != (name.count(".") == 2):
            parser.error(f"argument --set: {values} is no NAME=VALUE of a setting; docs/settings.md lists them")
        group, option, *part = name.split(".")
        given: dict[str, dict[str, Any]] = getattr(namespace, self.dest)
        so_far = given.get(group, {})
        chosen = {**so_far.get(option, {}), part[0]: value} if part else value
        _, problems = read_settings({group: {option: chosen}}, {})
        if problems:
            parser.error(f"argument --set: {problems[0].partition(';')[0]}")
        setattr(namespace, self.dest, {**given, group: {**so_far, option: chosen}})
