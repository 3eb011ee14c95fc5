"""Small faults put into a Python file on purpose: tests that pass all the same do not check that line.

The operators are those that suffice in studies, and those that tools found worth their time:
comparison, arithmetic, boolean: ROR, AOR, LCR of A. J. Offutt and others, "An experimental determination of
sufficient mutant operators", ACM TOSEM 5(2), 1996; of the comparisons those that need a value on each side of the
boundary and on it: G. Kaminski and others, "Improving logic-based testing", Journal of Systems and Software 86(8),
2013. Statement deletion: L. Deng, J. Offutt, N. Li, "Empirical evaluation of the statement deletion mutation
operator", ICST 2013. Argument: interface mutation, M. E. Delamaro and others, IEEE TSE 27(3), 2001. Constant, return
value, slice and exception: as in the tools mutmut, PIT and cosmic-ray.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal, TypeVar

from rolecall_server.python_trees import parse_python

Choice = TypeVar("Choice")
Operator = Literal[
    "comparison",
    "arithmetic",
    "boolean",
    "constant",
    "return value",
    "statement deletion",
    "argument",
    "slice",
    "exception",
]

_COMPARISONS: dict[type[ast.cmpop], tuple[str, tuple[str, ...]]] = {
    ast.Lt: ("<", ("<=", "!=")),
    ast.LtE: ("<=", ("<", "==")),
    ast.Gt: (">", (">=", "!=")),
    ast.GtE: (">=", (">", "==")),
    ast.Eq: ("==", ("!=", "<=", ">=")),
    ast.NotEq: ("!=", ("==", "<", ">")),
    ast.Is: ("is", ("is not",)),
    ast.IsNot: (r"is\s+not", ("is",)),
    ast.In: ("in", ("not in",)),
    ast.NotIn: (r"not\s+in", ("in",)),
}
_ARITHMETIC: dict[type[ast.operator], tuple[str, tuple[str, ...]]] = {
    ast.Add: ("+", ("-", "*")),
    ast.Sub: ("-", ("+", "*")),
    ast.Mult: ("*", ("/", "+")),
    ast.Div: ("/", ("*", "//")),
    ast.FloorDiv: ("//", ("*", "/")),
    ast.Mod: ("%", ("*", "//")),
    ast.Pow: ("**", ("*",)),
    ast.LShift: ("<<", (">>",)),
    ast.RShift: (">>", ("<<",)),
    ast.BitAnd: ("&", ("|",)),
    ast.BitOr: ("|", ("&",)),
    ast.BitXor: ("^", ("&",)),
}
_SYMMETRIC = ("max", "min")
_FOR_CHECKERS = ("cast", "NewType", "TypeVar", "ParamSpec")
"""Functions whose first argument is for those who read types."""


@dataclass(frozen=True)
class Mutant:
    """A file with one fault in it."""

    line: int
    """The line of the fault, from 1."""
    operator: Operator
    start: int
    """The beginning of the piece of source that was replaced, in characters of the file."""
    end: int
    became: str
    original: str = field(repr=False)
    """The whole file as it was."""
    statement: int
    """The first line of the statement around it: of one that spans lines, coverage may know this line alone."""
    at_import: bool
    """It runs when the file is imported, as a table or a default does; else when a function is called."""

    @property
    def was(self) -> str:
        """The piece of source that was replaced."""
        return self.original[self.start : self.end]

    @property
    def text(self) -> str:
        """The whole file."""
        return f"{self.original[: self.start]}{self.became}{self.original[self.end :]}"

    def __str__(self) -> str:
        return f"line {self.line}: {self.was!r} became {self.became!r}"


@dataclass(frozen=True)
class _Edit:
    """A replacement, in bytes of the UTF-8 text."""

    start: int
    end: int
    became: str
    line: int
    operator: Operator


def mutants_of(text: str, lines: Collection[int] | None = None) -> tuple[Mutant, ...]:
    """Return every mutant of the Python file *text* on *lines*, counted from 1, or on all; in the order of the file.

    Annotations, docstrings, decorators, what only runs as a script, and the names that the file offers and says of
    itself stay as they are. None where *text* is no Python.
    """
    try:
        tree = parse_python(text)
    except (SyntaxError, ValueError, RecursionError):
        return ()
    source = _Source(text)
    edits = sorted(_edits(tree, source), key=lambda edit: (edit.start, edit.end, edit.became))
    statements = _statements(tree)
    wanted = (edit for edit in edits if lines is None or edit.line in lines)
    return tuple(source.mutant(edit, *statements[edit.line]) for edit in wanted)


def even_choice(choices: Sequence[Choice], count: int) -> tuple[Choice, ...]:
    """Return at most *count* of *choices*, from all parts of them; always the same."""
    if len(choices) <= count:
        return tuple(choices)
    return tuple(choices[number * len(choices) // count] for number in range(count))


def _statements(tree: ast.AST, *, at_import: bool = True) -> dict[int, tuple[int, bool]]:
    """For each line below *tree* where its innermost statement begins, and whether that runs at import."""
    found: dict[int, tuple[int, bool]] = {}
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.stmt):
            found |= dict.fromkeys(range(child.lineno, (child.end_lineno or 0) + 1), (child.lineno, at_import))
        inside = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
        found |= _statements(child, at_import=at_import and not inside)
    return found


class _Source:
    """A text, and where its lines begin in bytes: as the positions of syntax trees are counted."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.content = text.encode("utf-8", "surrogatepass")
        # The parser ends lines at these alone; a form feed does not end one.
        self._starts = [0, *(match.end() for match in re.finditer(rb"\r\n|\n|\r", self.content))]

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return (
            self._starts[node.lineno - 1] + node.col_offset,
            self._starts[node.end_lineno - 1] + node.end_col_offset,
        )

    def text_of(self, node: ast.expr | ast.stmt) -> str:
        start, end = self.span(node)
        return self.content[start:end].decode("utf-8", "surrogatepass")

    def between(self, left: int, right: int, word: str) -> tuple[int, int] | None:
        """Return the span of the expression *word* between two places that have nothing else there but brackets and
        comments; ``None`` if it is not there.
        """
        pattern = re.compile(rb"#[^\r\n]*|(" + word.encode() + rb")")
        found = (match for match in pattern.finditer(self.content, left, right) if match[1] is not None)
        return next((match.span(1) for match in found), None)

    def mutant(self, edit: _Edit, statement: int, at_import: bool) -> Mutant:
        """Return the mutant that *edit* makes in the statement that begins on line *statement*."""
        start, end = self._character(edit.start), self._character(edit.end)
        return Mutant(edit.line, edit.operator, start, end, edit.became, self.text, statement, at_import)

    def _character(self, byte: int) -> int:
        """Return how many characters there are before *byte*."""
        if len(self.content) == len(self.text):  # all of them are ASCII
            return byte
        return len(self.content[:byte].decode("utf-8", "surrogatepass"))


