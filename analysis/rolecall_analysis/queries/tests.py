"""Which tests exercise what."""

from __future__ import annotations

from itertools import chain

from rolecall_analysis.exports import import_targets
from rolecall_analysis.modules import location_of, split_location
from rolecall_analysis.queries.candidates import candidates
from rolecall_analysis.queries.definitions import definitions_in
from rolecall_analysis.queries.importers import importers
from rolecall_analysis.resolve import resolve
from rolecall_analysis.snapshot import Snapshot
from rolecall_analysis.values import Definition, FileFacts


def tests_of(snapshot: Snapshot, path: str) -> tuple[str, ...]:
    """The test files that import the module *path*, or use one of its names through another module.

    ``test_<stem>`` comes first, then those that import it directly, then the nearest.
    """
    direct = {other for other in importers(snapshot, path) if is_test_path(other)}
    names = frozenset(d.name for d in definitions_in(snapshot, path) if not d.scope)
    found = direct | {
        facts.path
        for facts in candidates(snapshot, names)
        if is_test_path(facts.path) and facts.path not in direct and _reaches(snapshot, facts, path, names)
    }
    stem = split_location(location_of(path))[1]

    def nearness(other: str) -> tuple[bool, bool, bool, str]:
        name = split_location(location_of(other))[1]
        own = name in {f"test_{stem}", f"{stem}_test"}
        return not own, stem not in other, other not in direct, other

    return tuple(sorted(found - {path}, key=nearness))


def is_test_path(path: str) -> bool:
    """Whether pytest, unittest or Django would collect the file by its name."""
    name = split_location(path)[1]
    if not name.endswith(".py"):
        return False
    stem = name.removesuffix(".py")
    return stem.startswith("test_") or stem.endswith("_test") or stem in {"test", "tests"}


def _reaches(snapshot: Snapshot, facts: FileFacts, path: str, names: frozenset[str]) -> bool:
    """Whether the file names one of *names*, top-level in the module *path*, whichever way it came by it."""
    imported = (
        target for one in facts.imports if one.name in names for target in import_targets(snapshot, facts.path, one)
    )
    read = (
        target
        for reference in facts.references
        if not names.isdisjoint(reference.name.split("."))
        for target in resolve(snapshot, facts.path, reference.scope, reference.name).targets
    )
    return any(isinstance(target, Definition) and target.path == path for target in chain(imported, read))
