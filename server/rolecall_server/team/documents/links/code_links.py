"""References from documents to code, looked up in the code graph: what does not exist, and what does already."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from rolecall_analysis import Definition, Snapshot, definitions_in, find_definition
from rolecall_analysis.queries.symbols import definitions_named
from rolecall_server.team.documents.checking import Review, TestPlan
from rolecall_server.team.documents.design import Design
from rolecall_server.team.documents.document import Content, Document
from rolecall_server.team.documents.tasks import ChangePlan, TaskList

MAX_NEAREST = 3
_MOST_LOOKED_FOR = 30
"""References for which all names are gone through; a document with more that lead nowhere has another fault."""


@dataclass(frozen=True)
class Dangling:
    """A reference that does not lead where its document says."""

    reference: str
    """``path`` or ``path::Name``, as written."""
    what: str
    nearest: tuple[str, ...] = ()
    """The names that may be meant, likeliest first."""

    def __str__(self) -> str:
        return self.what + (f"; is it {' or '.join(self.nearest)}?" if self.nearest else "")


def unresolved(
    document: Document,
    snapshot: Snapshot,
    others: Iterable[Document] = (),
    file_exists: Callable[[str], bool] = lambda path: False,
    accepted: Collection[str] = (),
) -> tuple[Dangling, ...]:
    """Return the references of *document* that do not hold, in order.

    What any document of the run declares new may be named; in the design itself it must not exist yet, but in files
    that the run has *accepted* changes of. *file_exists* is asked about files that the graph does not read.
    """

    def is_file(path: str) -> bool:
        return path in snapshot.files or file_exists(path)

    content = document.content
    declared = {name for each in (document, *others) for name in declared_new(each.content)}
    early = _already_there(content, snapshot, is_file)
    found = [one for one in early if one.reference.partition("::")[0] not in accepted]
    n_early = len(found)
    for reference in dict.fromkeys(_references(content)):
        path, _, name = reference.partition("::")
        if reference in declared or (path in declared and path not in snapshot.files):
            continue
        if not is_file(path):
            found.append(Dangling(reference, f"{path} does not exist"))
        elif name and path in snapshot.files and find_definition(snapshot, path, name) is None:
            found.append(Dangling(reference, f"{path} defines no {name}"))
    end = n_early + _MOST_LOOKED_FOR
    near = [replace(one, nearest=_nearest(snapshot, one.reference, is_file)) for one in found[n_early:end]]
    return (*found[:n_early], *near, *found[end:])


def declared_new(content: Content) -> frozenset[str]:
    """Return the files and symbols that *content* says are to be added, and the tests that are to be written."""
    if isinstance(content, Design):
        return frozenset((*(f.path for f in content.files_to_add), *(s.symbol for s in content.symbols_to_add)))
    if isinstance(content, TestPlan):
        tests = [case.test for case in content.cases if case.test]
        return frozenset((*tests, *(test.partition("::")[0] for test in tests)))
    return frozenset()


def definition_of(snapshot: Snapshot, reference: str) -> Definition | None:
    """Return the definition that ``path::Name`` names; ``None`` where nothing is, and for a bare path."""
    path, _, name = reference.partition("::")
    return find_definition(snapshot, path, name) if name else None


def is_there(snapshot: Snapshot, file_exists: Callable[[str], bool], reference: str) -> bool:
    """Return whether the file or the symbol exists that *reference* names, ``path`` or ``path::Name``."""
    return definition_of(snapshot, reference) is not None if "::" in reference else file_exists(reference)


def _already_there(content: Content, snapshot: Snapshot, is_file: Callable[[str], bool]) -> Iterator[Dangling]:
    if not isinstance(content, Design):
        return
    for each in content.files_to_add:
        if is_file(each.path):
            yield Dangling(each.path, f"{each.path} is to be added, but exists")
    for each in content.symbols_to_add:
        if definition_of(snapshot, each.symbol) is not None:
            yield Dangling(each.symbol, f"{each.symbol} is to be added, but exists")


def _references(content: Content) -> Iterator[str]:
    """Yield the code that *content* takes to exist, or to be declared new."""
    match content:
        case Design():
            yield from (each.path for each in content.files_to_change)
            yield from (each.symbol for each in content.symbols_to_change)
            added = {each.path for each in content.files_to_add}
            for each in content.symbols_to_add:
                path = each.symbol.partition("::")[0]
                yield from () if path in added else (path,)
        case TaskList():
            for task in content.tasks:
                yield from (*task.files, *task.symbols)
        case ChangePlan():
            yield from (step.code for step in content.steps)
            yield from (each.path for each in content.files_outside_the_design)
        case TestPlan():
            yield from (case.target for case in content.cases if case.target)
        case Review():
            yield from (finding.file for finding in content.findings)
        case _:
            pass


def _nearest(snapshot: Snapshot, reference: str, is_file: Callable[[str], bool]) -> tuple[str, ...]:
    """Return what may be meant by a reference that leads nowhere, likeliest first."""
    path, _, name = reference.partition("::")
    if is_file(path):
        return _nearest_names(snapshot, path, name)
    return _nearest_paths(snapshot, path) or _nearest_elsewhere(snapshot, name)


def _nearest_names(snapshot: Snapshot, path: str, name: str) -> tuple[str, ...]:
    """Symbols that may be meant by *name*: of that name in another class or file, or spelt alike in this one."""
    last = name.rpartition(".")[2]
    here = [each.qualified_name for each in definitions_in(snapshot, path)]
    same = [each for each in here if each.rpartition(".")[2] == last]
    alike = difflib.get_close_matches(name, here, MAX_NEAREST)
    found = [f"{path}::{each}" for each in (*same, *alike)]
    return tuple(dict.fromkeys((*found, *_nearest_elsewhere(snapshot, name))))[:MAX_NEAREST]


def _nearest_elsewhere(snapshot: Snapshot, name: str) -> tuple[str, ...]:
    same = definitions_named(snapshot, name.rpartition(".")[2]) if name else ()
    return tuple(f"{each.path}::{each.qualified_name}" for each in same[:MAX_NEAREST])


def _nearest_paths(snapshot: Snapshot, path: str) -> tuple[str, ...]:
    """Files that may be meant by *path*: of the same name elsewhere, or spelt alike."""
    name = PurePosixPath(path).name
    same = [each for each in snapshot.files if PurePosixPath(each).name == name]
    same.sort(key=lambda each: -difflib.SequenceMatcher(None, path, each).ratio())
    alike = difflib.get_close_matches(path, snapshot.files, MAX_NEAREST, 0.85)
    return tuple(dict.fromkeys((*same, *alike)))[:MAX_NEAREST]
