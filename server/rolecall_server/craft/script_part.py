"""The part of a Python file that runs where it is a script: what is added to the file belongs before it."""

from __future__ import annotations

import ast
import re

from rolecall_server.python_trees import parse_python

# As Python counts lines: `str.splitlines` ends one at a form feed, too.
_LINE_WITH_END = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")


def split_before_script_part(text: str) -> tuple[str, str]:
    """Return *text*, a Python file, without ``if __name__ == "__main__":`` at its end, and that with the comment above
    it; empty where there is none.
    """
    try:
        body = parse_python(text).body if "__main__" in text else []
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text, ""
    if not body or not _is_for_scripts(body[-1]):
        return text, ""
    lines: list[str] = _LINE_WITH_END.findall(text)
    start = body[-1].lineno - 1
    while start and lines[start - 1].startswith("#"):
        start -= 1
    return "".join(lines[:start]), "".join(lines[start:])


def _is_for_scripts(node: ast.stmt) -> bool:
    if not isinstance(node, ast.If) or not isinstance(node.test, ast.Compare):
        return False
    sides = [ast.unparse(side) for side in (node.test.left, *node.test.comparators)]
    return isinstance(node.test.ops[0], ast.Eq) and sorted(sides) == ["'__main__'", "__name__"]
