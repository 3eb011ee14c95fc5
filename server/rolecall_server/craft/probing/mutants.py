"""Small faults put into a module's text, one at a time: pure text in, `Mutant` values out.

Source: the operators are those that studies of mutation testing agree on (Offutt's sufficient set: relational,
logical, arithmetic and absolute value; statement deletion), with constants and return values.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from random import Random

from rolecall_server.craft.probing.observation import Mutant
from rolecall_server.python_trees import parse_python

_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip
_OTHER_COMPARISONS = {
    "==": ("!=", "<=", ">="), "!=": ("==", "<", ">"), "<": ("<=", ">", "=="), "<=": ("<", ">=", "=="),
    ">": (">=", "<", "=="), ">=": (">", "<=", "=="), "is": ("is not",), "is not": ("is",),
    "in": ("not in",), "not in": ("in",),
}  # fmt: skip
_ARITHMETIC: dict[type[ast.operator], tuple[str, tuple[str, ...]]] = {
    ast.Add: ("+", ("-", "*")), ast.Sub: ("-", ("+", "*")), ast.Mult: ("*", ("/", "+")), ast.Div: ("/", ("*", "//")),
    ast.FloorDiv: ("//", ("/", "*")), ast.Mod: ("%", ("*", "+")), ast.Pow: ("**", ("*", "/")),
    ast.BitAnd: ("&", ("|", "^")), ast.BitOr: ("|", ("&", "^")), ast.BitXor: ("^", ("&", "|")),
    ast.LShift: ("<<", (">>",)), ast.RShift: (">>", ("<<",)),
}  # fmt: skip
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def mutants_of(text: str, lines: Collection[int] | None = None) -> list[Mutant]:
    """Every mutant of *text* on *lines* (all of them where None), in the order of the source.

    Documentation, annotations and ``__all__`` are left alone. Not each of them parses.

    Raises:
        SyntaxError: this Python cannot parse *text*.
    """
    tree = parse_python(text)
    source = _Source(text)
    hidden = {id(node) for node in _without_behaviour(tree)}
    found: dict[tuple[int, int, str], Mutant] = {}
    for node, statement in _visible(tree, hidden, 1):
        if lines is None or getattr(node, "lineno", 0) in lines:
            for mutant in _mutants_at(node, source):
                found.setdefault((mutant.start, mutant.end, mutant.replacement), replace(mutant, statement=statement))
    return list(found.values())


def sample(mutants: Sequence[Mutant], how_many: int) -> list[Mutant]:
    """At most *how_many* of *mutants*, drawn evenly and always the same; in the order of the source."""
    drawn = list(mutants) if len(mutants) <= how_many else Random(0).sample(mutants, how_many)
    return sorted(drawn, key=lambda mutant: (mutant.start, mutant.end))


class _Source:
    """A text in which syntax nodes can be found by character."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._lines = text.splitlines(keepends=True)
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line))

    def offset(self, line: int, column: int) -> int:
        """Where the byte *column* of *line* lies."""
        before = self._lines[line - 1].encode()[:column]
        return self._starts[line - 1] + len(before.decode())

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """Where *node* begins and ends."""
        end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or 0
        return self.offset(node.lineno, node.col_offset), self.offset(end_line, end_column)

    def of(self, node: ast.expr) -> str:
        """The text of *node*, in parentheses."""
        start, end = self.span(node)
        return f"({self.text[start:end]})"


def _without_behaviour(tree: ast.Module) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str())):
                yield node
            case ast.Assign(targets=[ast.Name(id="__all__" | "__version__" | "__author__")]):
                yield node
            case ast.AnnAssign(annotation=annotation) | ast.arg(annotation=ast.expr() as annotation):
                yield annotation
            case (
                ast.FunctionDef(returns=ast.expr() as annotation)
                | ast.AsyncFunctionDef(returns=ast.expr() as annotation)
            ):
                yield annotation
            case ast.If(test=test) if "TYPE_CHECKING" in ast.unparse(test) or "__main__" in ast.unparse(test):
                yield node
            case _:
                pass


def _visible(node: ast.AST, hidden: set[int], statement: int) -> Iterator[tuple[ast.AST, int]]:
    """What lies beneath *node*, each with the line on which its statement begins.

    Before Python 3.12 the places of what an f-string holds are told wrongly: it is left out.
    """
    for child in ast.iter_child_nodes(node):
        if id(child) not in hidden and not isinstance(child, ast.JoinedStr):
            begins = child.lineno if isinstance(child, ast.stmt | ast.excepthandler) else statement
            yield child, begins
            yield from _visible(child, hidden, begins)


