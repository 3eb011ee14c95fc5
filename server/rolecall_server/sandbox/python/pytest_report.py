"""The report of the plugin in the tests' process, turned into outcomes that are the same on each machine."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from rolecall_server.sandbox.event_lines import GARBLED, read_number, read_record
from rolecall_server.sandbox.python.trace_report import TracedTests
from rolecall_server.sandbox.results import FileCoverage, Outcome, TestResult, TestTrace
from rolecall_server.sandbox.run_folder import RunFolder
from rolecall_server.sandbox.shadow.shadow import Shadow

_TEXTS = ("test", "when", "outcome", "message", "detail", "path", "reason")
_WORST_LAST: tuple[Outcome, ...] = ("passed", "skipped", "xfailed", "xpassed", "error", "failed")
_ADDRESS = re.compile(r"\bat 0x[0-9a-fA-F]+")
_LIBRARY = re.compile(r"(?<![^\s'\"=:,(<])[^\s'\"=:,(<]*/lib(?:64)?/python3\.\d+t?/(?:(?:site|dist)-packages/)?")
_CLIMB = re.compile(r"(?:\.\./){2,}[^\s:'\",)]+")


@dataclass(frozen=True)
class Fault:
    """Something of the repository's, beside its tests, that keeps pytest or a folder of tests from beginning."""

    message: str
    conftest: str = ""
    """The ``conftest.py`` at fault, relative to the workspace."""
    installed: str = ""
    """The name of the installed plug-in at fault."""
    named: str = ""
    """The plug-in at fault that a ``-p`` names."""
    addopts: tuple[str, ...] = ()
    """The arguments that the repository's configuration adds."""


