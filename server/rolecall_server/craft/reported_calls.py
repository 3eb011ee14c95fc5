"""The calls that a finding is about, so that no test is proposed which holds what they give for right."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Mapping

from rolecall_server.craft.test_text import WrittenTest
from rolecall_server.python_trees import parse_expression

WHOLE = -1
"""In place of the number of a row: the call is made whichever row it is."""


def calls_in(test: WrittenTest, symbol: str, lines: Collection[int] = ()) -> dict[str, set[int]]:
    """The calls of *symbol* in *test*, each with the rows that make it; parameters have their values in it.

    Only those on *lines*, counted from 1, where there are any there. A method called ``__init__`` is called by its
    class's name.
    """
    parts = symbol.split(".")
    name = parts[-2] if parts[-1] == "__init__" and len(parts) > 1 else parts[-1]
    body = [node for statement in test.node.body for node in ast.walk(statement)]
    calls = [node for node in body if isinstance(node, ast.Call) and _last_name(node.func) == name]
    found: dict[str, set[int]] = {}
    for number, values in _cases(test):
        for call in [call for call in calls if call.lineno in lines] or calls:
            found.setdefault(ast.unparse(_with_values(call, values)), set()).add(number)
    return found


def calls_in_backticks(sentence: str, symbol: str) -> set[str]:
    """The calls of *symbol* that stand in backticks in *sentence*."""
    name = symbol.rpartition(".")[2]
    found: set[str] = set()
    for piece in sentence.split("`")[1::2]:
        try:
            tree = parse_expression(piece)
        except (SyntaxError, ValueError):
            continue
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _last_name(node.func) == name]
        found |= {ast.unparse(call) for call in calls}
    return found


def rows_that_call(test: WrittenTest, symbol: str, reported: Collection[str]) -> set[int]:
    """The rows of *test* that make one of the *reported* calls; `WHOLE` where all do, empty where none does."""
    rows = [numbers for call, numbers in calls_in(test, symbol).items() if call in reported]
    return set[int]().union(*rows)


def _cases(test: WrittenTest) -> Iterable[tuple[int, Mapping[str, ast.expr]]]:
    if not test.rows:
        return [(WHOLE, {})]
    return [(number, _values(test.parameters, row)) for number, row in enumerate(test.rows)]


def _values(names: tuple[str, ...], row: ast.expr) -> dict[str, ast.expr]:
    if isinstance(row, ast.Call) and _last_name(row.func) == "param":
        parts = row.args
    elif len(names) > 1 and isinstance(row, ast.Tuple | ast.List):
        parts = row.elts
    else:
        parts = [row]
    return dict(zip(names, parts, strict=False))


class _Filled(ast.NodeTransformer):
    def __init__(self, values: Mapping[str, ast.expr]) -> None:
        self._values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._values.get(node.id, node)


def _with_values(call: ast.Call, values: Mapping[str, ast.expr]) -> ast.AST:
    copied = parse_expression(ast.unparse(call))
    return _Filled(values).visit(copied)


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else ""
