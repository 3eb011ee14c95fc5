"""The tests that exercise something, those to run for a change, best first, and why each: by calls, imports and
fixtures.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import log1p

from rolecall_analysis.modules import location_of, split_location
from rolecall_analysis.queries.candidates import candidates
from rolecall_analysis.queries.collection import is_conftest, is_test, is_test_function
from rolecall_analysis.queries.definitions import definitions_in
from rolecall_analysis.queries.impact import Dependent, ImpactStep, impact
from rolecall_analysis.queries.importers import importers
from rolecall_analysis.resolution.exports import import_targets
from rolecall_analysis.resolution.names import resolve
from rolecall_analysis.snapshot import Snapshot
from rolecall_analysis.values import Definition, FileFacts

_MAX_STEPS = 8
_MAX_DEPENDENTS = 2_000
"""Beyond this many callers of callers the imports, which are followed to the end, tell as much."""
_CHANGED = 100.0
_POSSIBLE = 0.5
"""A step that is only possible leaves this share of the weight of a way; each further step halves it too."""
_SIZE = 0.2
"""The weight of the logarithm of the number of tests in a file: of two files the larger fails more often."""

_NOTHING: tuple[Dependent, ...] = ()


@dataclass(frozen=True, slots=True)
class SelectedTests:
    """A test file that a change may make fail."""

    path: str
    score: float
    """The likelihood, against the others of the same selection."""
    reason: str
    """A sentence without its subject, the file: ``test_view calls total, through checkout``."""
    steps: tuple[ImpactStep, ...] = ()
    """From what changed to the test; empty where it does not call it."""
    tests: tuple[str, ...] = ()
    """Those of its tests that earlier runs saw run what changed, likeliest first; the graph itself knows of none."""

    @property
    def certain(self) -> bool:
        """Return whether a test in the file calls what changed, and every binding on the way there could be
        followed.
        """
        return bool(self.steps) and all(step.certain for step in self.steps)


def select_tests(snapshot: Snapshot, changed: Iterable[Definition | str]) -> tuple[SelectedTests, ...]:
    """Return the test files that the *changed* definitions, or files, may make fail, likeliest first.

    A file counts where one of its functions calls what changed, by other functions and fixtures too, or where it
    imports the changed file, by other files and by the ``conftest.py`` files above it too.
    """
    origins = tuple(changed)
    files = tuple(dict.fromkeys(one if isinstance(one, str) else one.path for one in origins))
    found = impact(snapshot, origins, max_steps=_MAX_STEPS, limit=_MAX_DEPENDENTS)
    calling: dict[str, list[Dependent]] = {}
    for dependent in found.dependents:
        if is_test(snapshot, dependent.path):
            calling.setdefault(dependent.path, []).append(dependent)
    ways = _import_ways(snapshot, files)
    paths = {*calling, *(path for path in ways if is_test(snapshot, path))}
    selected = (_selected(snapshot, path, files, calling.get(path, _NOTHING), ways) for path in paths)
    return tuple(sorted(selected, key=lambda one: (-one.score, one.path)))


def _import_ways(snapshot: Snapshot, files: Iterable[str]) -> dict[str, str]:
    """Return each file that imports one of *files*, at any distance, and the file by which it does so;
    nearest first.
    """
    ways = dict.fromkeys(files, "")
    pending = list(ways)
    for path in pending:
        for other in (*importers(snapshot, path), *_below_conftest(snapshot, path)):
            if other not in ways:
                ways[other] = path
                pending.append(other)
    return ways


def _below_conftest(snapshot: Snapshot, path: str) -> Iterable[str]:
    """Return the test files for which pytest imports the ``conftest.py`` at *path*."""
    if not is_conftest(path):
        return ()
    folder = path.removesuffix("conftest.py")
    return [other for other in snapshot.files if other.startswith(folder) and is_test(snapshot, other)]


def _selected(
    snapshot: Snapshot, path: str, files: Sequence[str], calling: Sequence[Dependent], ways: Mapping[str, str]
) -> SelectedTests:
    if path in files:
        return SelectedTests(path, _CHANGED, "is changed itself")
    n_tests = sum(is_test_function(definition) for definition in definitions_in(snapshot, path))
    way = _way(path, ways)
    score = (
        log1p(sum(_weight(dependent) for dependent in calling))
        + max(_likeness(path, file) for file in files)
        + (1 / len(way) if way else 0)
        + _SIZE * log1p(n_tests)
    )
    if calling:
        best = max(calling, key=_weight)
        return SelectedTests(path, score, _describe_calls(best, len(calling)), best.steps)
    through = f", through {' and '.join(way[1:-1][-2:])}" if way[1:-1] else ""
    return SelectedTests(path, score, f"imports {way[0]}{through}")


def _weight(dependent: Dependent) -> float:
    """Return the weight of one way from a test to what changed."""
    n_possible = sum(not step.certain for step in dependent.steps)
    return 0.5 ** (len(dependent.steps) - 1) * _POSSIBLE**n_possible


def _likeness(path: str, file: str) -> int:
    """Return the likeness of the name of the test file *path* to that of *file*, which it may be for: 2 for
    ``test_price.py`` of ``price.py``.
    """
    # `test_price.py` is for `_price.py` too.
    name, stem = split_location(location_of(path))[1], split_location(location_of(file))[1].strip("_")
    return 2 if name in {f"test_{stem}", f"{stem}_test"} else int(bool(stem) and stem in name)


def _way(path: str, ways: Mapping[str, str]) -> list[str]:
    """Return the files from a changed one to *path*, each imported by the next; empty where there is no such way."""
    way = [path] if path in ways else []
    while way and ways[way[0]]:
        way.insert(0, ways[way[0]])
    return way


def _describe_calls(best: Dependent, n_calling: int) -> str:
    """``test_view calls total, through checkout; so do 3 more``."""
    origin = best.origin if isinstance(best.origin, str) else best.origin.qualified_name
    names = [step.definition.qualified_name if step.definition else step.path for step in best.steps]
    who = names[-1] if best.definition is not None else "its own code"
    verb = "uses" if isinstance(best.origin, str) else "calls" if best.certain else "may call"
    through = f", through {' and '.join(names[-2::-1][:2])}" if names[:-1] else ""
    further = f"; so do {n_calling - 1} more" if n_calling > 1 else ""
    return f"{who} {verb} {origin}{through}{further}"


def tests_of(snapshot: Snapshot, path: str) -> tuple[str, ...]:
    """Return the test files that import the module *path*, or use one of its names through another module.

    ``test_<stem>`` comes first, then those that import it directly, then the nearest.
    """
    direct = {other for other in importers(snapshot, path) if is_test(snapshot, other)}
    names = frozenset(d.name for d in definitions_in(snapshot, path) if not d.scope)
    found = direct | {
        facts.path
        for facts in candidates(snapshot, names)
        if is_test(snapshot, facts.path) and facts.path not in direct and _reaches(snapshot, facts, path, names)
    }
    stem = split_location(location_of(path))[1]

    def nearness(other: str) -> tuple[bool, bool, bool, str]:
        name = split_location(location_of(other))[1]
        own = name in {f"test_{stem}", f"{stem}_test"}
        return not own, stem not in other, other not in direct, other

    return tuple(sorted(found - {path}, key=nearness))


def _reaches(snapshot: Snapshot, facts: FileFacts, path: str, names: frozenset[str]) -> bool:
    """Return whether the file names one of *names*, at the top of the module *path*, however the file gets the name."""
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
