"""Runs a few lines of Python and prints what the last expression is worth. Standard library of Python 3.8 only."""

# pyright: basic

from __future__ import annotations

import ast
import linecache
import sys
import traceback
import types
from pathlib import Path
from typing import Any

_NAME = "snippet.py"


def main(snippet: str, report: str) -> int:
    """Run the file *snippet*, after telling the file *report* that it was started; return the exit code."""
    Path(report).write_text("started\n", "utf-8")
    text = Path(snippet).read_text("utf-8")
    sys.path[0], sys.argv[:] = str(Path.cwd()), [_NAME]
    # There is no file of that name: without this, a traceback would show no line of the snippet.
    linecache.cache[_NAME] = len(text), None, text.splitlines(keepends=True), _NAME
    module = sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        tree: Any = compile(text, _NAME, "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        return _tell(error, None)
    try:
        _run(tree, module.__dict__)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is what the snippet shows
        return _tell(error, error.__traceback__)
    return 0


def _run(tree: ast.Module, names: dict[str, Any]) -> None:
    last = tree.body[-1] if tree.body else None
    if isinstance(last, ast.Expr):
        tree.body.pop()
    exec(compile(tree, _NAME, "exec", dont_inherit=True), names)  # noqa: S102
    if isinstance(last, ast.Expr):
        value = eval(compile(ast.Expression(last.value), _NAME, "eval", dont_inherit=True), names)  # noqa: S307
        if value is not None:
            print(repr(value))


def _tell(error: Exception, since: types.TracebackType | None) -> int:
    """Print *error* with its traceback, *since* without what stands in this file."""
    while since is not None and since.tb_frame.f_code.co_filename == __file__:
        since = since.tb_next
    traceback.print_exception(type(error), error, since)
    return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
