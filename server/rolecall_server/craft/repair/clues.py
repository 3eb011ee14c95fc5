"""The clues to functions that make tests fail, with their weights: what ran, was raised, was said, is near or alike."""

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
from rolecall_server.craft.repair.failure_text import SeenFailure, TracebackLine
from rolecall_server.craft.repair.spectrum import Place, Spectrum, ochiai
from rolecall_server.craft.repair.wording import likeness
from rolecall_server.workspace import split_lines

_MAX_STEPS = 5
"""Calls from the test to a function that nothing saw run."""
_MAX_REACHED = 400
_POSSIBLE_STEP = 2.0
"""A call that is only possible is as far as two that are certain."""
_NOWHERE = 10**6
_FUNCTIONS = ("function", "method")
_RAISED, _WORDS, _NAMED, _SAID, _LACKS, _NEAR, _OF_MODULE = 1.0, 0.7, 0.4, 0.3, 0.3, 0.2, 0.1
"""Weights beside what ran, which is worth 1 at most: of the frame that raised, of the words that are most like those of
the failing tests, of a name in all failing tests and in no other, of a name in the message, of a class or module in
which a name is missing, of a call that the test makes itself, of the module that the test file is named after. Round
numbers, compared with few others on 21 fixes and 30 of other repositories; see docs/craft.md."""
_MOST_NAMESAKES = 3
"""A name that more functions have says of none that it is meant."""
_SHOWS = frozenset({"__repr__", "__str__"})
"""Methods that a failing assertion calls to show its values, and a passing one does not."""
_NAME = re.compile(r"[A-Za-z_]\w{2,}")
_WHERE = re.compile(r"^\+ {1,8}(?:where|and) (.{1,600})$", re.MULTILINE)
"""The call that a value in an assertion came from, as pytest tells it."""
_LACKING = re.compile(
    r"'([\w.]{1,400})' (?:object )?has no attribute|cannot import name '\w{1,200}' from '([\w.]{1,400})'"
)
"""A name is missing there: in a class, or in a module."""


@dataclass(frozen=True)
class Clues:
    """The evidence for and against each function where some failures happen."""

    snapshot: Snapshot
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
    tests: Sequence[str]
    """The failing tests as they are written."""
    texts_of_others: Sequence[str]
    """The passing tests in these files as they are written."""
    told: Sequence[str]
    """The same of the failing tests with what was said of each failure."""

    @cached_property
    def named(self) -> Sequence[frozenset[str]]:
        """Return the names in each of the failing tests."""
        return [frozenset(_NAME.findall(text)) for text in self.tests]

    @cached_property
    def named_by_others(self) -> Sequence[frozenset[str]]:
        """Return the names in each of the passing tests beside them."""
        return [frozenset(_NAME.findall(text)) for text in self.texts_of_others]

    @cached_property
    def runs_failing(self) -> Mapping[Place, int]:
        """Return how many failing tests run each function."""
        return Counter(place for places in self.spectrum.failing.values() for place in places)

    @cached_property
    def runs_passing(self) -> Mapping[Place, int]:
        """Return how many passing tests run each function."""
        return Counter(place for places in self.spectrum.passing.values() for place in places)

    def score(self, place: Place) -> float:
        """Return how much a function is run by failing tests and not by passing ones, from 0 to 1."""
        ran = (
            self.runs_failing.get(place, 0),
            len(self.spectrum.failing),
            self.runs_passing.get(place, 0),
        )
        return ochiai(*ran)

    @cached_property
    def suspected(self) -> Sequence[Definition]:
        """Return all functions that may be at fault, the likeliest first."""
        return sorted(self._found, key=self._order)

    @cached_property
    def _found(self) -> Sequence[Definition]:
        places = {*self.runs_failing, *self.raised, *self.distances}
        if not self.runs_failing:
            places |= _namesakes(self.snapshot, frozenset(self.said).union(*self.named))
        found = (one for place in places if (one := _definition(self.snapshot, place)) is not None)
        return [one for one in found if self._counts(one)]

    @cached_property
    def likeness(self) -> Mapping[Place, float]:
        """Return how much of the words of each function speaks of the failures, from 0 to 1."""
        return likeness(self.snapshot, self._found, self.told, self.texts_of_others)

    def _order(self, one: Definition) -> tuple[float, int, float, str, int]:
        place = one.path, one.qualified_name
        before_last = self.raised.get(place, (_NOWHERE, 0))[0]
        distance = self.distances.get(place, (_NOWHERE, ()))[0]
        # Rounded: a difference that comes from adding floats in another order must not decide.
        return -round(self._weight(one), 9), before_last, distance, one.path, one.span.start.line

    def _counts(self, one: Definition) -> bool:
        """Return whether *one* may be at fault, and does not only show values of a test that failed."""
        return one.name not in _SHOWS or (one.path, one.qualified_name) in self.raised

    def _weight(self, one: Definition) -> float:
        """Return how much speaks against *one*; greater is likelier."""
        place = one.path, one.qualified_name
        weight = self.score(place) + _NAMED * self._naming(one) + _SAID * self.is_said(one) + _LACKS * self.lacks(one)
        weight += _OF_MODULE * (_module(one) in self.subjects) + _WORDS * self.likeness.get(place, 0.0)
        if place in self.raised:
            weight += _RAISED / (1 + self.raised[place][0])
        if place in self.distances:
            weight += _NEAR / max(self.distances[place][0], 1)
        return weight

    def is_said(self, one: Definition) -> bool:
        """Return whether a message names *one*."""
        return _called_as(one) in self.said

    def lacks(self, one: Definition) -> bool:
        """Return whether a name is missing in the class or the module that holds *one*."""
        dotted = one.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        return one.scope.rpartition(".")[2] in self.lacking or any(
            "." in place and f".{dotted}".endswith(f".{place}") for place in self.lacking
        )

    def _naming(self, one: Definition) -> float:
        """Return how much failing tests name *one* and passing ones beside them do not, from 0 to 1."""
        name = _called_as(one)
        n_failing, n_passing = (sum(name in names for names in each) for each in (self.named, self.named_by_others))
        return ochiai(n_failing, len(self.named), n_passing)


