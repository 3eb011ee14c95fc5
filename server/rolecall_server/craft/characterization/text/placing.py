"""Putting tests into a file: imports where the file has its own, tests after its own, nothing else touched."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Collection, Iterable, Sequence

from rolecall_server.craft.characterization.text.house_style import HouseStyle
from rolecall_server.craft.characterization.text.rendering import Rendered
from rolecall_server.craft.script_part import split_before_script_part
from rolecall_server.python_trees import parse_python

_STANDARD, _THIRD_PARTY, _OWN = range(3)
# As Python counts lines: `str.splitlines` ends one at a form feed, too.
_LINE_END = re.compile(r"\r\n?|\n")


def new_file(rendered: Rendered, module: str, style: HouseStyle) -> str:
    """Return a whole test file."""
    sections: list[list[str]] = [[], [], []]
    for statement, section in _statements(rendered, module, style):
        sections[section].append(statement)
    head = "\n\n".join("\n".join(section) for section in sections if section)
    return "\n\n\n".join([head, *rendered.tests]) + "\n"


def extended(text: str, rendered: Rendered, module: str, style: HouseStyle) -> str:
    """Return *text*, an existing test file, with the tests after its own and what they import at its top.

    Raises:
        SyntaxError: *text* is no Python.
    """
    text, script = split_before_script_part(text)
    tree = parse_python(text)
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = _LINE_END.split(text)
    edits: list[tuple[int, int, list[str]]] = []
    for statement, section in _statements(_missing(rendered, tree), module, style):
        edits.append(_placed(statement, section, tree, module, style))
    # From the last line to the first: the lines above an edit keep their numbers.
    for start, end, new in sorted(edits, key=lambda edit: edit[:2], reverse=True):
        lines[start:end] = new
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


def _statements(rendered: Rendered, module: str, style: HouseStyle) -> Iterable[tuple[str, int]]:
    for name in sorted(rendered.modules):
        yield f"import {name}", _section(name, module)
    for source, names in sorted(rendered.names.items()):
        yield _from_import(source, names, style), _section(source, module)


def _section(source: str, module: str) -> int:
    top = source.partition(".")[0]
    if top == module.partition(".")[0]:
        return _OWN
    return _STANDARD if top in sys.stdlib_module_names else _THIRD_PARTY


def _from_import(source: str, names: Iterable[str], style: HouseStyle) -> str:
    ordered = sorted(names, key=_isort_key)
    line = f"from {source} import {', '.join(ordered)}"
    if len(line) <= style.line_length:
        return line
    return "\n".join([f"from {source} import (", *(f"    {name}," for name in ordered), ")"])


def _isort_key(name: str) -> tuple[int, str]:
    """Constants, then classes, then the rest, as import sorters have it."""
    kind = 0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2
    return kind, name


def _missing(rendered: Rendered, tree: ast.Module) -> Rendered:
    """Return *rendered* without the imports that the file has."""
    modules: set[str] = set()
    names: dict[str, set[str]] = {}
    for node in tree.body:
        if isinstance(node, ast.Import):
            modules |= {one.name for one in node.names if one.asname is None}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.setdefault(node.module, set()).update(one.name for one in node.names if one.asname is None)
    lacking = {source: found - names.get(source, set()) for source, found in rendered.names.items()}
    return Rendered(
        rendered.tests, rendered.modules - modules, {source: found for source, found in lacking.items() if found}
    )


def _placed(
    statement: str, section: int, tree: ast.Module, module: str, style: HouseStyle
) -> tuple[int, int, list[str]]:
    """Return the place of an import: the start and the end of the lines that make room for it, and the lines that they
    become.
    """
    node = parse_python(statement).body[0]
    imports = [one for one in tree.body if isinstance(one, ast.Import | ast.ImportFrom)]
    if isinstance(node, ast.ImportFrom):
        for known in imports:
            if isinstance(known, ast.ImportFrom) and _takes_names(known, node.module):
                merged = _from_import(node.module or "", {one.name for one in [*known.names, *node.names]}, style)
                return known.lineno - 1, known.end_lineno or known.lineno, merged.splitlines()
    same = [one for one in imports if _section(_source_of(one), module) == section and not _is_future(one)]
    for known in same:
        if _sort_key(known) > _sort_key(node):
            return known.lineno - 1, known.lineno - 1, statement.splitlines()
    if same:
        end = same[-1].end_lineno or same[-1].lineno
        return end, end, statement.splitlines()
    later = [one for one in imports if _section(_source_of(one), module) > section and not _is_future(one)]
    if later:
        return later[0].lineno - 1, later[0].lineno - 1, [*statement.splitlines(), ""]
    end = (imports[-1].end_lineno or imports[-1].lineno) if imports else _after_docstring(tree)
    return end, end, (["", *statement.splitlines()] if end else [*statement.splitlines(), "", ""])


def _takes_names(known: ast.ImportFrom, module: str | None) -> bool:
    """Return whether an import takes plain names from *module*, so that more can be added to it."""
    plain = all(one.asname is None and one.name != "*" for one in known.names)
    return plain and (known.module, known.level) == (module, 0)


def _source_of(node: ast.Import | ast.ImportFrom) -> str:
    return (node.module or "") if isinstance(node, ast.ImportFrom) else node.names[0].name


def _is_future(node: ast.Import | ast.ImportFrom) -> bool:
    return _source_of(node) == "__future__"


def _sort_key(node: ast.stmt) -> tuple[bool, str]:
    assert isinstance(node, ast.Import | ast.ImportFrom)
    return isinstance(node, ast.ImportFrom), _source_of(node).lower()


def _after_docstring(tree: ast.Module) -> int:
    first: Sequence[ast.stmt] = tree.body[:1]
    if first and isinstance(first[0], ast.Expr) and isinstance(first[0].value, ast.Constant):
        return first[0].end_lineno or 0
    return 0
