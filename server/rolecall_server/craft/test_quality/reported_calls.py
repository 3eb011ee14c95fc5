"""The calls that a finding is about, so that no test is proposed which holds what they give for right."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from rolecall_server.craft.test_quality.test_text import Function, WrittenTest
from rolecall_server.python_trees import parse_expression

WHOLE = -1
"""In place of the number of a row: the call is made whichever row it is."""


def calls_in(test: WrittenTest, symbol: str, lines: Collection[int] = ()) -> dict[str, set[int]]:
    """Return the calls of *symbol* that *test* makes, itself or in a function of its file, each with its rows.

    Parameters have their values in them. Only those on *lines*, counted from 1, where there are any there: all lines on
    the way, first of all. A method called ``__init__`` is called by its class's name.
    """
    name = _called_as(symbol)
    found: dict[str, set[int]] = {}
    for number, values in _cases(test):
        made = list(_made(test.node, name, values, test.helpers, ()))
        whole = [one for one in made if all(line in lines for line in one.lines)]
        for one in whole or [one for one in made if one.lines[-1] in lines] or made:
            found.setdefault(one.call, set()).add(number)
    return found


def calls_below(node: ast.expr, symbol: str) -> list[ast.Call]:
    """Return the calls of *symbol* in *node*."""
    name = _called_as(symbol)
    return [one for one in ast.walk(node) if isinstance(one, ast.Call) and _last_name(one.func) == name]


def _called_as(symbol: str) -> str:
    parts = symbol.split(".")
    return parts[-2] if parts[-1] == "__init__" and len(parts) > 1 else parts[-1]


@dataclass(frozen=True)
class _Made:
    """A call that a test makes, and the lines of the calls that lead to it, its own last."""

    call: str
    lines: tuple[int, ...]


def _made(
    function: Function,
    name: str,
    values: Mapping[str, ast.expr],
    helpers: Mapping[str, Function],
    above: tuple[Function, ...],
) -> Iterator[_Made]:
    """Yield the calls of *name* in *function*, whose parameters have *values*, and in the helpers that it calls.

    A helper that is on the way already, *above*, is not followed again.
    """
    known = {**_constants(function), **values}
    on_the_way = (*above, function)
    for node in (node for statement in function.body for node in ast.walk(statement)):
        if not isinstance(node, ast.Call):
            continue
        helper = helpers.get(ast.unparse(node.func))
        if _last_name(node.func) == name:
            yield _Made(ast.unparse(_with_values(node, known)), (node.lineno,))
        elif helper is not None and helper not in on_the_way:
            given = {key: _with_values(value, known) for key, value in _arguments(helper, node).items()}
            for one in _made(helper, name, given, helpers, on_the_way):
                yield _Made(one.call, (node.lineno, *one.lines))
    for fixture in (helpers.get(each.arg) for each in function.args.args):
        if fixture is not None and fixture not in on_the_way:
            yield from _made(fixture, name, {}, helpers, on_the_way)


def _arguments(function: Function, call: ast.Call) -> dict[str, ast.expr]:
    """Return what *call* gives for the parameters of *function*, their defaults where it gives nothing."""
    names = [each.arg for each in (*function.args.posonlyargs, *function.args.args)]
    given = function.args.defaults
    defaults = dict(zip(names[len(names) - len(given) :], given, strict=True))
    is_method = isinstance(call.func, ast.Attribute) and names[:1] == ["self"]
    placed = dict(zip(names[1:] if is_method else names, call.args, strict=False))
    return defaults | placed | {each.arg: each.value for each in call.keywords if each.arg is not None}


def _constants(function: Function) -> dict[str, ast.expr]:
    """Return the locals of *function* that are set once, to a constant."""
    names = [node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    return {
        node.targets[0].id: node.value
        for node in function.body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Constant)
        and names.count(node.targets[0].id) == 1
    }


def calls_in_backticks(sentence: str, symbol: str) -> set[str]:
    """Return the calls of *symbol* that stand in backticks in *sentence*."""
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
    """Return the rows of *test* that make one of the *reported* calls; `WHOLE` where all do, empty where none does."""
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


def _with_values(node: ast.expr, values: Mapping[str, ast.expr]) -> ast.expr:
    # A transformer changes the tree that it visits, and that of the test is read again for other rows.
    copied = parse_expression(ast.unparse(node))
    return _Filled(values).visit(copied)


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else ""