def _edits(tree: ast.Module, source: _Source) -> Iterator[_Edit]:
    for node in _that_run(tree):
        if isinstance(node, ast.stmt):
            yield from _edits_of_statement(node, source)
        elif isinstance(node, ast.expr):
            yield from _edits_of_expression(node, source)
        elif isinstance(node, ast.ExceptHandler) and node.type is not None:
            yield _replaced(node.type, "()", "exception", source)  # `except ():` catches nothing
        if isinstance(node, ast.If | ast.While | ast.IfExp) and not isinstance(node.test, ast.Compare | ast.UnaryOp):
            yield _replaced(node.test, f"(not ({source.text_of(node.test)}))", "boolean", source)


def _edits_of_statement(node: ast.stmt, source: _Source) -> Iterator[_Edit]:
    match node:
        case ast.AugAssign():
            yield from _calculated(node.op, node.target, node.value, source)
            yield _deleted(node, source)
        case ast.Return(value=ast.expr() as value) if not (isinstance(value, ast.Constant) and value.value is None):
            yield _replaced(value, "None", "return value", source)
        case ast.Expr(value=ast.Call() | ast.Await()) | ast.Raise() | ast.Break() | ast.Continue() | ast.Delete():
            yield _deleted(node, source)
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield _deleted(node, source)
        case ast.For():
            yield _replaced(node.iter, "()", "statement deletion", source)
        case _:
            pass


def _edits_of_expression(node: ast.expr, source: _Source) -> Iterator[_Edit]:
    match node:
        case ast.Compare():
            yield from _compared(node, source)
        case ast.BinOp():
            yield from _calculated(node.op, node.left, node.right, source)
        case ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
            yield from _decided(node, source)
        case ast.UnaryOp(op=ast.USub()):
            yield _replaced(node, f"({source.text_of(node.operand)})", "arithmetic", source)
        case ast.Slice():
            bounds = (bound for bound in (node.lower, node.upper, node.step) if bound is not None)
            yield from (_replaced(bound, "", "slice", source) for bound in bounds)
        case ast.Constant():
            for became in _other_constants(node.value):
                yield _replaced(node, became, "boolean" if isinstance(node.value, bool) else "constant", source)
        case ast.Call():
            yield from _called(node, source)
        case _:
            pass


