"""Functions found by their code, what they take, and lambdas as text. Standard library of Python 3.8 only."""

# pyright: basic, reportMissingImports=false
# It looks at objects of which nothing is known.

from __future__ import annotations

import ast
import builtins
import contextlib
import functools
import inspect
import sys
import textwrap
import types
from typing import Any

_BY_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class NoSourceError(Exception):
    """A value has no expression."""


def taken_by(value: Any, path: str) -> list[str] | None:
    """Return the names of what a function of the file *path* must be given, else of what takes the rest, with a star;
    ``None`` for anything else.
    """
    # By its type: an object of the workspace that is asked for an attribute may do anything.
    inner = value.func if type(value) is functools.partial else value
    code = inner.__code__ if type(inner) in (types.FunctionType, types.MethodType) else None
    if (code is None or code.co_filename != path) and getattr(type(value), "__wrapped__", None) is None:
        return None
    with contextlib.suppress(Exception):  # nothing tells what it takes
        parameters = inspect.signature(value).parameters.values()
        must = [one.name for one in parameters if one.default is one.empty and one.kind in _BY_PLACE]
        # What takes anything is most often a decorator, or what one gave.
        return must or [f"*{one.name}" for one in parameters if one.kind is one.VAR_POSITIONAL]
    return None


def function_of(code: Any) -> Any:
    """Return the function, or method as its class has it, that has *code*; None where no module has it."""
    for module in list(sys.modules.values()):
        if getattr(module, "__file__", None) == code.co_filename:
            for value in list(vars(module).values()):
                for one in _below(value, module.__name__, code.co_name):
                    if getattr(_plain(one), "__code__", None) is code:
                        return one if not isinstance(one, property) else one.fget
    return None


def _below(value: Any, module: str, name: str) -> list[Any]:
    if isinstance(value, type) and value.__module__ == module:
        inner = [one for one in vars(value).values() if isinstance(one, type)]
        return [vars(kind)[name] for kind in [value, *inner] if name in vars(kind)]
    return [value] if callable(value) else []


def _plain(value: Any) -> Any:
    value = getattr(value, "fget", None) or getattr(value, "__func__", None) or value
    try:
        return inspect.unwrap(value)
    except Exception:  # noqa: BLE001
        return value


def lambda_source(value: Any) -> str:
    """Return the text of a lambda that uses nothing but its arguments and built-in functions.

    Raises:
        NoSourceError: it uses more, or its text is not found.
    """
    code = value.__code__
    if code.co_freevars:
        raise NoSourceError
    try:
        text = textwrap.dedent(inspect.getsource(value)).strip()
    except (OSError, TypeError):
        raise NoSourceError from None
    # `getsource` gives whole lines, of which a lambda may be any part: each of these forms may make them parse.
    for attempt in (text, text.rstrip(","), f"({text})", f"({text.rstrip(',')})", f"f({text}", f"{text}\n    pass"):
        try:
            tree = compile(attempt, "<lambda>", "exec", ast.PyCF_ONLY_AST)
        except (SyntaxError, ValueError):
            continue
        found = [node for node in ast.walk(tree) if isinstance(node, ast.Lambda)]
        fits = [one for one in found if _parameters(one) == list(code.co_varnames[: code.co_argcount])]
        free = {n.id for one in fits for n in ast.walk(one) if isinstance(n, ast.Name)} - set(code.co_varnames)
        # `ast.unparse` is there since Python 3.9.
        if len(fits) == 1 and all(hasattr(builtins, name) for name in free) and hasattr(ast, "unparse"):
            return ast.unparse(fits[0])
    raise NoSourceError


def _parameters(node: ast.Lambda) -> list[str]:
    return [one.arg for one in [*getattr(node.args, "posonlyargs", []), *node.args.args]]
