"""Tests with the names that their file has already: nothing is imported twice, nothing that it has is hidden."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping

from rolecall_server.craft.characterization.text.origins import Origins
from rolecall_server.craft.characterization.text.rendering import Rendered
from rolecall_server.python_trees import parse_python


def fitted(rendered: Rendered, text: str, origins: Origins) -> Rendered:
    """Return *rendered* as it is written in the test file *text*: it imports what the file lacks, calls what it has as
    the file does, and gives what shares its name with another thing there a name of its own.
    """
    bound = origins.bound_in(text)
    used = {name for test in rendered.tests for name in _names_in(parse_python(test))}
    renamed: dict[str, str] = {}
    modules: set[str] = set()
    names: dict[str, set[str]] = {}
    for source, name in _needs(rendered):
        plain, origin = name or source, origins.of(source, name)
        known = [one for one, made in bound.items() if made == origin]
        if plain in known:
            continue
        if known and known[0] not in used:
            renamed[plain] = known[0]
            continue
        if plain in bound:
            renamed[plain] = _free_name(source, name, bound.keys() | used)
        written = f"{plain} as {renamed[plain]}" if plain in renamed else plain
        (names.setdefault(source, set()) if name else modules).add(written)
    tests = tuple(_with_names(test, renamed) if renamed else test for test in rendered.tests)
    return Rendered(tests, frozenset(modules), {source: frozenset(found) for source, found in names.items()})


def _needs(rendered: Rendered) -> Iterator[tuple[str, str]]:
    """Yield the sources and names of all imports; no name where it is the module."""
    yield from ((source, "") for source in sorted(rendered.modules))
    yield from ((source, name) for source, names in sorted(rendered.names.items()) for name in sorted(names))


def _names_in(node: ast.AST) -> set[str]:
    found = [one.id if isinstance(one, ast.Name) else getattr(one, "arg", "") for one in ast.walk(node)]
    return {str(name) for name in found if name}


def _free_name(source: str, name: str, taken: Collection[str]) -> str:
    """Return another name for what is imported: ``datetime_module``, ``price_total``, ``PriceCart``."""
    last = source.rpartition(".")[2]
    plain = f"{last}_{name or 'module'}"
    if name[:1].isupper():
        plain = "".join(word[:1].upper() + word[1:] for word in last.split("_")) + name
    names = (plain, *(f"{plain}_{number}" for number in range(2, 99)))
    return next(one for one in names if one not in taken)


def _with_names(test: str, renamed: Mapping[str, str]) -> str:
    """Return *test* with other names for what is *renamed*."""
    finder = _Places(renamed.keys())
    finder.visit(parse_python(test))
    lines = [line.encode() for line in test.split("\n")]
    # From the last on: the columns before it stay true.
    for row, column, name in sorted(finder.found, reverse=True):
        line = lines[row - 1]
        lines[row - 1] = line[:column] + renamed[name].encode() + line[column + len(name.encode()) :]
    return b"\n".join(lines).decode()


class _Places(ast.NodeVisitor):
    """The places of names that stand for something of the module, not for a value of the function that is around."""

    def __init__(self, names: Collection[str]) -> None:
        self._names = set(names)
        self.found: list[tuple[int, int, str]] = []

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        for decorator in node.decorator_list:
            self.visit(decorator)
        outer = self._names
        stored = {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
        self._names = outer - stored - {one.arg for one in ast.walk(node.args) if isinstance(one, ast.arg)}
        for statement in node.body:
            self.visit(statement)
        self._names = outer

    def visit_Name(self, node: ast.Name) -> None:
        if node.id in self._names:
            self.found.append((node.lineno, node.col_offset, node.id))
