"""Tests that show a finding, as text of their own: marked as ones that fail until the code is mended."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from rolecall_server.craft.test_quality.test_text import WrittenTest, is_docstring, written_tests
from rolecall_server.python_trees import parse_python
from rolecall_server.workspace import split_lines


@dataclass(frozen=True)
class ExpectedFailure:
    """A test that fails until the code is mended, and says so."""

    name: str
    """As pytest joins it."""
    text: str
    """Its lines, its class's too where it is a method."""


def expected_failure(text: str, name: str, rows: Collection[int], reason: str) -> ExpectedFailure | None:
    """Return the test *name* of *text* marked to fail for *reason*, its cases *rows* alone; ``None`` if it has none."""
    test = next((one for one in written_tests(text) if one.name == name), None)
    if test is None:
        return None
    lines = split_lines(text)
    holder = _holder(text, name)
    is_unittest = holder is not None and any("TestCase" in ast.unparse(base) for base in holder.bases)
    # The cases that pass stay in the file under the name of the test, so that these need another.
    partly = bool(rows) and len(rows) < len(test.rows)
    function = f"{test.node.name}_finding" if partly else test.node.name
    body = _cases(test, rows, reason, lines) if rows else _marked(test, reason, lines, is_unittest=is_unittest)
    body = body.replace(f"def {test.node.name}(", f"def {function}(", 1)
    if holder is None:
        return ExpectedFailure(function, body)
    named = f"{holder.name}Findings"
    return ExpectedFailure(f"{named}::{function}", "".join(_class(holder, named, lines)) + body)


def standing_alone(block: str, text: str, origin: str) -> str:
    """Return *block* with what it uses of *origin*, imports and definitions, and *text* does not have."""
    there = {name for node in parse_python(text).body for name in _bound_by(node)}
    imports, helpers, pending = list[str](), list[str](), [block]
    # The marks of the test need one of these, which its file may not import.
    nodes = parse_python(f"{origin}\nimport pytest\nimport unittest\n").body
    lines = split_lines(origin)
    while pending:
        used = _used_in(pending.pop()) - there
        for node in nodes:
            if not (wanted := _bound_by(node) & used - there):
                continue
            there |= wanted
            if isinstance(node, ast.Import | ast.ImportFrom):
                kept = [one for one in node.names if (one.asname or one.name.partition(".")[0]) in wanted]
                line = ast.unparse(ast.Import(kept) if isinstance(node, ast.Import) else _from(node, kept))
                # The block goes to the end of a file, where linters want no import.
                imports.append(f"{line}  # noqa: E402\n" if text.strip() else f"{line}\n")
            elif not wanted & _bound_in(block):
                first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))])
                helpers.append("".join(lines[first - 1 : node.end_lineno]))
                pending.append(helpers[-1])
    # Reversed: a helper is found after what uses it, and must stand above that.
    return "\n\n".join(part for part in ("".join(imports), *reversed(helpers), block) if part)


def _from(node: ast.ImportFrom, names: list[ast.alias]) -> ast.ImportFrom:
    return ast.ImportFrom(node.module, names, node.level)


def _used_in(text: str) -> set[str]:
    nodes = list(ast.walk(parse_python(text)))
    return {node.id for node in nodes if isinstance(node, ast.Name)} | {n.arg for n in nodes if isinstance(n, ast.arg)}


def _bound_in(text: str) -> set[str]:
    return {name for node in parse_python(text).body for name in _bound_by(node)}


def _bound_by(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {one.asname or one.name.partition(".")[0] for one in node.names}
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return {each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)}
    return {node.name} if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef) else set()


def _marked(test: WrittenTest, reason: str, lines: Sequence[str], *, is_unittest: bool) -> str:
    margin = " " * test.node.col_offset
    marks = [f"{margin}@pytest.mark.xfail(strict=True, reason={reason!r})\n"]
    if is_unittest:  # an unexpected success fails, as with a strict mark of pytest
        marks = [f"{margin}# {reason}\n", f"{margin}@unittest.expectedFailure\n"]
    return "".join([*marks, *lines[test.start : test.end]])


def _cases(test: WrittenTest, rows: Collection[int], reason: str, lines: Sequence[str]) -> str:
    """Return the parametrised *test* with its cases *rows* alone, each marked."""
    source = "".join(lines)
    mark = f"marks=pytest.mark.xfail(strict=True, reason={reason!r})"
    kept = [_case(test, source, number, mark) for number in sorted(rows)]
    margin = " " * test.node.col_offset
    given = ", ".join(repr(name) for name in test.parameters)
    names = f"({given})" if len(test.parameters) > 1 else given
    table = [f"{margin}@pytest.mark.parametrize(\n", f"{margin}    {names},\n", f"{margin}    [\n"]
    table += [f"{margin}        {case},\n" for case in kept]
    others = [one for one in test.node.decorator_list if "parametri" not in ast.unparse(one)]
    table += [f"{margin}    ],\n", f"{margin})\n", *(f"{margin}@{ast.unparse(one)}\n" for one in others)]
    return "".join([*table, *lines[test.node.lineno - 1 : test.end]])


def _case(test: WrittenTest, source: str, number: int, mark: str) -> str:
    row = test.rows[number]
    if isinstance(row, ast.Call):
        values = [ast.unparse(one) for one in row.args]
    elif len(test.parameters) > 1 and isinstance(row, ast.Tuple | ast.List):
        values = [ast.get_source_segment(source, one) or ast.unparse(one) for one in row.elts]
    else:
        values = [ast.get_source_segment(source, row) or ast.unparse(row)]
    return f"pytest.param({', '.join([*values, mark])})"


def _holder(text: str, name: str) -> ast.ClassDef | None:
    holder = name.rpartition("::")[0]
    classes = (node for node in parse_python(text).body if isinstance(node, ast.ClassDef))
    return next((node for node in classes if node.name == holder), None)


def _class(holder: ast.ClassDef, named: str, lines: Sequence[str]) -> list[str]:
    """Return the head of a class *named* like *holder*, with all of its members but tests."""
    bases = ", ".join(ast.unparse(one) for one in holder.bases)
    head = [f"class {named}({bases}):\n" if bases else f"class {named}:\n"]
    for member in holder.body:
        is_test = isinstance(member, ast.FunctionDef | ast.AsyncFunctionDef) and member.name.startswith("test")
        if not is_test and not is_docstring(member):
            first = min([member.lineno, *(one.lineno for one in getattr(member, "decorator_list", []))])
            head += [*lines[first - 1 : member.end_lineno], "\n"]
    return head
