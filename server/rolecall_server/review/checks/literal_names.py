"""Names that Python code gives or reads by a string: options of a command line, keys, attributes set by name.

`add_argument("--dialect")` gives what `args.dialect` reads, and `{"size": 1}` what `row["size"]` reads. No scope leads
from one to the other, so the name itself does.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from rolecall_server.python_trees import parse_python

_OPTIONS = {"add_argument", "add_option", "option", "argument"}
"""Calls whose strings become an attribute or a parameter: argparse, optparse, click and typer."""
_KEYWORDS = {"dict", "set_defaults", "Namespace", "SimpleNamespace", "update"}
"""Calls whose keywords become keys or attributes."""
_MEMBERS = {"namedtuple", "Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"}
"""Calls whose second argument lists names."""
_FIRST_READ, _SECOND_READ = {"get", "pop", "itemgetter", "attrgetter"}, {"getattr", "delattr"}


@dataclass(frozen=True)
class LiteralName:
    """A name in a string, on a line counted from 0."""

    name: str
    line: int
    gives: bool
    """It brings the name about; else it is read."""


@lru_cache(maxsize=1024)
def literal_names(text: str) -> tuple[LiteralName, ...]:
    """Return the names that strings give and read in a Python text; none where it cannot be parsed."""
    try:
        tree = parse_python(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    found = (
        LiteralName(name, node.lineno - 1, gives)
        for node in ast.walk(tree)
        if isinstance(node, ast.expr | ast.stmt)
        for name, gives in _names_at(node)
    )
    return tuple(one for one in found if one.name.isidentifier())


def _names_at(node: ast.expr | ast.stmt) -> Iterator[tuple[str, bool]]:
    match node:
        case ast.Dict():
            yield from ((name, True) for name in _strings(node.keys))
        case ast.Subscript():
            yield from ((name, isinstance(node.ctx, ast.Store)) for name in _strings([node.slice]))
        case ast.Call():
            yield from _names_in_call(node)
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            if any(isinstance(one, ast.Call) and _called(one) in _OPTIONS for one in node.decorator_list):
                # click and its kin hand the options to the function below the decorator, each by its name.
                yield from ((one.arg, False) for one in (*node.args.args, *node.args.kwonlyargs))
        case _:
            pass


def _names_in_call(call: ast.Call) -> Iterator[tuple[str, bool]]:
    name = _called(call)
    if name in _OPTIONS:
        yield from ((option, True) for option in _option(call))
    elif name in _KEYWORDS:
        yield from ((one.arg, True) for one in call.keywords if one.arg)
    elif name in _MEMBERS:
        yield from ((one, True) for one in _listed(call.args[1:2]))
    elif name == "setattr":
        yield from ((one, True) for one in _strings(call.args[1:2]))
    elif name == "setdefault":
        yield from ((one, True) for one in _strings(call.args[:1]))
    elif name in _FIRST_READ:
        yield from ((one, False) for one in _strings(call.args[:1]))
    elif name in _SECOND_READ:
        yield from ((one, False) for one in _strings(call.args[1:2]))


def _called(call: ast.Call) -> str:
    """Return the last part of what is called."""
    match call.func:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
        case _:
            return ""


def _option(call: ast.Call) -> list[str]:
    """Return the name under which the value of an option can be had: `dest`, else what its spelling makes of it.

    Source: argparse takes the first long option, click a name without dashes before any.
    """
    if named := list(_strings(one.value for one in call.keywords if one.arg == "dest")):
        return named
    spellings = [one.partition("/")[0] for one in _strings(call.args)]
    best = sorted(spellings, key=lambda one: (one.startswith("-"), not one.startswith("--")))
    return [one.lstrip("-").replace("-", "_") for one in best[:1]]


def _listed(arguments: Iterable[ast.expr]) -> Iterator[str]:
    """Yield the names in ``"a b"``, ``"a, b"`` or a list of strings."""
    for argument in arguments:
        if isinstance(argument, ast.List | ast.Tuple):
            yield from _strings(argument.elts)
        else:
            yield from (name for text in _strings([argument]) for name in text.replace(",", " ").split())


def _strings(nodes: Iterable[ast.expr | None]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
