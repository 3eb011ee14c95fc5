"""The parts of a text that are made for more than one version or environment: what fails there may be meant to."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

_CAUGHT = frozenset(
    {"AttributeError", "BaseException", "Exception", "ImportError", "ModuleNotFoundError", "NameError", "TypeError"}
)
_TESTS = re.compile(
    r"version|platform|TYPE_CHECKING|\bhasattr\b|\bgetattr\b|find_spec|modules|os\.name|implementation|PY\d|HAS_|HAVE_"
    r"|_AVAILABLE|_installed",
    re.IGNORECASE,
)
_EXPECTED = re.compile(r"raises|suppress|assertRaises|warns", re.IGNORECASE)
_SKIPPED = re.compile(r"skip|xfail|require", re.IGNORECASE)


def guarded_nodes(nodes: Iterable[ast.AST]) -> set[ast.AST]:
    """Return those of *nodes*, all of a tree, that lie in code made for other versions too, or expected to fail."""
    found: set[ast.AST] = set()
    for part in _guarded_parts(nodes):
        found.update(ast.walk(part))
    return found


def _guarded_parts(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    for node in nodes:
        match node:
            case ast.Try() | ast.TryStar() if any(map(_catches, node.handlers)):
                # The handlers and `else` too: they are what is done in the other version.
                yield from (*node.body, *node.handlers, *node.orelse)
            case ast.If() | ast.IfExp() if _TESTS.search(ast.unparse(node.test)) or _is_constant(node.test):
                yield node
            case ast.BoolOp() if any(_TESTS.search(ast.unparse(one)) for one in node.values):
                yield node
            case ast.With() | ast.AsyncWith() if any(_EXPECTED.search(ast.unparse(one)) for one in node.items):
                yield from node.body
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                if any(_SKIPPED.search(ast.unparse(one)) for one in node.decorator_list):
                    yield node
            case ast.Call() if _EXPECTED.search(ast.unparse(node.func)):
                yield node
            case _:
                pass


def _is_constant(test: ast.expr) -> bool:
    """Return whether *test* is a constant by its name, as those are that tell one version from another."""
    plain = test.operand if isinstance(test, ast.UnaryOp) else test
    name = plain.id if isinstance(plain, ast.Name) else plain.attr if isinstance(plain, ast.Attribute) else ""
    return len(name) > 1 and name.isupper()


def _catches(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    nodes = list(ast.walk(handler.type))
    names = {one.id for one in nodes if isinstance(one, ast.Name)}
    return not _CAUGHT.isdisjoint(names | {one.attr for one in nodes if isinstance(one, ast.Attribute)})
