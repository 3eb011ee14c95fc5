"""Search by words over the symbols of the repository and of what is installed: names, headers and docstrings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rolecall_analysis.installed.search_path import CodeModule
from rolecall_analysis.installed.world import World
from rolecall_analysis.modules import module_names
from rolecall_analysis.retrieval.bm25 import FUNCTION_DISCOUNT, bm25, said
from rolecall_analysis.retrieval.words import terms
from rolecall_analysis.snapshot import is_python
from rolecall_analysis.values import Definition, FileFacts

_NAME_WEIGHT = 4
"""So many times a word of a name counts, where one of a docstring counts once."""


@dataclass(frozen=True, slots=True)
class FoundSymbol:
    """A symbol that some words are about."""

    name: str
    """Dotted in full, by the shortest name under which its package offers it."""
    definition: Definition
    score: float


def packages_of(world: World) -> tuple[CodeModule, ...]:
    """Return the installed packages that the repository's Python files import, by their names; without Python's own."""
    library = world.installed.library()
    found: dict[str, CodeModule] = {}
    for path in filter(is_python, world.snapshot.files):
        importer = world.module_at(path)
        for one in world.snapshot.files[path].imports if importer.path else ():
            head = world.find(importer, one.module.partition(".")[0]) if not one.level and one.module else None
            if head is not None and not head.is_own and not _is_library(head, library):
                found[head.name] = head
    return tuple(found[name] for name in sorted(found))


def search_symbols(world: World, words: str, packages: Sequence[CodeModule], *, own: bool = True) -> list[FoundSymbol]:
    """Return the public symbols of *packages*, and of the repository if *own*, that *words* are about, best first."""
    documents = list(_documents(world, packages, own))
    query = said(terms(words))
    occurrences: dict[str, dict[int, int]] = {term: {} for term in query}
    lengths: dict[int, int] = {}
    for number, (name, definition) in enumerate(documents):
        counts = Counter(terms(f"{definition.signature}\n{definition.docstring}"))
        for term in terms(name):
            counts[term] += _NAME_WEIGHT
        lengths[number] = sum(counts.values())
        for term in query.keys() & counts.keys():
            occurrences[term][number] = counts[term]
    scores = bm25(query, occurrences, lengths, len(documents), FUNCTION_DISCOUNT)
    found = [FoundSymbol(*documents[number], score) for number, score in scores.items()]
    return sorted(found, key=lambda one: (-one.score, one.name))


def _documents(world: World, packages: Iterable[CodeModule], own: bool) -> Iterator[tuple[str, Definition]]:
    seen = set[Definition]()
    for package in packages:
        for name, definition in _offered(world, package):
            if definition not in seen:
                seen.add(definition)
                yield name, definition
    for path in filter(is_python, world.snapshot.files if own else ()):
        names = module_names(world.snapshot.modules, path)
        for one in _public(world.snapshot.files[path]):
            yield ".".join([*names[:1], one.qualified_name]), one


def _offered(world: World, package: CodeModule) -> Iterator[tuple[str, Definition]]:
    """Yield the public symbols of *package* with their names, those that are offered under short names first."""
    modules = [one for one in world.installed.modules_below(package) if one.path]
    for module in sorted(modules, key=lambda one: (_is_private(one.name), one.name.count("."), one.name)):
        for name in world.names_of(module):
            held = world.member(module, name)
            for thing in held.things:
                if isinstance(thing, Definition) and _holds(package, thing.path):
                    yield from _with_members(world.facts(thing.path), f"{module.name}.{name}", thing)


def _with_members(facts: FileFacts, name: str, definition: Definition) -> Iterator[tuple[str, Definition]]:
    yield name, definition
    if definition.kind == "class":
        for one in _public(facts):
            if one.scope == definition.qualified_name:
                yield f"{name}.{one.name}", one


def _public(facts: FileFacts) -> Iterator[Definition]:
    """Yield the classes, functions and methods of a file that anybody may use."""
    classes = {one.qualified_name for one in facts.definitions if one.kind == "class"} | {""}
    return (
        one
        for one in facts.definitions
        if one.scope in classes and one.kind != "variable" and not _is_private(one.qualified_name)
    )


def _is_private(dotted: str) -> bool:
    return any(part.startswith("_") for part in dotted.split("."))


def _holds(package: CodeModule, path: str) -> bool:
    return path == package.path or any(path.startswith(f"{folder}/") for folder in package.folders)


def _is_library(package: CodeModule, library: Iterable[str]) -> bool:
    """Return whether *package* comes with Python; what is installed lies in a folder of its own below."""
    place = (package.folders or (package.path,))[0].rpartition("/")[0]
    return not place or place in library
