"""The parts of a module that a target's behaviour rests on."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from rolecall_server.craft.characterization.inputs.survey import CallTarget, Survey

_MAX_NODES = 60


def related_nodes(survey: Survey, target: CallTarget) -> dict[ast.AST, int]:
    """Return the target's own text, then what it names at the top of its module and in its class, then what these name
    in turn.

    Each with the number of names between.
    """
    named = _statements_by_name(survey, target)
    found: dict[ast.AST, int] = {target.node: 0}
    waiting: list[ast.AST] = [target.node]
    while waiting and len(found) < _MAX_NODES:
        node = waiting.pop(0)
        for statement in [one for name in _names_in(node) for one in named.pop(name, ())]:
            if statement not in found:
                found[statement] = found[node] + 1
                waiting.append(statement)
    return found


def _statements_by_name(survey: Survey, target: CallTarget) -> dict[str, list[ast.stmt]]:
    functions = {one.name: one for one in survey.tree.body if isinstance(one, ast.FunctionDef)}
    body = list(survey.tree.body)
    if target.owner in survey.classes:
        body += survey.classes[target.owner].body
    named: dict[str, list[ast.stmt]] = {}
    for statement in body:
        for name in _bound_by(statement, functions):
            named.setdefault(name, []).append(statement)
    return named


def _bound_by(statement: ast.stmt, functions: Mapping[str, ast.FunctionDef]) -> list[str]:
    """Return the names that a statement gives a value, or fills by calling a function that names them."""
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return [statement.name]
        case ast.Assign(targets=targets):
            return [node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
        case ast.Expr(value=ast.Call()) | ast.For():
            called = [functions[name] for name in _names_in(statement) if name in functions]
            return [*_names_in(statement), *(name for function in called for name in _names_in(function))]
        case _:
            return []


def _names_in(node: ast.AST) -> list[str]:
    nodes = [one for one in ast.walk(node) if isinstance(one, ast.Name | ast.Attribute)]
    return list(dict.fromkeys(one.id if isinstance(one, ast.Name) else one.attr for one in nodes))
