"""Options that several commands take, and what each command explains of itself."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]  # pyright: ignore[reportPrivateUsage]

_WRITING = ("tests", "implement", "revise", "fix", "run", "resume", "review")
_EXIT_CODES = """

exit codes:
  0    done; with --yes, or review --accept: written after tests ran, or only documentation changed
  1    an error, which is told; what there is of a proposal waits
  2    something typed cannot be understood
  3    a proposal of code or tests waits and was not written, because no test ran with it: see --untested;
       with review --accept all: also where some hunks wait, which are guarded or do not fit any more
  130  stopped with Ctrl+C"""


def add_command(commands: Commands, name: str, summary: str, *examples: str) -> argparse.ArgumentParser:
    """Add a command that explains itself, with *examples* of what follows `rolecall`."""
    shown = "\n".join(["examples:", *(f"  rolecall {example}" for example in examples)]) if examples else ""
    shown += _EXIT_CODES if name in _WRITING else ""
    description = f"{summary[0].upper()}{summary[1:]}."
    formatter = argparse.RawDescriptionHelpFormatter
    return commands.add_parser(name, help=summary, description=description, epilog=shown, formatter_class=formatter)


def add_root(command: argparse.ArgumentParser) -> None:
    """Add `--root`."""
    command.add_argument(
        "--root", type=Path, metavar="DIR", help="the repository; else the project around the file or this folder"
    )


def add_acceptance(command: argparse.ArgumentParser) -> None:
    """Add the options of commands that end in a proposal."""
    command.add_argument(
        "--yes", action="store_true", help="accept changes of sources, tests and documentation without asking"
    )
    command.add_argument("--guarded", action="store_true", help="with --yes: all other files as well")
    command.add_argument(
        "--anyway", action="store_true", help="with --yes: also where what is left out would be missing"
    )
    command.add_argument("--untested", action="store_true", help="with --yes: also where no test ran for the change")
    command.add_argument("--json", action="store_true", help="print the proposal as JSON; asks nothing")
    command.add_argument(
        "--strategy",
        dest="settings",
        action=_Set,
        # Typed so, it is a `--set` of that setting.
        type=lambda name: f"team.strategy={name}",
        default={},
        metavar="NAME",
        help="how much work goes into getting it right: quick, standard or thorough; without it code chooses",
    )
    add_settings(command)


def add_settings(command: argparse.ArgumentParser) -> None:
    """Add `--set`."""
    command.add_argument(
        "--set",
        dest="settings",
        action=_Set,
        default={},
        metavar="NAME=VALUE",
        help="a setting for this once, such as tests.run=false; may be given several times",
    )


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
            parser.error(
                f"argument {option_string}: {values} is no NAME=VALUE of a setting; docs/settings.md lists them"
            )
        group, option, *part = name.split(".")
        given: dict[str, dict[str, Any]] = getattr(namespace, self.dest)
        so_far = given.get(group, {})
        chosen = {**so_far.get(option, {}), part[0]: value} if part else value
        _, problems = read_settings({group: {option: chosen}}, {})
        if problems:
            parser.error(f"argument {option_string}: {problems[0].partition(';')[0]}")
        # A new dictionary: argparse hands the one that is the default to whoever parses next as well.
        setattr(namespace, self.dest, {**given, group: {**so_far, option: chosen}})
