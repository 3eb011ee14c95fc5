"""The history of a repository's tests in earlier runs: which functions each runs, how long it takes, how it ended.

A function is known by its path, its name and a fingerprint of its text, so that what was learned of another text counts
less, and nothing where the test is gone.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from pydantic import TypeAdapter, ValidationError

from rolecall_analysis import Definition, SelectedTests, Snapshot, definitions_in
from rolecall_analysis.queries.definitions import is_inside
from rolecall_server.sandbox import TestResult, TestRun
from rolecall_server.store import Store
from rolecall_server.store.suites import save_suite, suite_of

_LATE_RUNS = 5
"""A failure longer ago says nothing of the next run."""
_OTHER_TEXT = 0.5
"""The share of what was learned of a test, or a function, that counts once its text is another."""
# Few, as path and name are compared as well: it has to tell apart only the texts that one function ever had.
_FINGERPRINT_BYTES = 6
_MOST = 2_000_000
"""Functions of tests, all tests together: a few megabytes, packed."""
_BAD = ("failed", "error")


class Function(NamedTuple):
    """A function as it was when a test ran it."""

    path: str
    name: str
    """Dotted, within its file."""
    fingerprint: str


class Known(NamedTuple):
    """The knowledge about one test, all its parameters together."""

    duration_s: float
    ends: str
    """Its results, the latest run first: ``f`` where it failed, ``p`` where it did not."""
    ran: tuple[int, ...] = ()
    """The functions it ran, as places in `History.functions`; empty where that was never seen."""

    @property
    def failed_before(self) -> int:
        """Return the number of runs since it failed, from 0; `_LATE_RUNS` if it did not fail lately."""
        return self.ends.index("f") if "f" in self.ends else _LATE_RUNS


@dataclass(frozen=True)
class SuiteHistory:
    """The knowledge about all tests of a repository."""

    functions: tuple[Function, ...] = ()
    tests: Mapping[str, Known] = field(default_factory=dict[str, Known])
    """By node id without parameters."""
    around_s: float = 0.0
    """The time that a run of the whole suite takes beside its tests."""

    @cached_property
    def users(self) -> Mapping[int, tuple[str, ...]]:
        """Return the tests that ran each function."""
        found: dict[int, list[str]] = {}
        for test, known in self.tests.items():
            for number in known.ran:
                found.setdefault(number, []).append(test)
        return {number: tuple(tests) for number, tests in found.items()}

    @property
    def duration_s(self) -> float:
        """Return how long a run of the whole suite takes; 0 where none is known."""
        return self.around_s + sum(known.duration_s for known in self.tests.values())

    def fresh(self, snapshot: Snapshot) -> frozenset[str]:
        """Return the tests that ran only functions whose texts in *snapshot* are still the same."""
        texts = _Texts(snapshot)
        same = {number for number, one in enumerate(self.functions) if texts.of(one) == one.fingerprint}
        # `known.ran`: of a test that was never watched nothing is known, and no functions at all are a part of any set.
        return frozenset(test for test, known in self.tests.items() if known.ran and same.issuperset(known.ran))


NOTHING_KNOWN = SuiteHistory()
_JSON = TypeAdapter(SuiteHistory)


@dataclass(frozen=True)
class SuiteHistoryStore:
    """The place where the history of one repository's tests is kept."""

    store: Store
    root: Path
    snapshot: Snapshot
    """The repository as it is, which runs without a change are runs of."""

    def recall(self) -> SuiteHistory:
        """Return what is known; nothing where it cannot be read."""
        return recall(self.store, self.root)

    def fresh(self) -> frozenset[str]:
        """Return the tests of which is known what they run today."""
        return self.recall().fresh(self.snapshot)

    def learn(self, run: TestRun) -> None:
        """Add what *run* showed."""
        learned = learned_from(self.recall(), run, self.snapshot)
        save_suite(self.store, self.root, _JSON.dump_json(learned).decode())


def recall(store: Store, root: Path) -> SuiteHistory:
    """Return what is known of the tests of the workspace at *root*."""
    try:
        return _JSON.validate_json(suite_of(store, root))
    except ValidationError:
        return NOTHING_KNOWN


def name_of(test_id: str) -> str:
    """Return *test_id* without its parameters."""
    path, separator, name = test_id.partition("::")
    return path + separator + name.partition("[")[0]


