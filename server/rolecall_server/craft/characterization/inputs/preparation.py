"""Objects that take several steps to make: as one expression where calls are tried, as statements in a test.

``[(table := Table()), table.add_row(1), setattr(table, 'title', 'x'), table][-1]`` is such an expression.
"""

from __future__ import annotations

import ast
from collections.abc import Collection
from typing import TypeGuard

from rolecall_server.python_trees import parse_expression


def is_preparation(node: ast.AST) -> TypeGuard[ast.Subscript]:
    """Return whether *node* is an object that takes several steps to make."""
    return (
        isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.List)
        and len(node.value.elts) > 1
        and isinstance(node.value.elts[0], ast.NamedExpr)
        and isinstance(node.value.elts[-1], ast.Name)
    )


def holds_preparation(source: str) -> bool:
    """Return whether an expression takes several steps."""
    return ":=" in source and any(is_preparation(node) for node in ast.walk(parse_expression(source)))


def unrolled(source: str, taken: Collection[str]) -> tuple[list[str], str, set[str]]:
    """Return the statements that *source* needs before it, what is left of it, and the names that they bind: none that
    is in *taken*.
    """
    if ":=" not in source:
        return [], source, set()
    unroll = _Unroll(taken)
    rest = ast.unparse(unroll.visit(parse_expression(source)))
    return unroll.statements, rest, unroll.bound


class _Unroll(ast.NodeTransformer):
    def __init__(self, taken: Collection[str]) -> None:
        self.statements: list[str] = []
        self.bound: set[str] = set()
        self._taken = set(taken)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if not is_preparation(node):
            return self.generic_visit(node)  # pyright: ignore[reportReturnType]
        assert isinstance(node.value, ast.List)
        first, *steps = node.value.elts[:-1]
        assert isinstance(first, ast.NamedExpr)
        value: ast.expr = self.visit(first.value)
        old, new = first.target.id, self._free(first.target.id)
        self.statements.append(f"{new} = {ast.unparse(value)}")
        for step in steps:
            named = _Rename(old, new).visit(step)
            self.statements.append(statement_of(self.visit(named)))
        return ast.Name(new, ast.Load())

    def _free(self, name: str) -> str:
        new, number = name.strip("_") or "made", 1
        while new in self._taken | self.bound:
            number += 1
            new = f"{name.strip('_')}_{number}"
        self.bound.add(new)
        return new


class _Rename(ast.NodeTransformer):
    def __init__(self, old: str, new: str) -> None:
        self._old, self._new = old, new

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Name(self._new, node.ctx) if node.id == self._old else node


def statement_of(step: ast.expr) -> str:
    """Return a step as a person writes it: what sets an attribute or an item as an assignment."""
    match step:
        case ast.Call(func=ast.Name(id="setattr"), args=[value, ast.Constant(value=str() as name), new]):
            return f"{ast.unparse(value)}.{name} = {ast.unparse(new)}"
        case ast.Call(func=ast.Attribute(value=value, attr="__setitem__"), args=[key, new]):
            return f"{ast.unparse(ast.Subscript(value, _index(key), ast.Load()))} = {ast.unparse(new)}"
        case _:
            return ast.unparse(step)


def _index(key: ast.expr) -> ast.expr:
    """Return *key* as it stands between brackets: ``slice(1, 2)`` as ``1:2``."""
    match key:
        case ast.Call(func=ast.Name(id="slice"), args=[_, _, *_] as bounds, keywords=[]):
            given = [None if isinstance(one, ast.Constant) and one.value is None else one for one in bounds]
            return ast.Slice(*given)
        case _:
            return key
