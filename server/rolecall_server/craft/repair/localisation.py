"""The functions that a failing test lays under suspicion, without a model: by what ran, the traceback and the graph."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from rolecall_analysis import (
    Definition,
    Position,
    Snapshot,
    callees,
    definitions_in,
    enclosing_definition,
    find_definition,
    is_conftest,
    is_test,
)
from rolecall_server.craft.history import name_of
from rolecall_server.craft.repair.failure_text import TracebackLine
from rolecall_server.craft.repair.spectrum import Place, Spectrum, ochiai
from rolecall_server.workspace import split_lines

_MAX_STEPS = 5
"""Calls from the test to a function that nothing saw run."""
_MAX_REACHED = 400
_POSSIBLE_STEP = 2.0
"""A call that is only possible is as far as two that are certain."""
_NOWHERE = 10**6
_FUNCTIONS = ("function", "method")
_RAISED, _NEAR, _SAID, _NAMED, _LACKS, _OF_MODULE = 0.5, 0.2, 0.3, 0.4, 0.3, 0.1
"""Weights beside what ran, which is worth 1 at most: of the frame that raised, of a call that the test makes itself, of
a name in the message, of a name in all failing tests and in no other, of a class or module in which a name is missing,
of the module that the test file is named after. Round numbers, compared with few others on 21 fixes; see
docs/craft.md."""
_MOST_NAMESAKES = 3
"""A name that more functions have says of none that it is meant."""
_SHOWS = frozenset({"__repr__", "__str__"})
"""Methods that a failing assertion calls to show its values, and a passing one does not."""
_NAME = re.compile(r"[A-Za-z_]\w{2,}")
_LACKING = re.compile(
    r"'([\w.]{1,400})' (?:object )?has no attribute|cannot import name '\w{1,200}' from '([\w.]{1,400})'"
)
"""A name is missing there: in a class, or in a module."""


@dataclass(frozen=True)
class Suspect:
    """A function that may be at fault."""

    path: str
    name: str
    """Dotted, within its file."""
    line: int
    """The line it begins at, from 1."""
    score: float
    """From 0 to 1, by what ran alone; 0 where nothing was seen to run it."""
    reasons: tuple[str, ...]
    """Each without its subject, the function: ``run by the failing test and by 2 of 40 that pass``."""

    @property
    def place(self) -> str:
        """``shop/price.py::Cart.total``"""
        return f"{self.path}::{self.name}"

    def __str__(self) -> str:
        return f"{self.path}:{self.line} {self.name} ({self.score:.2f}): {'; '.join(self.reasons)}"


def rank_suspects(
    snapshot: Snapshot,
    failing: Collection[str],
    spectrum: Spectrum,
    frames: Sequence[TracebackLine] = (),
    messages: Iterable[str] = (),
) -> tuple[Suspect, ...]:
    """Return the functions that may make the tests *failing* fail, the likeliest first.

    By Ochiai over *spectrum*, and by six weights beside it: how near a function is to where it was raised, how near to
    the tests by the graph, whether the *messages* of the failures name it or miss a name beside it, whether the tests
    name it where passing ones do not, whether their file is named after its module. Where nothing was seen to run,
    these alone say it. What only tests hold is never among them, nor a method that only shows a value.
    """
    messages, tests = [*messages], _written(snapshot, failing)
    files = {test.path for test in tests}
    others = _written(
        snapshot,
        [test for test in spectrum.passing if test.partition("::")[0] in files],
    )
    evidence = _Evidence(
        spectrum,
        _last_lines(snapshot, frames),
        _distances(snapshot, tests),
        frozenset(name for message in messages for name in _NAME.findall(message)),
        frozenset(place for message in messages for found in _LACKING.findall(message) for place in found if place),
        frozenset(_subject(path) for path in files),
        _names_in(snapshot, tests),
        _names_in(snapshot, others),
    )
    places = {*evidence.runs_failing, *evidence.raised, *evidence.distances}
    if not evidence.runs_failing:
        places |= _namesakes(snapshot, frozenset(evidence.said).union(*evidence.named))
    found = [one for place in places if (one := _definition(snapshot, place)) is not None]
    suspects = [(evidence.order(one), _suspect(one, evidence)) for one in found if evidence.counts(one)]
    return tuple(suspect for _, suspect in sorted(suspects, key=lambda pair: pair[0]))


def _namesakes(snapshot: Snapshot, names: Collection[str]) -> set[Place]:
    """Return the functions that are called by one of *names* which few others have."""
    found: dict[str, set[Place]] = {}
    for path in snapshot.files:
        for one in definitions_in(snapshot, path):
            if one.kind in _FUNCTIONS and _called_as(one) in names and not path.endswith(".pyi"):
                found.setdefault(_called_as(one), set()).add((path, one.qualified_name))
    return {place for places in found.values() if len(places) <= _MOST_NAMESAKES for place in places}


def _subject(path: str) -> str:
    """Return the name of the module that a test file is about by its own name; ``test_price.py``: ``price``."""
    return path.rpartition("/")[2].removesuffix(".py").removeprefix("test_").removesuffix("_test")


def _names_in(snapshot: Snapshot, tests: Iterable[Definition]) -> list[frozenset[str]]:
    """Return the names in each of *tests* as it is written."""
    lines: dict[str, Sequence[str]] = {}
    found: list[frozenset[str]] = []
    for test in tests:
        known = lines.setdefault(test.path, ()) or split_lines(snapshot.text(test.path) or "")
        lines[test.path] = known
        found.append(frozenset(_NAME.findall("".join(known[test.span.start.line : test.span.end.line + 1]))))
    return found


@dataclass(frozen=True)
class _Evidence:
    spectrum: Spectrum
    raised: Mapping[Place, tuple[int, int]]
    """The functions of the traceback: how many calls before the last each is, and its line."""
    distances: Mapping[Place, tuple[float, tuple[str, ...]]]
    """The number of calls from the test to each function by the graph, and the functions between."""
    said: Collection[str]
    """The names in the messages of the failures."""
    lacking: Collection[str]
    """The classes and modules in which a name is missing by the messages."""
    subjects: Collection[str]
    """The modules that the files of the failing tests are named after."""
    named: Sequence[Collection[str]]
    """The names in each of the failing tests as they are written."""
    named_by_others: Sequence[Collection[str]]
    """The same of the passing tests in these files."""

    @cached_property
    def runs_failing(self) -> Mapping[Place, int]:
        """Return how many failing tests run each function."""
        return Counter(place for places in self.spectrum.failing.values() for place in places)

    @cached_property
    def runs_passing(self) -> Mapping[Place, int]:
        """Return how many passing tests run each function."""
        return Counter(place for places in self.spectrum.passing.values() for place in places)

    def score(self, place: Place) -> float:
        ran = (
            self.runs_failing.get(place, 0),
            len(self.spectrum.failing),
            self.runs_passing.get(place, 0),
        )
        return ochiai(*ran)

    def order(self, one: Definition) -> tuple[float, int, float, str, int]:
        place = one.path, one.qualified_name
        before_last = self.raised.get(place, (_NOWHERE, 0))[0]
        distance = self.distances.get(place, (_NOWHERE, ()))[0]
        return (
            -round(self.weight(one), 9),
            before_last,
            distance,
            one.path,
            one.span.start.line,
        )

    def counts(self, one: Definition) -> bool:
        """Return whether *one* may be at fault, and does not only show values of a test that failed."""
        return one.name not in _SHOWS or (one.path, one.qualified_name) in self.raised

    def weight(self, one: Definition) -> float:
        """Return how much speaks against *one*; greater is likelier."""
        place = one.path, one.qualified_name
        weight = self.score(place) + _NAMED * self.naming(one) + _SAID * self.is_said(one) + _LACKS * self.lacks(one)
        weight += _OF_MODULE * (_module(one) in self.subjects)
        if place in self.raised:
            weight += _RAISED / (1 + self.raised[place][0])
        if place in self.distances:
            weight += _NEAR / max(self.distances[place][0], 1)
        return weight

    def is_said(self, one: Definition) -> bool:
        return _called_as(one) in self.said

    def lacks(self, one: Definition) -> bool:
        """Return whether a name is missing in the class or the module that holds *one*."""
        dotted = one.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        return one.scope.rpartition(".")[2] in self.lacking or any(
            "." in place and f".{dotted}".endswith(f".{place}") for place in self.lacking
        )

    def naming(self, one: Definition) -> float:
        """Return how much failing tests name *one* and passing ones beside them do not, from 0 to 1."""
        name = _called_as(one)
        n_failing, n_passing = (sum(name in names for names in each) for each in (self.named, self.named_by_others))
        return ochiai(n_failing, len(self.named), n_passing)


def _module(one: Definition) -> str:
    return one.path.rpartition("/")[2].removesuffix(".py").strip("_")


def _called_as(one: Definition) -> str:
    """Return the name by which code calls *one*: that of the class where it makes an object."""
    return one.scope.rpartition(".")[2] if one.name == "__init__" else one.name


def _definition(snapshot: Snapshot, place: Place) -> Definition | None:
    """Return the function at *place*; ``None`` where it is no function any more, or one that only tests hold."""
    path, name = place
    if is_test(snapshot, path) or is_conftest(path):
        return None
    found = find_definition(snapshot, path, name)
    return found if found is not None and found.kind in _FUNCTIONS else None


def _last_lines(snapshot: Snapshot, frames: Sequence[TracebackLine]) -> dict[Place, tuple[int, int]]:
    found: dict[Place, tuple[int, int]] = {}
    for before_last, frame in enumerate(reversed(frames)):
        around = enclosing_definition(snapshot, frame.path, Position(frame.line - 1, 0))
        if around is not None and around.kind in _FUNCTIONS:
            found.setdefault((frame.path, around.qualified_name), (before_last, frame.line))
    return found


def _distances(snapshot: Snapshot, tests: Iterable[Definition]) -> dict[Place, tuple[float, tuple[str, ...]]]:
    """Return how many calls each function is from one of *tests*, and by which others; the nearest."""
    found: dict[Place, tuple[float, tuple[str, ...]]] = {}
    pending: list[tuple[Definition, float, tuple[str, ...]]] = [(test, 0.0, ()) for test in tests]
    for caller, distance, way in pending:  # grows as it goes
        for one, is_certain in _called(snapshot, caller) if distance < _MAX_STEPS else ():
            place, further = (
                (one.path, one.qualified_name),
                distance + (1 if is_certain else _POSSIBLE_STEP),
            )
            if found.get(place, (_NOWHERE, ()))[0] <= further or len(found) >= _MAX_REACHED:
                continue
            found[place] = further, way
            pending.append((one, further, (*way, one.name)))
    return found


def _called(snapshot: Snapshot, caller: Definition) -> Iterator[tuple[Definition, bool]]:
    """Yield the functions that *caller* calls, each with whether that is certain.

    Of a class that it makes an object of, those methods that it names may be called as well.
    """
    reached = callees(snapshot, caller)
    named = _names_called(snapshot, caller)
    for callee in reached:
        one = callee.definition
        if one.kind in _FUNCTIONS:
            yield one, callee.certain
        holder = one.qualified_name if one.kind == "class" else one.scope if one.name == "__init__" else ""
        for method in definitions_in(snapshot, one.path) if holder else ():
            if method.scope == holder and method.kind == "method" and method.name in named:
                yield method, False


def _names_called(snapshot: Snapshot, caller: Definition) -> set[str]:
    """Return the last parts of what *caller* calls, whatever they lead to."""
    start, end = caller.span.start, caller.span.end
    calls = snapshot.files[caller.path].calls
    return {call.callee.rpartition(".")[2] for call in calls if start <= call.span.start and call.span.end <= end}


def _written(snapshot: Snapshot, failing: Collection[str]) -> list[Definition]:
    """Return the definitions of the tests *failing*; of a file that could not be collected those of all its tests."""
    found: list[Definition] = []
    for test in dict.fromkeys(map(name_of, failing)):
        path, _, name = test.partition("::")
        wanted = name.replace("::", ".")
        found += [one for one in definitions_in(snapshot, path) if one.qualified_name == wanted or not wanted]
    return [one for one in found if one.kind in _FUNCTIONS]


def _suspect(one: Definition, evidence: _Evidence) -> Suspect:
    place = one.path, one.qualified_name
    said = [
        *_said_by_runs(place, evidence),
        *_said_by_traceback(place, evidence),
        *_said_by_graph(place, evidence),
    ]
    if evidence.is_said(one):
        said.append("the message of the failure names it")
    if evidence.lacks(one):
        said.append("the message says that a name is missing in it, or beside it")
    return Suspect(*place, one.span.start.line + 1, round(evidence.score(place), 4), tuple(said))


def _said_by_runs(place: Place, evidence: _Evidence) -> list[str]:
    n_failing = evidence.runs_failing.get(place, 0)
    if not n_failing:
        return []
    all_failing, all_passing = (
        len(evidence.spectrum.failing),
        len(evidence.spectrum.passing),
    )
    who = "the failing test" if all_failing == 1 else f"{n_failing} of {all_failing} failing tests"
    n_passing = evidence.runs_passing.get(place, 0)
    others = f" and by {n_passing or 'none'} of {all_passing:,} that pass" if all_passing else ""
    return [f"run by {who}{others}"]


def _said_by_traceback(place: Place, evidence: _Evidence) -> list[str]:
    if place not in evidence.raised:
        return []
    before_last, line = evidence.raised[place]
    return [f"it was raised there, in line {line}" if not before_last else f"on the way to the error, in line {line}"]


def _said_by_graph(place: Place, evidence: _Evidence) -> list[str]:
    if place not in evidence.distances:
        return []
    distance, way = evidence.distances[place]
    through = f" through {' and '.join(way)}" if way else ""
    return [f"the test {'calls' if distance <= len(way) + 1 else 'may call'} it{through}"]
