"""The places to which Python's import names lead in a repository: source roots, packages, namespace packages.

A *location* is a module's path without its suffix, or without ``/__init__.py``: ``src/shop/price``, ``src/shop``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

SOURCE_SUFFIXES = (".py", ".pyi")

_SOURCE_FOLDERS = frozenset({"src", "lib"})
"""Folders that hold packages without being one, by convention."""


@dataclass(frozen=True)
class ModuleTree:
    """Every module of a repository by its location."""

    files: Mapping[str, str]
    """The file of each location; a package's is its ``__init__``, and ``.py`` goes before ``.pyi``."""
    folders: frozenset[str]
    """The locations that have modules beneath them."""
    roots: Mapping[str, tuple[str, ...]]
    """The folders from which each first part of an import name can be imported."""


def module_tree(paths: Iterable[str]) -> ModuleTree:
    """Return the tree of the Python files among *paths*."""
    files: dict[str, str] = {}
    folders: set[str] = set()
    for path in sorted(paths, key=_precedence):
        files.setdefault(location_of(path), path)
        folders.update(_and_above(split_location(path)[0]))
    source_roots = {"", *_conventional_roots(files, folders), *_package_roots(files)}
    roots: dict[str, list[str]] = {}
    for location in sorted(files.keys() | folders):
        parent, name = split_location(location)
        if name and parent in source_roots:
            roots.setdefault(name, []).append(parent)
    return ModuleTree(files, frozenset(folders), {name: tuple(found) for name, found in roots.items()})


def location_of(path: str) -> str:
    """Return the location of the module in the file *path*."""
    stem = path.rpartition(".")[0] or path
    folder, name = split_location(stem)
    return folder if name == "__init__" else stem


def split_location(location: str) -> tuple[str, str]:
    """Return the folder and the last part of a location, or of a path."""
    folder, _, name = location.rpartition("/")
    return folder, name


def join_location(folder: str, name: str) -> str:
    """Return the location of *name*, which may be dotted, in *folder*."""
    return "/".join(part for part in (folder, *name.split(".")) if part)


def is_package(tree: ModuleTree, location: str) -> bool:
    """Return whether *location* is a folder with an ``__init__``."""
    return _is_init(tree.files.get(location, ""))


def exists(tree: ModuleTree, location: str) -> bool:
    """Return whether *location* is a module, a package or a namespace package."""
    return location in tree.files or location in tree.folders


def find_module(tree: ModuleTree, importer: str, module: str, level: int = 0) -> str | None:
    """Return the location that ``import module`` means in the file *importer*; None if it lies outside the repository.

    An absolute name is looked for in the source roots (the repository, ``src`` folders, parents of
    top-level packages), then in the folders above *importer*; a module goes before a namespace package,
    the nearest first.
    """
    folder = split_location(importer)[0]
    if level:
        above = _and_above(folder)
        location = join_location(above[level - 1], module) if level <= len(above) else None
        return location if location is not None and exists(tree, location) else None
    for root in _candidate_roots(tree, folder, module.partition(".")[0]):
        if exists(tree, location := join_location(root, module)):
            return location
    return None


def find_sibling(tree: ModuleTree, importer: str, module: str) -> str | None:
    """Return the location beside *importer*, inside a package, that ``import module`` means if it is run as a script.

    None where `find_module` has an answer, or the standard library.
    """
    folder = split_location(importer)[0]
    if not is_package(tree, folder) or module.partition(".")[0] in sys.stdlib_module_names:
        return None
    location = join_location(folder, module)
    return location if exists(tree, location) and find_module(tree, importer, module) is None else None


def module_names(tree: ModuleTree, path: str) -> tuple[str, ...]:
    """Return the dotted names by which the file *path* can be imported, the usual one first."""
    location = location_of(path)
    names: dict[str, str] = {}
    for root in _and_above(split_location(location)[0]):
        name = location.removeprefix(root).strip("/")
        if root in tree.roots.get(name.partition("/")[0], ()):
            names[root] = name.replace("/", ".")
    usual = _namespace_root(tree, list(names))
    return tuple(dict.fromkeys([*([names[usual]] if usual is not None else ()), *names.values()]))


def _namespace_root(tree: ModuleTree, roots: Sequence[str]) -> str | None:
    """Return the source folder among *roots*, nearest first, from which the nearest is reached by namespace packages.

    ``src`` of ``src/key_value/shared/__init__.py``, where ``src/key_value`` holds no module.
    """
    for root in roots[1:]:
        if split_location(root)[1] in _SOURCE_FOLDERS:
            between = set(_and_above(roots[0])) - set(_and_above(root))
            modules = (location for location, path in tree.files.items() if not _is_init(path))
            return None if any(split_location(location)[0] in between for location in modules) else root
    return None


def _precedence(path: str) -> tuple[bool, bool, str]:
    return not path.endswith(".py"), not _is_init(path), path


def _is_init(path: str) -> bool:
    return split_location(path)[1].partition(".")[0] == "__init__"


def _conventional_roots(files: Mapping[str, str], folders: set[str]) -> Iterable[str]:
    return (folder for folder in folders if split_location(folder)[1] in _SOURCE_FOLDERS and folder not in files)


def _package_roots(files: Mapping[str, str]) -> Iterable[str]:
    for location, path in files.items():
        parent = split_location(location)[0]
        if _is_init(path) and location and not _is_init(files.get(parent, "")):
            yield parent


def _candidate_roots(tree: ModuleTree, folder: str, first: str) -> Iterable[str]:
    known = tree.roots.get(first, ())
    if first in sys.stdlib_module_names:
        # The standard library goes before a folder that happens to share its name.
        return [
            root
            for root in known
            if (not root or split_location(root)[1] in _SOURCE_FOLDERS) and join_location(root, first) in tree.files
        ]

    def nearness(root: str) -> tuple[bool, int, int]:
        return join_location(root, first) not in tree.files, *_distance(root, folder)

    # A script finds its neighbours, and a test what stands in folders above it; a module in a package does not.
    above = (parent for parent in _and_above(folder) if not is_package(tree, parent))
    return (*sorted(known, key=nearness), *above)


def _and_above(folder: str) -> list[str]:
    """Return *folder* and those above it, nearest first, down to the repository itself, which is empty."""
    folders = [folder]
    while folder:
        folder = split_location(folder)[0]
        folders.append(folder)
    return folders


def _distance(root: str, folder: str) -> tuple[int, int]:
    """Return the distance between two folders: steps up from *folder*, then steps down to *root*."""
    left, right = [part for part in folder.split("/") if part], [part for part in root.split("/") if part]
    n_shared = 0
    while n_shared < min(len(left), len(right)) and left[n_shared] == right[n_shared]:
        n_shared += 1
    return len(left) - n_shared, len(right) - n_shared