def learned_from(history: SuiteHistory, run: TestRun, snapshot: Snapshot) -> SuiteHistory:
    """Return *history* with what *run* showed; what it says of functions is about their texts in *snapshot*."""
    ended: dict[str, list[TestResult]] = {}
    for outcome in run.outcomes:
        if "::" in outcome.test_id:
            ended.setdefault(name_of(outcome.test_id), []).append(outcome)
    is_whole = 0 < run.collected <= len(run.outcomes) and not run.without
    ran = _bounded({**_by_function(history), **_seen_in(run, snapshot)})
    numbers: dict[Function, int] = {}
    tests = {
        test: _known(history.tests.get(test), ended.get(test, ()))._replace(
            ran=tuple(numbers.setdefault(one, len(numbers)) for one in ran.get(test, ()))
        )
        # Only a run of all tests shows which of the known ones are gone.
        for test in (ended if is_whole else {**history.tests, **ended})
    }
    around_s = max(0.0, run.duration_s - sum(one.duration_s for one in run.outcomes)) if is_whole else history.around_s
    return SuiteHistory(tuple(numbers), tests, around_s)


def _known(before: Known | None, outcomes: Sequence[TestResult]) -> Known:
    """Return what is known of a test after a run in which it had these *outcomes*."""
    known = before or Known(0.0, "")
    if not outcomes:
        return known
    end = "f" if any(one.outcome in _BAD for one in outcomes) else "p"
    return Known(round(sum(one.duration_s for one in outcomes), 4), (end + known.ends)[:_LATE_RUNS])


def _by_function(history: SuiteHistory) -> dict[str, list[Function]]:
    return {test: [history.functions[number] for number in known.ran] for test, known in history.tests.items()}


def _bounded(ran: Mapping[str, Sequence[Function]]) -> dict[str, Sequence[Function]]:
    """Return *ran* as far as there is room for it; of the tests beyond that nothing is known."""
    totals = accumulate(len(functions) for functions in ran.values())
    return {test: functions for (test, functions), total in zip(ran.items(), totals, strict=True) if total <= _MOST}


def _seen_in(run: TestRun, snapshot: Snapshot) -> dict[str, list[Function]]:
    """Return the functions that each test ran, as far as *snapshot* knows them."""
    texts = _Texts(snapshot)
    places = {place: texts.at(*place) for ran in run.functions.values() for place in ran}
    return {
        test: [*dict.fromkeys(one for place in sorted(ran) if (one := places[place]) is not None)]
        for test, ran in run.functions.items()
    }


