"""A module with what is around it: those it imports, those that import it, those these import, tests, documents."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable

from rolecall_analysis import ModuleTree, callers, definitions_in, import_graph, is_test_path, module_names, tests_of
from rolecall_server.craft.characterization import NearbyModule, Subject
from rolecall_server.python_trees import parse_python
from rolecall_server.team.request import Desk
from rolecall_server.workspace import read_text_file, read_text_or_none

_MAX_NEIGHBOURS = 24
_MAX_CHARACTERS = 400_000
_MAX_RELATED_FILES = 16
_MAX_RELATED_CHARACTERS = 200_000
_MAX_SEARCHED = 400
_PROSE = ("*.md", "*.rst", "*.txt")
_MAX_DOCUMENTS = 24


def subject_of(desk: Desk, path: str, symbols: Collection[str], budget_s: float) -> Subject:
    """Return the module *path*, or its *symbols*, as what calls are to be made of in *budget_s* seconds.

    Raises:
        FileRefused: it cannot be read.
    """
    return Subject(
        read_text_file(desk.workspace, path).text,
        symbols,
        related=_related(desk, path),
        neighbours=neighbours_of(desk, path),
        tests=_tests(desk, path)[:_MAX_RELATED_FILES],
        documents=documents_of(desk),
        budget_s=budget_s,
    )


def _tests(desk: Desk, path: str) -> list[str]:
    """Return the test files that use the module *path*, those that name it in a text, then those that use a module
    that imports it.
    """
    found = dict.fromkeys(tests_of(desk.snapshot, path))
    modules = desk.snapshot.modules
    name = next(iter(module_names(modules, path)), "")
    if name and len(found) < _MAX_RELATED_FILES:
        found |= dict.fromkeys(_tests_naming(desk, name))
        importing = sorted(each for each, named in import_graph(desk.snapshot).items() if name in named)
        paths = _paths_of(modules)
        for each in importing[:_MAX_RELATED_FILES] if len(found) < _MAX_RELATED_FILES else ():
            found |= dict.fromkeys(tests_of(desk.snapshot, paths[each]))
    found.pop(path, None)
    return list(found)


def _paths_of(modules: ModuleTree) -> dict[str, str]:
    """Return the file of each module, by its dotted name."""
    return {names[0]: path for path in modules.files.values() if (names := module_names(modules, path))}


def _tests_naming(desk: Desk, module: str) -> list[str]:
    """Return the test files that hold the dotted name *module* in a text, as where an extension is asked for by name;
    those that are named after it first.
    """
    last = module.rpartition(".")[2]
    tests = sorted((one for one in desk.snapshot.files if is_test_path(one)), key=lambda one: (last not in one, one))
    in_text = re.compile(rf"""["'][^"'\n]*\b{re.escape(module)}\b""")
    return [one for one in tests[:_MAX_SEARCHED] if in_text.search(read_text_or_none(desk.workspace, one) or "")]


def neighbours_of(desk: Desk, path: str) -> list[NearbyModule]:
    """Return the modules around the file *path*, the nearest first: at most 24 that are no tests."""
    modules = desk.snapshot.modules
    paths = _paths_of(modules)
    module = next(iter(module_names(modules, path)), "")
    found: list[NearbyModule] = []
    left = _MAX_CHARACTERS
    for name in _in_order(import_graph(desk.snapshot), module):
        text = "" if is_test_path(paths[name]) else read_text_or_none(desk.workspace, paths[name]) or ""
        if len(found) < _MAX_NEIGHBOURS and 0 < len(text) <= left:
            left -= len(text)
            found += _parsed(name, text)
    return found


def documents_of(desk: Desk) -> list[str]:
    """Return the texts that the repository explains itself with: its README, and at most 24 documents of its `docs`."""
    root = desk.workspace.root
    found = [path for pattern in ("README*", *_PROSE) for path in sorted(root.glob(pattern))]
    found += [
        path for folder in ("docs", "doc") for pattern in _PROSE for path in sorted((root / folder).rglob(pattern))
    ]
    texts = [read_text_or_none(desk.workspace, path.relative_to(root).as_posix()) for path in dict.fromkeys(found)]
    return [text for text in texts if text and len(text) <= _MAX_CHARACTERS][:_MAX_DOCUMENTS]


def _in_order(graph: dict[str, set[str]], module: str) -> Iterable[str]:
    """Return modules by their distance from *module*: the packages it is in and what it imports, then what imports it,
    then what these import.
    """
    parts = module.split(".")
    packages = [".".join(parts[:length]) for length in range(len(parts) - 1, 0, -1)]
    imported = sorted(graph.get(module, ()))
    importing = sorted(name for name, named in graph.items() if module in named)
    farther = sorted({below for name in [*packages, *imported, *importing] for below in graph.get(name, ())})
    order = dict.fromkeys([*imported, *packages, *importing, *farther])
    return [name for name in order if name in graph and name != module]


def _parsed(name: str, text: str) -> list[NearbyModule]:
    try:
        return [NearbyModule(name, parse_python(text))]
    except (SyntaxError, ValueError):
        return []


def _related(desk: Desk, path: str) -> list[ast.Module]:
    """Return the trees of the files that call what is in *path*, the tests first."""
    files = dict.fromkeys(tests_of(desk.snapshot, path))
    for definition in definitions_in(desk.snapshot, path):
        if definition.kind in ("function", "method", "class"):
            files |= dict.fromkeys(site.path for site in callers(desk.snapshot, definition, certain_only=True))
    files.pop(path, None)
    trees: list[ast.Module] = []
    for each in list(files)[:_MAX_RELATED_FILES]:
        text = read_text_or_none(desk.workspace, each) or ""
        try:
            trees.append(parse_python(text if len(text) <= _MAX_RELATED_CHARACTERS else ""))
        except (SyntaxError, ValueError):
            continue
    return trees
