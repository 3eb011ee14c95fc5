"""The lines of a module that give a name its value, with the conditions, loops and handlers that they stand in."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from rolecall_server.python_trees import parse_python

_MOST_LINES = 40
"""Of the header of one statement: a condition of more lines is cut."""


@lru_cache(maxsize=64)
def binding_lines(text: str, name: str) -> frozenset[int]:
    """Return the lines of *text*, from 0, on which the module itself gives *name* a value, and the headers of the
    statements around them, such as ``if``, ``else`` and ``except``; none where the text is not Python.
    """
    try:
        tree = parse_python(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
    return frozenset(_within(tree.body, name))


def _within(body: list[ast.stmt], name: str) -> Iterator[int]:
    for statement in body:
        inner = (
            [] if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) else _inside(statement)
        )
        bound = set(_within(inner, name))
        if bound or name in _bound_by(statement):
            yield from bound
            yield from _header(statement, inner)


def _inside(statement: ast.stmt) -> list[ast.stmt]:
    """Return the statements in the branches of *statement*, those of a function or a class left out."""
    branches = [getattr(statement, field, []) for field in ("body", "orelse", "finalbody")]
    branches += [one.body for one in (*getattr(statement, "handlers", []), *getattr(statement, "cases", []))]
    return [one for branch in branches for one in branch]


def _header(statement: ast.stmt, inner: list[ast.stmt]) -> set[int]:
    """Return the lines of *statement* that belong to none of the statements in it."""
    last = statement.end_lineno or statement.lineno
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        last = statement.body[0].lineno - 1
    own = set(range(statement.lineno - 1, last))
    for one in inner:
        own -= set(range(one.lineno - 1, one.end_lineno or one.lineno))
        if isinstance(one, ast.If) and one.col_offset == statement.col_offset:  # an `elif`
            own |= _header(one, _inside(one))
    return set(sorted(own)[:_MOST_LINES])


def _bound_by(statement: ast.stmt) -> set[str]:
    """Return the names that *statement* itself gives a value or takes it from, without the statements in it."""
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return {statement.name}
        case ast.Import() | ast.ImportFrom():
            return {one.asname or one.name.partition(".")[0] for one in statement.names}
        case ast.Try():
            return {one.name for one in statement.handlers if one.name}
        case _:
            return set(_stored(statement))


def _stored(node: ast.AST) -> Iterator[str]:
    """Yield the names that *node* stores or deletes, without the statements in it and what has names of its own."""
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        yield node.id
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case | ast.comprehension | ast.Lambda):
            yield from _stored(child)
