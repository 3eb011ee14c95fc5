"""Attributes and arguments of which nothing is known but that no code says their names: perhaps they were made up."""

from __future__ import annotations

import ast
import builtins
import re
import sys
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from importlib import import_module
from types import ModuleType

from rolecall_analysis.installed.search_path import CodeModule
from rolecall_analysis.installed.world import World
from rolecall_server.python_trees import parse_python
from rolecall_server.review.names.checked_file import CheckedFile, WrongName

_MOST_FILES = 5_000
"""So many files of the repository are looked through for a name in a string."""
_SHORTEST = 3
"""Of a name that is judged; shorter ones occur anywhere."""
_NAMING = frozenset({"dict", "extend", "format", "update", "Namespace", "SimpleNamespace", "TypedDict", "NamedTuple"})
_WORD = re.compile(r"[^\W\d][\w-]*")


def unheard_names(reading: CheckedFile, changed: Collection[str]) -> Iterator[WrongName]:
    """Yield the attributes that the file reads, and the arguments it gives, whose names occur nowhere else.

    That is, not in the repository, where files that are *changed* too count only if they bring the name about; not in
    the packages that the file imports, those that these need, and Python's own; and in the file only at such places.
    Who compares two versions has to leave out what the first one said.
    """
    if not reading.world.installed.library() or not _imports_are_there(reading):
        return  # names of Python's own, or of a package, are not known
    judged: dict[str, bool] = {}
    introduced = _introduced(reading.all_nodes)
    for name, line in _candidates(reading):
        if name in introduced or len(name) < _SHORTEST or name.startswith("__"):
            continue
        if name not in judged:
            judged[name] = _is_unheard(reading, name, changed)
        if judged[name]:
            yield WrongName("unheard", line, name, None, certain=False)


def _imports_are_there(reading: CheckedFile) -> bool:
    world, importer = reading.world, reading.reader.module
    imports = world.facts(importer.path).imports
    return all(world.find(importer, one.module, one.level) is not None for one in imports if one.module)


def _candidates(reading: CheckedFile) -> Iterator[tuple[str, int]]:
    for node in reading.nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            if reading.inference.values(reading.reader, node.value) is None:
                yield node.attr, (node.end_lineno or node.lineno) - 1
        elif isinstance(node, ast.Call) and not _takes_any(node.func):
            yield from ((one.arg, one.value.lineno - 1) for one in node.keywords if one.arg)
        elif isinstance(node, ast.ImportFrom):
            yield from ((one.name, one.lineno - 1) for one in node.names if one.name != "*")


def _takes_any(function: ast.expr) -> bool:
    """Return whether what is called makes names of its arguments, whatever they are called, or is Python's own."""
    if isinstance(function, ast.Name):
        return function.id in _NAMING or hasattr(builtins, function.id)
    return isinstance(function, ast.Attribute) and function.attr in _NAMING


def _introduced(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names that the *nodes* of a file bring about: bound, assigned, in a string, or given as well as
    read.
    """
    found, given, read = set[str](), set[str](), set[str]()
    for node in nodes:
        match node:
            case ast.Attribute(attr=name, ctx=ast.Load()):
                read.add(name)
            case ast.Attribute(attr=name) | ast.Name(id=name) | ast.arg(arg=name):
                found.add(name)
            case ast.Call():
                given.update(one.arg for one in node.keywords if one.arg)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.Constant(value=str(text)):
                found.update(word.replace("-", "_") for word in _WORD.findall(text))
            case _:
                pass
    return found | (given & read)


def _is_unheard(reading: CheckedFile, name: str, changed: Collection[str]) -> bool:
    world, path = reading.world, reading.reader.module.path
    if name in _built_in_names():
        return False
    for other in world.snapshot.mentioning(name):
        if other != path and (other not in changed or name in _brought_about(world, other)):
            return False
    if any(f"{quote}{name}{quote}" in text for text in _own_texts(world, changed) for quote in "\"'"):
        return False
    installed = world.installed
    return not any(installed.mentions(one, name) for one in (*_packages(reading), *installed.library()))


def _own_texts(world: World, changed: Collection[str]) -> tuple[str, ...]:
    """Return the texts of the repository's other Python files, in which names may stand as strings."""
    paths = [path for path in world.snapshot.files if path.endswith(".py") and path not in changed]
    return world.derived("own texts", lambda: tuple(world.snapshot.text(path) or "" for path in paths[:_MOST_FILES]))


def _brought_about(world: World, path: str) -> set[str]:
    """Return the names that the file *path* brings about."""

    def read() -> set[str]:
        try:
            return _introduced(ast.walk(parse_python(world.text(path))))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return set[str]()

    return world.derived(("brought about", path), read)


def _packages(reading: CheckedFile) -> frozenset[str]:
    path = reading.reader.module.path
    return reading.world.derived(("packages", path), lambda: _imported_packages(reading.world, reading.reader.module))


def _imported_packages(world: World, module: CodeModule) -> frozenset[str]:
    """Return the packages that *module* imports, itself or by others of the repository, and those that these need."""
    found, waiting, seen = set[str](), [module], {module.path}
    while waiting:
        current = waiting.pop()
        for one in world.facts(current.path).imports if current.path else ():
            source = world.find(current, one.module, one.level)
            head = world.find(current, one.module.partition(".")[0]) if not one.level else None
            for each in filter(None, (source, head)):
                if not each.is_own:
                    found.update(world.installed.package_of(place) for place in (each.path, *each.folders) if place)
                elif each.path not in seen:
                    seen.add(each.path)
                    waiting.append(each)
    if not module.is_own:
        found.add(world.installed.package_of(module.path))
    return world.installed.reached_from(found - {""})


@cache
def _built_in_names() -> frozenset[str]:
    """Return the names that the types and modules compiled into Python have, by those of this one."""
    modules = [builtins, *(import_module(name) for name in sys.builtin_module_names)]
    found = {name for module in modules for name in dir(module)}
    types = [one for module in modules for one in _types_of(module)]
    return frozenset(found | {name for one in types for name in dir(one)})


def _types_of(module: ModuleType) -> Iterator[type]:
    return (one for one in vars(module).values() if isinstance(one, type))
