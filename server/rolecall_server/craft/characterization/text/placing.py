"""Putting tests into a file: imports where the file has its own, tests after its own, nothing else touched."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection

from rolecall_server.craft.characterization.text.house_style import HouseStyle
from rolecall_server.craft.characterization.text.import_lines import add_imports, head_of_file
from rolecall_server.craft.characterization.text.known_names import fitted
from rolecall_server.craft.characterization.text.origins import NO_ORIGINS, Origins
from rolecall_server.craft.characterization.text.rendering import Rendered
from rolecall_server.craft.script_part import split_before_script_part
from rolecall_server.python_trees import parse_python

# As Python counts lines: `str.splitlines` ends one at a form feed, too.
_LINE_END = re.compile(r"\r\n?|\n")


def new_file(rendered: Rendered, module: str, style: HouseStyle) -> str:
    """Return a whole test file."""
    return "\n\n\n".join([head_of_file(rendered, module, style), *rendered.tests]) + "\n"


def extended(text: str, rendered: Rendered, module: str, style: HouseStyle, origins: Origins = NO_ORIGINS) -> str:
    """Return *text*, an existing test file, with the tests after its own and what they import at its top.

    *origins* tell which names mean the same.

    Raises:
        SyntaxError: *text* is no Python.
    """
    text, script = split_before_script_part(text)
    tree = parse_python(text)
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = _LINE_END.split(text)
    rendered = fitted(rendered, text, origins)
    add_imports(lines, tree, rendered, module, style)
    body = "\n\n\n".join(rendered.tests)
    added = newline.join(["", "", "", *body.splitlines(), *(["", ""] if script else []), ""])
    return newline.join(lines).rstrip() + added + script


def names_of_tests(text: str) -> set[str]:
    """Return the names of the tests and classes at the top of a file, without ``test_``; none where it is no Python."""
    try:
        tree = parse_python(text)
    except SyntaxError:
        return set()
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return {node.name.removeprefix("test_") for node in tree.body if isinstance(node, kinds)}


def names_of_tests_using(text: str, name: str) -> set[str]:
    """Return the names of the tests in *text* that use a *name*."""
    return {
        test
        for test, each in _tests_in(text).items()
        if any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(each))
    }


def names_of_tests_on(text: str, lines: Collection[int]) -> set[str]:
    """Return the names of the tests in *text* that stand on one of *lines*, their decorators too."""
    spans = {
        test: range(min(one.lineno for one in [each, *each.decorator_list]), (each.end_lineno or each.lineno) + 1)
        for test, each in _tests_in(text).items()
    }
    return {test for test, span in spans.items() if any(line in span for line in lines)}


def _tests_in(text: str) -> dict[str, ast.FunctionDef | ast.ClassDef]:
    return {node.name: node for node in parse_python(text).body if isinstance(node, ast.FunctionDef | ast.ClassDef)}


def tests_added(text: str, base: str | None) -> list[str]:
    """Return the tests and classes of tests at the top of *text* that are not in *base*, as pytest names them."""
    before = names_of_tests(base) if base is not None else set[str]()
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    nodes = [node for node in parse_python(text).body if isinstance(node, kinds)]
    return [node.name for node in nodes if node.name.removeprefix("test_") not in before]
