"""The plain values that a call gave and that a test wanted of it, where the report of the test has them."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from rolecall_server.craft.test_quality.reported_calls import calls_below
from rolecall_server.craft.test_quality.test_text import WrittenTest
from rolecall_server.sandbox import TestResult

_DID_NOT_RAISE = re.compile(r"DID NOT RAISE(?: any of)? (.+)$", re.MULTILINE)
_CLASS = re.compile(r"<class '(?:[\w.]*\.)?(\w+)'>")
_SIGNS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}


@dataclass(frozen=True)
class _Comparison:
    """Two sides that a test compares, in the order they are written."""

    sides: tuple[ast.expr, ast.expr]
    sign: str
    said: str
    """Between the two values in the report: the sign, or ``!=`` where unittest compared them."""

    def given(self, symbol: str) -> int:
        """Return the number of the side that the code gave: the one that calls *symbol*, or is no literal."""
        calling = [bool(calls_below(side, symbol)) for side in self.sides]
        if calling[0] != calling[1]:
            return calling.index(True)
        return int(isinstance(self.sides[0], ast.Constant) and not isinstance(self.sides[1], ast.Constant))


def gave_and_promised(test: WrittenTest, symbol: str, outcome: TestResult) -> tuple[str, str]:
    """Return what the call of *symbol* gave where *test* failed, and what was promised; each empty where unknown."""
    said = [line[1:].strip() for line in outcome.detail.splitlines() if line.startswith("E ")]
    if missing := _DID_NOT_RAISE.search("\n".join((*said, outcome.message))):
        return "no exception", " or ".join(_CLASS.findall(missing[1]) or [missing[1]])
    path = outcome.test_id.partition("::")[0]
    lines = {int(number) for number in re.findall(rf"^{re.escape(path)}:(\d+):", outcome.detail, re.MULTILINE)}
    compared = next(_comparisons(test, lines), None)
    if not outcome.message.startswith(("AssertionError", "assert ", "Failed")):
        return outcome.message, _wanted(test, symbol, compared, lines)
    for values in (_values(line, compared.said) for line in (outcome.message, *said)) if compared else ():
        if compared is not None and values is not None:
            given = compared.given(symbol)
            return values[given], _promise(values[1 - given], compared.sign, given)
    return "", ""


def _wanted(test: WrittenTest, symbol: str, compared: _Comparison | None, lines: Collection[int]) -> str:
    """Return what *test* wants where the call raised something: a value, or another exception."""
    if compared is not None:
        given = compared.given(symbol)
        return _promise(ast.unparse(compared.sides[1 - given]), compared.sign, given)
    return next((ast.unparse(one.args[0]) for one in _raises(test, lines) if one.args), "")


def _promise(value: str, sign: str, given: int) -> str:
    return value if sign == "==" else f"{sign} {value}" if given == 0 else f"{value} {sign} it"


def _values(line: str, said: str) -> tuple[str, str] | None:
    """Return the two values that *line* of a report compares; ``None`` where it cannot be told for certain."""
    # unittest writes the message of an assertion behind its values and a colon.
    text = line.removeprefix("AssertionError: ").removeprefix("assert ").partition(" : ")[0]
    parts = text.split(f" {said} ")
    return (parts[0].strip(), parts[1].strip()) if len(parts) == 2 and all(parts) else None


def _comparisons(test: WrittenTest, lines: Collection[int]) -> Iterator[_Comparison]:
    """Yield what is compared on *lines* of *test*, or of the functions that it may call."""
    for node in _nodes(test, lines):
        if isinstance(node, ast.Assert) and isinstance(node.test, ast.Compare) and len(node.test.ops) == 1:
            sign = _SIGNS[type(node.test.ops[0])]
            yield _Comparison((node.test.left, node.test.comparators[0]), sign, sign)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "self.assertEqual" and len(node.args) > 1:
            yield _Comparison((node.args[0], node.args[1]), "==", "!=")


def _raises(test: WrittenTest, lines: Collection[int]) -> Iterator[ast.Call]:
    for node in _nodes(test, lines):
        if isinstance(node, ast.With):
            calls = (item.context_expr for item in node.items)
            # `pytest.raises` and `self.assertRaises` alike.
            yield from (one for one in calls if isinstance(one, ast.Call) and "aises" in ast.unparse(one.func))


def _nodes(test: WrittenTest, lines: Collection[int]) -> Iterator[ast.AST]:
    for function in (test.node, *test.helpers.values()):
        for node in ast.walk(function):
            if isinstance(node, ast.stmt | ast.expr):
                span = range(node.lineno, (node.end_lineno or node.lineno) + 1)
                if any(line in span for line in lines):
                    yield node
