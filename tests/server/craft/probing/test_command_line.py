"""Functions that read a command line, and the lines they are tried with."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from collections.abc import Awaitable, Callable
from pathlib import Path

from rolecall_server.craft.characterization import HouseStyle, Stage, Study, Subject, study, write_test_file
from rolecall_server.craft.characterization.inputs.usage.command_line import command_lines
from rolecall_server.python_trees import parse_python

StageOf = Callable[..., Awaitable[Stage]]

SCRIPT = textwrap.dedent(
    """
    import argparse
    import sys


    def _parser():
        parser = argparse.ArgumentParser(prog="repeat")
        parser.add_argument("word", choices=["tick", "tock"])
        parser.add_argument("-n", "--times", type=int, default=2)
        parser.add_argument("--loud", action="store_true")
        return parser


    def main():
        options = _parser().parse_args()
        if options.times < 1:
            sys.exit("nothing to say")
        print(" ".join([options.word.upper() if options.loud else options.word] * options.times))


    def run(argv=None):
        return _parser().parse_args(argv).times * 3
    """
)


def told(message: str, fraction: float | None) -> None:
    """Nobody looks at the progress."""


def test_a_line_has_what_must_be_given_and_each_option_beside_it() -> None:
    lines = command_lines([parse_python(SCRIPT)])
    assert lines[:5] == ["['tick']", "['tock']", "['tick', '--times', '1']", "['tick', '--times', '0']",
                         "['tick', '--times', 'x']"]  # fmt: skip
    assert {"['tick', '--loud']", "[]", "['--unknown']"} <= set(lines)


def test_a_command_stands_before_its_options_and_a_file_is_one_that_is_there() -> None:
    lines = command_lines(
        [
            parse_python(
                "sub.add_parser('show')\nsub.add_parser('hide')\n"
                "parser.add_argument('--config-file', required=True)\nparser.add_argument('names', nargs='*')\n"
            )
        ]
    )
    assert lines[0].startswith("['show', '--config-file', str([(file := tmp_path / 'a.txt'), ")
    assert any(line.startswith("['hide', '--config-file', ") and line.endswith(", 'a']") for line in lines), lines


async def test_what_reads_the_command_line_is_called_with_others_and_may_end_the_program(
    stage_of: StageOf, tmp_path: Path
) -> None:
    found = await study(await stage_of(SCRIPT), Subject(SCRIPT, budget_s=1.0), told)
    assert isinstance(found, Study), found
    ends = {seen.printed or (seen.type_name, seen.message) for call, seen in found.cases.items() if call.patched}
    assert {"tick tick\n", ("SystemExit", "nothing to say"), ("SystemExit", "2")} <= ends
    assert any(seen.views == (("{}", "6"),) for call, seen in found.cases.items() if call.target == "run")
    text = write_test_file(found, "thing", HouseStyle())
    assert text is not None
    assert 'with patch("sys.argv", ' in text
    assert all('patch("sys.argv", ' in before for before in re.findall(r"(?s)def test_main.*?main\(\)", text)), text
    (tmp_path / "test_thing.py").write_text(text, "utf-8")
    ended = subprocess.run([sys.executable, "-m", "pytest", "-q", "test_thing.py"], cwd=tmp_path, check=False)
    assert ended.returncode == 0


async def test_a_help_that_the_width_of_the_terminal_wraps_is_not_asserted(stage_of: StageOf) -> None:
    text = textwrap.dedent(
        """
        import argparse


        def described(name: str) -> str:
            parser = argparse.ArgumentParser(prog="repeat", description="say one word after another and so on " * 4)
            return parser.format_help() if name else "nothing"
        """
    )
    found = await study(await stage_of(text), Subject(text, budget_s=1.0), told)
    assert isinstance(found, Study), found
    assert {seen.views for seen in found.cases.values()} == {(("{}", "'nothing'"),)}