def clues_of(snapshot: Snapshot, failures: Sequence[SeenFailure], spectrum: Spectrum) -> Clues:
    """Return what *failures* and what ran in them say of functions."""
    wanted = {name_of(one.test) for one in failures}
    tests = _written(snapshot, [one.test for one in failures if one.test])
    files = {test.path for test in tests}
    others = _written(snapshot, [test for test in spectrum.passing if test.partition("::")[0] in files])
    messages = [text for one in failures for text in (one.message, *_WHERE.findall(one.explained))]
    texts = _texts_of(snapshot, tests)
    return Clues(
        snapshot,
        Spectrum({test: ran for test, ran in spectrum.failing.items() if test in wanted}, spectrum.passing),
        _last_lines(snapshot, [frames for one in failures for frames in one.tracebacks]),
        _distances(snapshot, tests),
        frozenset(name for message in messages for name in _NAME.findall(message)),
        frozenset(place for message in messages for found in _LACKING.findall(message) for place in found if place),
        frozenset(_subject(path) for path in files),
        texts,
        _texts_of(snapshot, others),
        [*_told(tests, texts, failures)],
    )


def _told(tests: Sequence[Definition], texts: Sequence[str], failures: Sequence[SeenFailure]) -> Iterator[str]:
    """Yield the text of each of *tests* with what was said of it; where there is no test what was said."""
    said: dict[str, list[str]] = {}
    for one in failures:
        said.setdefault(name_of(one.test), []).append(f"{one.message}\n{one.explained}")
    for test, text in zip(tests, texts, strict=True):
        name = f"{test.path}::{test.qualified_name.replace('.', '::')}"
        yield "\n".join([text, *said.get(name, said.get(test.path, ()))])
    if not tests:
        yield from ("\n".join(each) for each in said.values())


def _namesakes(snapshot: Snapshot, names: Collection[str]) -> set[Place]:
    """Return the functions that are called by one of *names* which few others have."""
    found: dict[str, set[Place]] = {}
    for path in snapshot.files:
        for one in definitions_in(snapshot, path):
            # A stub names the function once more, and has no code that could be at fault.
            if one.kind in _FUNCTIONS and _called_as(one) in names and not path.endswith(".pyi"):
                found.setdefault(_called_as(one), set()).add((path, one.qualified_name))
    return {place for places in found.values() if len(places) <= _MOST_NAMESAKES for place in places}


def _subject(path: str) -> str:
    """Return the name of the module that a test file is about by its own name; ``test_price.py``: ``price``."""
    return path.rpartition("/")[2].removesuffix(".py").removeprefix("test_").removesuffix("_test")


def _texts_of(snapshot: Snapshot, tests: Iterable[Definition]) -> list[str]:
    """Return each of *tests* as it is written."""
    lines: dict[str, Sequence[str]] = {}
    found: list[str] = []
    for test in tests:
        known = lines.setdefault(test.path, ()) or split_lines(snapshot.text(test.path) or "")
        lines[test.path] = known
        found.append("".join(known[test.span.start.line : test.span.end.line + 1]))
    return found


def _module(one: Definition) -> str:
    return one.path.rpartition("/")[2].removesuffix(".py").strip("_")


def _called_as(one: Definition) -> str:
    """Return the name by which code calls *one*: that of the class where it makes an object."""
    return one.scope.rpartition(".")[2] if one.name == "__init__" else one.name


def _definition(snapshot: Snapshot, place: Place) -> Definition | None:
    """Return what is at *place*; ``None`` where nothing is any more, or only tests hold it."""
    path, name = place
    return None if is_test(snapshot, path) or is_conftest(path) else find_definition(snapshot, path, name)


def _last_lines(snapshot: Snapshot, tracebacks: Iterable[Sequence[TracebackLine]]) -> dict[Place, tuple[int, int]]:
    found: dict[Place, tuple[int, int]] = {}
    for frames in tracebacks:
        for before_last, frame in enumerate(reversed(frames)):
            around = _around(snapshot, frame)
            if around is not None:
                place = frame.path, around.qualified_name
                found[place] = min(found.get(place, (_NOWHERE, 0)), (before_last, frame.line))
    return found


def _around(snapshot: Snapshot, frame: TracebackLine) -> Definition | None:
    """Return the function or class around *frame*, or the variable of the module that its line gives a value."""
    line = frame.line - 1
    variables = (one for one in definitions_in(snapshot, frame.path) if one.kind == "variable" and not one.scope)
    return enclosing_definition(snapshot, frame.path, Position(line, 0)) or next(
        (one for one in variables if one.span.start.line <= line <= one.span.end.line), None
    )


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
