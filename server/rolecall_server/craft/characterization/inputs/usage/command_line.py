"""Command lines for what reads one with `argparse`: what must be given, then each option beside it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain

from rolecall_server.craft.characterization.inputs.call_forms import build
from rolecall_server.craft.characterization.inputs.domains import FILES
from rolecall_server.craft.characterization.inputs.survey import CallableParameter, CallTarget
from rolecall_server.craft.characterization.inputs.usage.likely_types import names_file
from rolecall_server.craft.characterization.observation import LIKELY, CandidateCall

_MAX_LINES = 40
_MAX_COMMANDS = 6
_READING = ("parse_args", "parse_known_args", "parse_intermixed_args")
_WITHOUT_VALUE = frozenset({"store_true", "store_false", "store_const", "append_const", "count", "version", "help"})
_BY_TYPE = {"int": ("'1'", "'0'", "'x'"), "float": ("'1.5'", "'x'"), "str": ("'a'", "'b c'"), "": ("'a'", "'b c'")}
_A_FILE = f"str({FILES[0]})"
_LINE_NAMES = re.compile(r"(cli_|sys_|raw_)?(argv|args|arguments)")


@dataclass(frozen=True)
class _Option:
    """One argument of a parser."""

    flag: str
    """``--data``; empty for one without a name."""
    values: Sequence[str]
    """The expressions of values that it may have; empty where it takes none."""
    is_required: bool

    def words(self, number: int = 0) -> list[str]:
        """Return its words on a line, with its value of that *number*."""
        return [*([repr(self.flag)] if self.flag else []), *self.values[number : number + 1]]


def command_lines(nodes: Iterable[ast.AST], *before: str) -> list[str]:
    """Return expressions of lists of the words for the parsers that are made in *nodes*, the plainest first; *before*
    stands at the beginning of each.
    """
    calls = [one for node in nodes for one in ast.walk(node) if isinstance(one, ast.Call)]
    options = [_option(call) for call in calls if _called(call) == "add_argument"]
    names = [_text(call.args[0]) for call in calls if _called(call) == "add_parser" and call.args]
    commands = [[repr(name)] for name in names if name]
    lines = [[*command, *line] for command in commands[:_MAX_COMMANDS] or [[]] for line in _lines(options)]
    written = (f"[{', '.join([*before, *words])}]" for words in chain(lines, [[], ["'--unknown'"]]))
    return list(dict.fromkeys(written))[:_MAX_LINES]


@lru_cache(maxsize=64)
def parses_command_line(tree: ast.Module) -> bool:
    """Return whether a module parses the words of a command line at all."""
    return bool(_readings([tree]))


def takes_command_line(parameter: CallableParameter, nodes: Iterable[ast.AST]) -> bool:
    """Return whether a parameter holds the words of a command line, which *nodes* parse."""
    passed = [one.args[0] for one in _readings(nodes) if one.args]
    return bool(passed) and (
        any(isinstance(node, ast.Name) and node.id == parameter.name for node in passed)
        or _LINE_NAMES.fullmatch(parameter.name) is not None
    )


def calls_with_command_lines(target: CallTarget, nodes: Sequence[ast.AST]) -> list[CandidateCall]:
    """Return calls of a function that reads the command line of its process: each with another one in that place."""
    if target.kind != "function" or any(not one.optional for one in target.parameters):
        return []
    if all(one.args for one in _readings(nodes)):
        return []
    plain = build(target, {})
    return [
        replace(plain, operands=(line,), names=("argv",), patched=((0, "sys.argv"),), origin=LIKELY)
        for line in command_lines(nodes, "'program'")
    ]


def _readings(nodes: Iterable[ast.AST]) -> list[ast.Call]:
    calls = [one for node in nodes for one in ast.walk(node) if isinstance(one, ast.Call)]
    return [call for call in calls if _called(call) in _READING]


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


def _lines(options: Sequence[_Option]) -> Iterator[list[str]]:
    """Yield lines: with what is required alone, with its other values, and with each of the other options."""
    required = [one for one in options if one.is_required]
    base = [word for one in required for word in one.words()]
    yield base
    for other in required:
        for number in range(1, len(other.values)):
            yield [word for one in required for word in one.words(number if one is other else 0)]
    for one in options:
        if not one.is_required:
            yield from ([*base, *one.words(number)] for number in range(max(1, len(one.values))))


def _option(call: ast.Call) -> _Option:
    names = [str(one.value) for one in call.args if isinstance(one, ast.Constant)]
    words = {word.arg: word.value for word in call.keywords if word.arg}
    flags = sorted((name for name in names if name.startswith("-")), key=len)
    may_miss = _text(words.get("nargs")) in ("?", "*") or ("default" in words and not flags)
    is_required = _text(words.get("required")) == "True" if flags else not may_miss
    values = () if _text(words.get("action")) in _WITHOUT_VALUE else _values((names or [""])[-1].lstrip("-"), words)
    return _Option(flags[-1] if flags else "", values, is_required)


def _values(name: str, words: dict[str, ast.expr]) -> Sequence[str]:
    """Return the values that an argument of that *name* may have, by the keywords that describe it."""
    choices = words.get("choices")
    if isinstance(choices, ast.List | ast.Tuple | ast.Set):
        return [repr(str(one.value)) for one in choices.elts if isinstance(one, ast.Constant)]
    kind = ast.unparse(words["type"]) if "type" in words else ""
    if kind in _BY_TYPE and not names_file(CallableParameter(name.replace("-", "_"))):
        return _BY_TYPE[kind]
    return (_A_FILE, "'a'", "'1'")


def _text(node: ast.expr | None) -> str:
    return str(node.value) if isinstance(node, ast.Constant) else ""