@dataclass(frozen=True)
class Report:
    """The report of one session, complete or not."""

    outcomes: tuple[TestResult, ...]
    running: str
    """The test that had begun and not ended, or empty."""
    exit_code: int | None
    """pytest's own; ``None`` when the session did not come to its end."""
    coverage: dict[str, FileCoverage]
    unmeasured: tuple[str, ...]
    """Why coverage, or a file's, was not measured."""
    foreign: tuple[str, ...]
    """Modules that came from the workspace itself, not from the copy."""
    collected: int = 0
    """The number of tests in the repository's own collection, where that was asked."""
    uncollected: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Files that were asked for and that it leaves out, each with the reason."""
    faults: tuple[Fault, ...] = ()
    functions: Mapping[str, frozenset[tuple[str, int]]] = field(default_factory=dict[str, "frozenset[tuple[str, int]]"])
    """The functions that tests ran, where that was asked; each a path and its first line."""
    traces: tuple[TestTrace, ...] = ()
    chosen: frozenset[str] = frozenset()
    """The tests that were to be run."""
    has_gaps: bool = False
    """Some of the events that were sent are missing."""
    is_broken: bool = False
    """A plug-in failed at the end, after the last test: pytest passes that on, and Python ends with 1."""

    @property
    def says_nothing(self) -> bool:
        """Return whether the session, as far as one can see, did not even begin."""
        return self.exit_code is None and not self.outcomes and not self.running


def read_report(told: Iterable[bytes | None], neutral: Callable[[str], str]) -> Report:
    """Return what the lines of *told* report, their texts made *neutral*; ``None`` among them is a gap."""
    phases: list[TestResult] = []
    coverage: dict[str, FileCoverage] = {}
    unmeasured: list[str] = []
    foreign: list[str] = []
    uncollected: dict[str, str] = {}
    faults: list[Fault] = []
    collected = 0
    ran, traced = _Functions(), TracedTests(neutral)
    running = ""
    exit_code: int | None = None
    chosen: frozenset[str] = frozenset()
    is_broken = False
    lines = [*told]
    for record in _records(lines):
        with suppress(*GARBLED):
            match record["kind"]:
                case "start":
                    running = str(record["test"])
                case "report":
                    phases.extend(_phase(record, neutral))
                    running = "" if record["when"] == "teardown" else running
                case "coverage":
                    coverage[str(record["path"])] = _file_coverage(record)
                case "unmeasured":
                    unmeasured.append(neutral(record["reason"]))
                case "foreign":
                    foreign.extend(map(str, record["modules"]))
                case "collected":
                    collected = int(record["tests"])
                    uncollected.update((path, neutral(why)) for path, why in dict(record["left_out"]).items())
                case "chosen":
                    chosen = frozenset(map(neutral, record["tests"]))
                case "fault":
                    faults.append(_fault(record, neutral))
                case "ran" | "trace" as what:
                    (ran if what == "ran" else traced).add(record)
                case "end":
                    exit_code, running = int(record["exit_code"]), ""
                    is_broken = bool(record.get("is_broken"))
                case _:
                    pass
    return Report(
        _merge(phases),
        running,
        exit_code,
        coverage,
        tuple(unmeasured),
        tuple(foreign),
        collected,
        uncollected,
        tuple(faults),
        ran.by_test(),
        traced.by_test(),
        chosen,
        None in lines,
        is_broken,
    )


def _records(lines: Iterable[bytes | None]) -> Iterator[dict[str, Any]]:
    found = (read_record(line, *_TEXTS) for line in lines if line is not None)
    return (record for record in found if record is not None)


class _Functions:
    """The functions that tests ran, each told whole once and by its number from then on."""

    def __init__(self) -> None:
        self._places: dict[int, tuple[str, int]] = {}
        self._numbers: dict[str, list[int]] = {}

    def add(self, record: Mapping[str, Any]) -> None:
        test = str(record["test"])
        self._places.update({int(number): (str(path), int(line)) for number, path, line in record["new"]})
        self._numbers.setdefault(test, []).extend(map(int, record["functions"]))

    def by_test(self) -> dict[str, frozenset[tuple[str, int]]]:
        return {
            test: frozenset(self._places[number] for number in numbers if number in self._places)
            for test, numbers in self._numbers.items()
        }


def path_neutraliser(shadow: Shadow, folder: RunFolder) -> Callable[[str], str]:
    """Return a function that takes the paths of this machine and this run out of a text.

    What lies in the copy or in the workspace becomes relative to it, the run's own folders become ``~`` and
    ``$TMPDIR``, libraries ``<python>``, and the addresses of objects are left out.
    """
    # Inner folders before those that hold them, or only the beginnings of their paths would be replaced.
    names = [
        (folder.temporary, "$TMPDIR"),
        (folder.home, "~"),
        (folder.path, "$RUN"),
        (shadow.root, ""),
        (shadow.base, "$SANDBOX"),
        (shadow.original, ""),
    ]
    patterns = [
        (re.compile(rf"(?<![\w.-]){re.escape(str(place))}(?:(/)|(?![\w.-]))"), name)
        for place, name in names
        if len(place.parts) > 1  # the root of the disk begins every path
    ]

    def neutral(text: str) -> str:
        text = _CLIMB.sub(lambda match: _absolute(match.group(), shadow), text)
        text = _LIBRARY.sub("<python>/", text)
        for pattern, name in patterns:
            text = pattern.sub(lambda match, name=name: _named(name, match.group(1)), text)
        return _ADDRESS.sub("at 0x...", text)

    return neutral


def _named(name: str, separator: str | None) -> str:
    return f"{name}{separator or ''}" if name else ("" if separator else ".")


def _absolute(climb: str, shadow: Shadow) -> str:
    """Return the absolute path for one that pytest wrote relative to the root and that leads out of it."""
    location = Path(os.path.normpath(shadow.root / climb))
    # Not `Path.exists`, which raises where a name is longer than any file's.
    return str(location) if os.path.exists(location) or location.is_relative_to(shadow.scratch) else climb  # noqa: PTH110


def _merge(phases: Iterable[TestResult]) -> tuple[TestResult, ...]:
    """Return one outcome for each test, made from its phases: the worst outcome, and the sum of the times."""
    tests: dict[str, TestResult] = {}
    for phase in phases:
        before = tests.get(phase.test_id, replace(phase, duration_s=0.0))
        worse = max(before, phase, key=lambda outcome: _WORST_LAST.index(outcome.outcome))
        tests[phase.test_id] = replace(worse, duration_s=before.duration_s + phase.duration_s)
    return tuple(tests.values())


def _phase(record: dict[str, Any], neutral: Callable[[str], str]) -> Iterator[TestResult]:
    """Yield the outcome of one phase of a test; nothing for what plugins add, such as a failure that is tried again."""
    if record["outcome"] in ("passed", "failed", "skipped"):
        yield TestResult(
            test_id=neutral(record["test"]),
            outcome=_outcome(record),
            duration_s=read_number(record.get("duration_s", 0.0)),
            message=neutral(record["message"]),
            detail=neutral(record["detail"]),
        )


def _fault(record: dict[str, Any], neutral: Callable[[str], str]) -> Fault:
    return Fault(
        neutral(record["message"]),
        neutral(record["conftest"]),
        str(record.get("installed", "")),
        str(record.get("named", "")),
        tuple(map(str, record.get("addopts", ()))),
    )


def _outcome(report: dict[str, Any]) -> Outcome:
    if report["outcome"] == "failed":
        return "failed" if report["when"] == "call" else "error"
    if report.get("expected"):
        return "xpassed" if report["outcome"] == "passed" else "xfailed"
    return "skipped" if report["outcome"] == "skipped" else "passed"


def _file_coverage(record: dict[str, Any]) -> FileCoverage:
    branches_total = int(read_number(record["branches_total"]))
    return FileCoverage(
        path=record["path"],
        executed_lines=_lines(record["executed"]),
        missing_lines=_lines(record["missing"]),
        branches_total=branches_total,
        # A test could tell of more than there are, and the ratio would pass 1.
        branches_covered=min(int(read_number(record["branches_covered"])), branches_total),
        branches=frozenset((int(a), int(b)) for a, b in record.get("branches", ())),
        tests_by_line={int(line): frozenset(tests) for line, tests in record.get("tests_by_line", {}).items()},
        steps_by_test={
            test: frozenset((int(a), int(b)) for a, b in steps)
            for test, steps in record.get("steps_by_test", {}).items()
        },
    )


def _lines(told: Iterable[object]) -> frozenset[int]:
    return frozenset(int(read_number(line)) for line in told)