def _mutants_at(  # noqa: C901, PLR0911, PLR0912 - one case for each kind of node
    node: ast.AST, source: _Source
) -> Iterable[Mutant]:
    match node:
        case ast.Compare():
            return _comparisons(node, source)
        case ast.BinOp():
            return _arithmetic(node, source)
        case ast.BoolOp():
            return _boolean(node, source)
        case ast.UnaryOp():
            return _all(node, source, "operator left out", (source.of(node.operand),))
        case ast.Constant():
            return _constants(node, source)
        case ast.If() | ast.While() | ast.IfExp():
            return _all(node.test, source, "condition negated", (f"(not {source.of(node.test)})",))
        case ast.Return(value=ast.expr() as value):
            return _returns(value, source)
        case ast.For():
            return _all(node.iter, source, "loop left out", ("()",))
        case ast.Call():
            return _arguments(node, source)
        case ast.Subscript(slice=ast.Slice() as part):
            return _slices(part, source)
        case ast.Assign() | ast.AugAssign() | ast.Expr() | ast.Raise() | ast.Delete():
            return _all(node, source, "statement left out", ("pass",))
        case ast.Break():
            return _all(node, source, "break and continue exchanged", ("continue",))
        case ast.Continue():
            return _all(node, source, "break and continue exchanged", ("break",))
        case ast.ExceptHandler(type=ast.expr() as kind):
            return _all(kind, source, "exception not caught", ("()",))
        case _ if isinstance(node, _FUNCTIONS):
            return _decorators(node, source)
        case _:
            return ()


def _all(node: ast.expr | ast.stmt, source: _Source, operator: str, replacements: Iterable[str]) -> Iterator[Mutant]:
    start, end = source.span(node)
    for replacement in replacements:
        if replacement != source.text[start:end]:
            yield Mutant(node.lineno, start, end, replacement, operator)


def _comparisons(node: ast.Compare, source: _Source) -> Iterator[Mutant]:
    lefts = [node.left, *node.comparators]
    for place, operator in enumerate(node.ops):
        sign = _COMPARISONS[type(operator)]
        head = _joined(lefts, node.ops, source, range(place)) + source.of(lefts[place])
        tail = source.of(lefts[place + 1]) + _rest(lefts, node.ops, source, place + 1)
        others = (f"({head} {other} {tail})" for other in _OTHER_COMPARISONS[sign])
        yield from _all(node, source, "comparison exchanged", others)


def _joined(parts: list[ast.expr], operators: list[ast.cmpop], source: _Source, places: range) -> str:
    return "".join(f"{source.of(parts[place])} {_COMPARISONS[type(operators[place])]} " for place in places)


def _rest(parts: list[ast.expr], operators: list[ast.cmpop], source: _Source, first: int) -> str:
    signs = ((_COMPARISONS[type(operators[place])], parts[place + 1]) for place in range(first, len(operators)))
    return "".join(f" {sign} {source.of(part)}" for sign, part in signs)


def _arithmetic(node: ast.BinOp, source: _Source) -> Iterator[Mutant]:
    if type(node.op) not in _ARITHMETIC:
        return
    _, others = _ARITHMETIC[type(node.op)]
    left, right = source.of(node.left), source.of(node.right)
    yield from _all(node, source, "arithmetic exchanged", (f"({left} {other} {right})" for other in others))


def _boolean(node: ast.BoolOp, source: _Source) -> Iterator[Mutant]:
    other = " or " if isinstance(node.op, ast.And) else " and "
    swapped = f"({other.join(source.of(value) for value in node.values)})"
    yield from _all(node, source, "and and or exchanged", (swapped,))
    own = " and " if isinstance(node.op, ast.And) else " or "
    for left_out in range(len(node.values)):
        kept = [source.of(value) for place, value in enumerate(node.values) if place != left_out]
        yield from _all(node, source, "condition left out", (f"({own.join(kept)})",))


def _constants(node: ast.Constant, source: _Source) -> Iterable[Mutant]:
    match node.value:
        case bool():
            others = [str(not node.value)]
        case int():
            others = [str(node.value + 1), f"({node.value - 1})"]
        case float():
            others = [repr(node.value + 1), f"({node.value / 2!r})"]
        case str():
            others = ["''"] if node.value else ["'mutated'"]
        case bytes():
            others = ["b''"] if node.value else ["b'mutated'"]
        case None:
            others = ["''"]
        case _:
            others = []
    return _all(node, source, "constant changed", others)


def _returns(value: ast.expr, source: _Source) -> Iterable[Mutant]:
    nothing = isinstance(value, ast.Constant) and value.value is None
    return _all(value, source, "result changed", () if nothing else ("None",))


def _arguments(node: ast.Call, source: _Source) -> Iterator[Mutant]:
    """A call without one of its optional-looking arguments, and with its first two exchanged."""
    if len(node.args) >= 2 and not any(isinstance(one, ast.Starred) for one in node.args):
        first, second = node.args[0], node.args[1]
        (start, _), (_, end) = source.span(first), source.span(second)
        swapped = f"{source.of(second)}, {source.of(first)}"
        yield Mutant(node.lineno, start, end, swapped, "arguments exchanged")
    if node.keywords:
        last = node.keywords[-1]
        before = [source.span(one)[1] for one in node.args] + [source.span(one.value)[1] for one in node.keywords[:-1]]
        if before and last.arg is not None:
            yield Mutant(node.lineno, max(before), source.span(last.value)[1], "", "argument left out")


def _slices(part: ast.Slice, source: _Source) -> Iterator[Mutant]:
    for bound in (part.lower, part.upper, part.step):
        if bound is not None:
            yield from _all(bound, source, "slice changed", ("", f"({source.of(bound)} + 1)"))


def _decorators(node: ast.AST, source: _Source) -> Iterator[Mutant]:
    assert isinstance(node, _FUNCTIONS)
    for decorator in node.decorator_list:
        start, end = source.span(decorator)
        start = source.text.rindex("@", 0, start)
        yield Mutant(decorator.lineno, start, end, "", "decorator left out")
