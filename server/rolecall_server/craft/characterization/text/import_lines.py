"""The lines of imports: sorted as import sorters do, each at its place among those that a file has."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeGuard

from rolecall_server.craft.characterization.text.house_style import HouseStyle
from rolecall_server.craft.characterization.text.rendering import Rendered

_STANDARD, _THIRD_PARTY, _OWN, _RELATIVE = range(4)
_AnyImport = ast.Import | ast.ImportFrom


def head_of_file(rendered: Rendered, module: str, style: HouseStyle) -> str:
    """Return the imports that a new test file of *module* begins with."""
    return _in_sections(list(_statements(rendered, module, style)))


def add_imports(lines: list[str], tree: ast.Module, rendered: Rendered, module: str, style: HouseStyle) -> None:
    """Write what *rendered* imports into *lines*, those of the file *tree*."""
    imports = [one for one in tree.body if isinstance(one, _AnyImport) and _source_of(one) != "__future__"]
    changed: list[tuple[int, int, list[str]]] = []
    new: dict[int, list[tuple[_Gap, _Statement]]] = {}
    for statement in _statements(rendered, module, style):
        known = next((one for one in imports if _takes_names(one, statement, lines)), None)
        if known is not None:
            start, end = known.lineno - 1, known.end_lineno or known.lineno
            changed.append((start, end, _grown(known, statement.names, style).splitlines()))
        else:
            gap = _gap(statement, imports, tree, module)
            new.setdefault(gap.line, []).append((gap, statement))
    for line, found in new.items():
        added = _in_sections([statement for _, statement in found]).splitlines()
        (first, _), (last, _) = found[0], found[-1]
        changed.append((line, line, [*[""] * first.before, *added, *[""] * last.after]))
    # From the last line to the first: the lines above a change keep their numbers.
    for start, end, text in sorted(changed, key=lambda one: one[:2], reverse=True):
        lines[start:end] = text


@dataclass(frozen=True)
class _Statement:
    """An import that tests need."""

    source: str
    names: tuple[str, ...]
    """Empty for the module itself."""
    section: int
    text: str

    @property
    def key(self) -> tuple[bool, list[tuple[bool, int, str]]]:
        return bool(self.names), _natural(self.source)


@dataclass(frozen=True)
class _Gap:
    """A place for new imports: the number of lines before it, and the blank lines around what is put there."""

    line: int
    before: int = 0
    after: int = 0


def _statements(rendered: Rendered, module: str, style: HouseStyle) -> list[_Statement]:
    """Return the imports of *rendered* in their order."""
    found = [_Statement(name, (), _section(name, module), f"import {name}") for name in rendered.modules]
    for source, names in rendered.names.items():
        ordered = sorted(names, key=_name_key)
        text = _from_import(source, ordered, style)
        found.append(_Statement(source, tuple(ordered), _section(source, module), text))
    return sorted(found, key=lambda one: (one.section, one.key))


def _in_sections(statements: Sequence[_Statement]) -> str:
    """Return *statements*, with a blank line where another section begins."""
    sections = dict.fromkeys(one.section for one in statements)
    return "\n\n".join("\n".join(one.text for one in statements if one.section == section) for section in sections)


def _section(source: str, module: str) -> int:
    top = re.split(r"[. ]", source)[0]
    if top == module.partition(".")[0]:
        return _OWN
    return _STANDARD if top in sys.stdlib_module_names else _THIRD_PARTY


def _from_import(source: str, names: Sequence[str], style: HouseStyle, *, is_long: bool = False) -> str:
    line = f"from {source} import {', '.join(names)}"
    if len(line) <= style.line_length and not is_long:
        return line
    return "\n".join([f"from {source} import (", *(f"    {name}," for name in names), ")"])


def _grown(known: ast.ImportFrom, new: Iterable[str], style: HouseStyle) -> str:
    """Return the import *known* with the names *new*, each at its place among those that are there."""
    names = [one.name for one in known.names]
    for name in new:
        place = next((at for at, one in enumerate(names) if _name_key(one) > _name_key(name)), len(names))
        names.insert(place, name)
    return _from_import(known.module or "", names, style, is_long=known.end_lineno != known.lineno)


def _name_key(name: str) -> tuple[int, list[tuple[bool, int, str]]]:
    """Constants, then classes, then the rest."""
    kind = 0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2
    return kind, _natural(name)


def _natural(name: str) -> list[tuple[bool, int, str]]:
    """Return a key by which ``part_2`` comes before ``part_10``, in capitals or not."""
    parts = re.findall(r"[0-9]+|[^0-9]+", name)
    return [(False, int(part), "") if part[0] in "0123456789" else (True, 0, part.lower()) for part in parts]


def _gap(statement: _Statement, imports: Sequence[_AnyImport], tree: ast.Module, module: str) -> _Gap:
    """Return the place of a new statement among the *imports* of a file."""
    sections = [(_section_of(one, module), one) for one in imports]
    same = [one for section, one in sections if section == statement.section]
    after = next((one for one in same if _key_of(one) > statement.key), None)
    if after is not None:
        return _Gap(after.lineno - 1)
    if same:
        return _Gap(same[-1].end_lineno or same[-1].lineno)
    later = next((one for section, one in sections if section > statement.section), None)
    if later is not None:
        return _Gap(later.lineno - 1, after=1)
    end = _end_of_head(tree)
    return _Gap(end, before=1) if end else _Gap(0, after=2)


def _takes_names(known: _AnyImport, statement: _Statement, lines: Sequence[str]) -> TypeGuard[ast.ImportFrom]:
    """Return whether *known* takes plain names from the module of *statement*, so that more can be added to it."""
    if not statement.names or not isinstance(known, ast.ImportFrom):
        return False
    plain = all(one.asname is None and one.name != "*" for one in known.names)
    # What else stands there would be lost.
    bare = not any(sign in line for sign in "#;" for line in lines[known.lineno - 1 : known.end_lineno])
    return plain and bare and (known.module, known.level) == (statement.source, 0)


def _section_of(node: _AnyImport, module: str) -> int:
    return _RELATIVE if isinstance(node, ast.ImportFrom) and node.level else _section(_source_of(node), module)


def _source_of(node: _AnyImport) -> str:
    return (node.module or "") if isinstance(node, ast.ImportFrom) else node.names[0].name


def _key_of(node: _AnyImport) -> tuple[bool, list[tuple[bool, int, str]]]:
    return isinstance(node, ast.ImportFrom), _natural(_source_of(node))


def _end_of_head(tree: ast.Module) -> int:
    """Return the last line of the imports, or of the text at the beginning where there are none."""
    imports = [one for one in tree.body if isinstance(one, _AnyImport)]
    first = tree.body[:1]
    if not imports and first and isinstance(first[0], ast.Expr) and isinstance(first[0].value, ast.Constant):
        imports = first
    return (imports[-1].end_lineno or imports[-1].lineno) if imports else 0
