"""The values that a text names: strings, regular expressions, numbers."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

_MAX_CHARACTERS = 120
_MAX_BASE = 1024
_MAX_POWER = 64


@dataclass(frozen=True)
class Literals:
    """Values that a text names, each once, as expressions; in the order of the source."""

    strings: tuple[str, ...] = ()
    """The values themselves."""
    patterns: tuple[str, ...] = ()
    """Regular expressions."""
    numbers: tuple[int | float, ...] = ()


def literals_in(nodes: Iterable[ast.AST]) -> Literals:
    """Return the values that *nodes* name, documentation and the pieces of f-strings left out."""
    strings: dict[str, None] = {}
    patterns: dict[str, None] = {}
    numbers: dict[tuple[type, int | float], int | float] = {}
    for node in nodes:
        for value in _constants(node):
            if isinstance(value, str):
                if looks_like_pattern(value):
                    patterns[value] = None
                elif len(value) <= _MAX_CHARACTERS:
                    strings[value] = None
            elif isinstance(value, int | float) and not isinstance(value, bool):
                # With its type, for 1 and 1.0 are the same key.
                numbers[type(value), value] = value
    return Literals(tuple(strings), tuple(patterns), tuple(numbers.values()))


def literals_on(tree: ast.AST, lines: Collection[int]) -> Literals:
    """Return the values that stand on *lines* of *tree*."""
    return literals_in(node for node in ast.walk(tree) if isinstance(node, ast.Constant) and node.lineno in lines)


def _constants(node: ast.AST) -> Iterator[object]:
    if isinstance(node, ast.Constant):
        yield node.value
        return
    if isinstance(node, ast.BinOp):
        yield from _product(node)
    if not isinstance(node, ast.JoinedStr) and not (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    ):
        for child in ast.iter_child_nodes(node):
            yield from _constants(child)


def _product(node: ast.BinOp) -> Iterator[int]:
    """Yield the value of a product or power of whole numbers: ``10 * 1000``, ``2**20``."""
    match node:
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            sides = [*_whole(left)], [*_whole(right)]
            yield from (first * second for first in sides[0] for second in sides[1])
        case ast.BinOp(left=ast.Constant(value=int() as base), op=ast.Pow(), right=ast.Constant(value=int() as power)):
            if 0 <= power <= _MAX_POWER and abs(base) <= _MAX_BASE:
                yield base**power
        case _:
            pass


def _whole(node: ast.expr) -> Iterator[int]:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        yield node.value
    elif isinstance(node, ast.BinOp):
        yield from _product(node)


_PATTERN_SIGNS = re.compile(r"\\[dwsbDWSBAZ]|\(\?|\[[^\[\]]+\][+*?$]?|\.\*|\.\+|\^\w|\w\$$|\)[$+*?]|\)\$")


def looks_like_pattern(text: str) -> bool:
    """Return whether *text* is likely meant as a regular expression."""
    if len(text) < 2 or not _PATTERN_SIGNS.search(text):
        return False
    try:
        # It may be no pattern at all: a warning about it would say nothing to anybody.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            re.compile(text)
    except (re.error, OverflowError, RecursionError):
        # A verbose pattern often compiles only with its flag.
        return "(?P<" in text
    return True