def _that_run(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield the nodes whose change can be seen by running: no annotations, docstrings, decorators, scripts' endings."""
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        yield node
        left_out = {id(part) for part in _left_out(node)}
        pending += [child for child in ast.iter_child_nodes(node) if id(child) not in left_out]


def _left_out(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            yield from node.decorator_list
            if node.returns is not None:
                yield node.returns
        case ast.ClassDef():
            yield from node.decorator_list
        case ast.Assign(targets=[ast.Name(id="__all__" | "__version__" | "__author__" | "TYPE_CHECKING")]):
            yield node.value
        case ast.Call(func=ast.Name(name) | ast.Attribute(attr=name), args=[first, *_]) if name in _FOR_CHECKERS:
            yield first
        case ast.arg() | ast.AnnAssign() if node.annotation is not None:
            yield node.annotation
        case ast.JoinedStr():
            yield from node.values  # before Python 3.12 their places are not to be relied on
        case _:
            pass
    for statement in getattr(node, "body", ()) if isinstance(getattr(node, "body", None), list) else ():
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            yield statement
        if isinstance(statement, ast.If) and _asks_for_a_name(statement.test):
            yield statement


def _asks_for_a_name(test: ast.expr) -> bool:
    """Return whether the condition asks for a name, as ``__name__ == "__main__"`` and ``TYPE_CHECKING`` do."""
    names = {node.id for node in ast.walk(test) if isinstance(node, ast.Name)}
    return bool(names & {"__name__", "TYPE_CHECKING"})


def _replaced(node: ast.expr | ast.stmt, became: str, operator: Operator, source: _Source) -> _Edit:
    return _Edit(*source.span(node), became, node.lineno, operator)


def _deleted(node: ast.stmt, source: _Source) -> _Edit:
    return _replaced(node, "pass", "statement deletion", source)


def _compared(node: ast.Compare, source: _Source) -> Iterator[_Edit]:
    for (left, right), operator in zip(pairwise([node.left, *node.comparators]), node.ops, strict=True):
        word, others = _COMPARISONS[type(operator)]
        if _is_told_apart_only(left) or _is_told_apart_only(right):
            others = others[:1]
        place = source.between(source.span(left)[1], source.span(right)[0], word)
        if place is not None:
            yield from (_Edit(*place, other, left.lineno, "comparison") for other in others)


def _is_told_apart_only(node: ast.expr) -> bool:
    """Return whether *node* is a literal that is only compared for equality: a text, ``None`` or a truth value."""
    return isinstance(node, ast.Constant) and isinstance(node.value, str | bytes | bool | None)


def _calculated(operator: ast.operator, left: ast.expr, right: ast.expr, source: _Source) -> Iterator[_Edit]:
    if type(operator) in _ARITHMETIC:
        word, others = _ARITHMETIC[type(operator)]
        place = source.between(source.span(left)[1], source.span(right)[0], re.escape(word))
        if place is not None:
            yield from (_Edit(*place, other, left.lineno, "arithmetic") for other in others)


def _decided(node: ast.BoolOp | ast.UnaryOp, source: _Source) -> Iterator[_Edit]:
    if isinstance(node, ast.UnaryOp):
        yield _replaced(node, f"({source.text_of(node.operand)})", "boolean", source)
        return
    word, other = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
    for left, right in pairwise(node.values):
        place = source.between(source.span(left)[1], source.span(right)[0], word)
        if place is not None:
            yield _Edit(*place, other, left.lineno, "boolean")
    for left_out in range(len(node.values)):
        kept = [source.text_of(value) for number, value in enumerate(node.values) if number != left_out]
        yield _replaced(node, f"({f' {word} '.join(kept)})", "boolean", source)


def _other_constants(value: object) -> Iterator[str]:
    match value:
        case bool():
            yield str(not value)
        case int():
            yield str(value + 1)
            if value > 0:
                yield str(value - 1)
        case float():
            yield repr(value + 1.0)
        case str():
            yield '""' if value else '"mutant"'
        case bytes():
            yield 'b""' if value else 'b"mutant"'
        case _:
            pass


def _called(node: ast.Call, source: _Source) -> Iterator[_Edit]:
    """Neighbouring arguments exchanged, and keyword arguments left out."""
    if not any(isinstance(argument, ast.Starred) for argument in node.args) and not _is_symmetric(node):
        for left, right in pairwise(node.args):
            (start, left_end), (right_start, end) = source.span(left), source.span(right)
            middle = source.content[left_end:right_start].decode("utf-8", "surrogatepass")
            swapped = f"{source.text_of(right)}{middle}{source.text_of(left)}"
            if source.text_of(left) != source.text_of(right):
                yield _Edit(start, end, swapped, left.lineno, "argument")
    for keyword in node.keywords:
        value_end = source.span(keyword.value)[1]
        start = _start_of(keyword, source)
        comma = re.compile(rb"\s*,").match(source.content, value_end)
        yield _Edit(start, comma.end() if comma else value_end, "", keyword.value.lineno, "argument")


def _is_symmetric(node: ast.Call) -> bool:
    """Return whether it makes no difference to a call in which order its arguments stand."""
    return isinstance(node.func, ast.Name) and node.func.id in _SYMMETRIC and not node.keywords


def _start_of(keyword: ast.keyword, source: _Source) -> int:
    # `span` takes expressions and statements, and a keyword is neither: a statement stands in its place.
    place = ast.Pass(lineno=keyword.lineno, col_offset=keyword.col_offset, end_lineno=keyword.lineno, end_col_offset=0)
    return source.span(place)[0]
