"""The code that documents and docstrings show, as pieces that can run."""

from __future__ import annotations

import ast
import doctest
import textwrap
from collections.abc import Iterable, Iterator, Sequence

from rolecall_server.python_trees import parse_python

_LANGUAGES = frozenset(["py", "python", "python3", "pycon"])
_FENCES = ("```", "~~~")
_DIRECTIVES = (".. code-block::", ".. code::", ".. sourcecode::", ".. testcode::")


def pieces_in(text: str) -> str:
    """Return the code of a document, statement by statement with a zero byte between; empty where it shows none."""
    found = [example.source for example in _doctests(text)] if ">>>" in text else []
    found += [piece for block in _blocks(text.splitlines()) if ">>>" not in block for piece in _statements(block)]
    return "\0".join(dict.fromkeys(found))


def pieces_of(tree: ast.Module) -> Iterator[str]:
    """Yield the code that each docstring of *tree* shows."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            documentation = ast.get_docstring(node)
            if documentation and (found := pieces_in(documentation)):
                yield found


def _doctests(text: str) -> Iterable[doctest.Example]:
    try:
        return doctest.DocTestParser().get_examples(text)
    except ValueError:
        return []


def _blocks(lines: Sequence[str]) -> Iterator[str]:
    """Yield the code between fences that name Python, and below directives and ends of paragraphs that announce it."""
    place = 0
    while place < len(lines):
        line, place = lines[place], place + 1
        start = place
        fence = line.strip()[:3]
        if fence in _FENCES:
            while place < len(lines) and lines[place].strip() != fence:
                place += 1
            if line.strip()[3:].strip().partition(" ")[0].lower() in _LANGUAGES:
                yield "\n".join(lines[start:place])
            place += 1
        elif _announces_code(line.strip()):
            while place < len(lines) and (not lines[place].strip() or _indent(lines[place]) > _indent(line)):
                place += 1
            # A line such as `:linenos:` is an option of the directive.
            yield "\n".join(one for one in lines[start:place] if not one.strip().startswith(":"))


def _announces_code(line: str) -> bool:
    if line.startswith(".. "):
        name = next((name for name in _DIRECTIVES if line.startswith(name)), "")
        return bool(name) and line.removeprefix(name).strip() in _LANGUAGES | {""}
    return line.endswith("::")


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _statements(block: str) -> Iterator[str]:
    try:
        tree = parse_python(textwrap.dedent(block).strip("\n"))
    except (SyntaxError, ValueError):
        return
    yield from (ast.unparse(statement) for statement in tree.body)