class _Texts:
    """The fingerprints of the functions of a snapshot, each file looked at once."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._files: dict[str, tuple[list[str], Sequence[Definition]]] = {}

    def of(self, function: Function) -> str:
        """Return the fingerprint that *function* has here; empty where it is gone."""
        lines, inside = self._file(function.path)
        found = next((one for one in inside if one.qualified_name == function.name), None)
        return _fingerprint(lines, found) if found is not None else ""

    def at(self, path: str, line: int) -> Function | None:
        """Return the innermost function or variable around a *line*, from 1; what only a class holds is none."""
        lines, inside = self._file(path)
        around = [one for one in inside if one.span.start.line < line <= one.span.end.line + 1]
        inner = max(around, key=lambda one: (one.span.start, one.kind != "variable"), default=None)
        if inner is None or inner.kind == "class":
            return None
        return Function(path, inner.qualified_name, _fingerprint(lines, inner))

    def _file(self, path: str) -> tuple[list[str], Sequence[Definition]]:
        if path not in self._files:
            known = path in self._snapshot.files
            lines = (self._snapshot.text(path) or "").splitlines() if known else []
            self._files[path] = lines, definitions_in(self._snapshot, path) if known else ()
        return self._files[path]


def _fingerprint(lines: Sequence[str], definition: Definition) -> str:
    text = "\n".join(lines[definition.span.start.line : definition.span.end.line + 1])
    return blake2b(text.encode(errors="surrogatepass"), digest_size=_FINGERPRINT_BYTES).hexdigest()


@dataclass(frozen=True)
class _Seen:
    """A test that was seen to run what changed."""

    test: str
    function: Function
    """Of the changed ones it ran, the one that fewest tests run."""
    weight: float
    is_other: bool
    """The test has another text by now."""


def with_history(
    snapshot: Snapshot, selected: Sequence[SelectedTests], changed: Iterable[Definition | str], history: SuiteHistory
) -> tuple[SelectedTests, ...]:
    """Return *selected*, and what else was seen to run what *changed*, likeliest to fail first.

    Files in which a selected test failed lately come first, then those with a test that was seen to run what changed,
    then the others as they were. None of *selected* is left out.
    """
    seen: dict[str, list[_Seen]] = {}
    for one in _seen_to_run(snapshot, changed, history):
        seen.setdefault(one.test.partition("::")[0], []).append(one)
    known = {one.path: one for one in selected}
    files = [known.get(path) or SelectedTests(path, 0.0, "") for path in {**known, **seen}]
    told = [_told(one, sorted(seen.get(one.path, ()), key=_likeliest)) for one in files]
    failed = _failed_lately(history, frozenset(one.path for one in told))
    late = [replace(one, reason=f"{failed[one.path][1]}; {one.reason}") if one.path in failed else one for one in told]
    return tuple(sorted(late, key=lambda one: (failed.get(one.path, _NOT_LATELY), not one.tests, -one.score, one.path)))


def without_any(snapshot: Snapshot, changed: Iterable[Definition | str], history: SuiteHistory) -> frozenset[str]:
    """Return the tests of which is known that they run nothing that *changed*, and what they run has its text still.

    None where no test was seen to run a part of what changed: it may take the place of something else.
    """
    parts = [*changed]
    seen = {(history.functions[number].path, history.functions[number].name) for number in history.users}
    if any(isinstance(part, str) or (part.path, part.qualified_name) not in seen for part in parts):
        return frozenset()
    ran = {test for number in _numbers_of(parts, history) for test in history.users[number]}
    return history.fresh(snapshot) - ran


def _likeliest(one: _Seen) -> tuple[float, str]:
    return -one.weight, one.test


def _seen_to_run(snapshot: Snapshot, changed: Iterable[Definition | str], history: SuiteHistory) -> Iterator[_Seen]:
    """Find the tests that ran what *changed*, or a part of it, and that are still there."""
    numbers = _numbers_of(changed, history)
    texts = _Texts(snapshot)
    weights = {
        # A function that nearly all tests run says little of any of them.
        number: math.log1p(len(history.tests) / len(history.users[number]))
        * (1 if texts.of(history.functions[number]) == history.functions[number].fingerprint else _OTHER_TEXT)
        for number in numbers
    }
    for test in dict.fromkeys(test for number in numbers for test in history.users[number]):
        own = _own_of(test, history)
        there = texts.of(own) if own is not None else ""
        if own is not None and not there:
            continue  # it is gone
        ran = sorted(numbers.intersection(history.tests[test].ran), key=lambda number: -weights[number])
        is_other = own is not None and there != own.fingerprint
        weight = sum(weights[number] for number in ran) * (_OTHER_TEXT if is_other else 1)
        yield _Seen(test, history.functions[ran[0]], weight, is_other)


def _numbers_of(changed: Iterable[Definition | str], history: SuiteHistory) -> frozenset[int]:
    """Return the functions that tests ran and that changed, or lie in what changed."""
    parts: dict[str, list[str]] = {}
    for one in changed:
        path, name = (one, "") if isinstance(one, str) else (one.path, one.qualified_name)
        parts.setdefault(path, []).append(name)
    return frozenset(
        number
        for number, one in enumerate(history.functions)
        if number in history.users and any(not name or is_inside(one.name, name) for name in parts.get(one.path, ()))
    )


def _own_of(test: str, history: SuiteHistory) -> Function | None:
    """Return the function that is the test itself, among those it ran; ``None`` where it is inherited or made."""
    path, _, name = test.partition("::")
    mine = (history.functions[number] for number in history.tests[test].ran)
    return next((one for one in mine if one.path == path and one.name == name.replace("::", ".")), None)


def _told(one: SelectedTests, seen: Sequence[_Seen]) -> SelectedTests:
    """Return *one* with what was *seen* of its tests, likeliest first."""
    if not seen:
        return one
    best = seen[0]
    name = best.test.partition("::")[2].replace("::", ".")
    since = ", changed since," if best.is_other else ""
    further = f"; so did {len(seen) - 1} more" if seen[1:] else ""
    reason = f"{name}{since} ran {best.function.name} when last seen{further}"
    score = one.score + math.log1p(sum(each.weight for each in seen))
    return replace(one, score=score, reason=reason, tests=tuple(each.test for each in seen))


_NOT_LATELY = (_LATE_RUNS, "")


def _failed_lately(history: SuiteHistory, paths: Collection[str]) -> dict[str, tuple[int, str]]:
    """Return of each of *paths* that had a failing test lately how many runs ago that was, and in words which."""
    found: dict[str, tuple[int, str]] = {}
    for test, known in history.tests.items():
        path, _, name = test.partition("::")
        if path in paths and known.failed_before < found.get(path, _NOT_LATELY)[0]:
            found[path] = known.failed_before, f"{name.replace('::', '.')} failed {_ago(known.failed_before)}"
    return found


def _ago(n_runs: int) -> str:
    return f"{n_runs} run{'s' if n_runs > 1 else ''} before the last" if n_runs else "in the last run"
