"""A failure as it was pasted, a traceback or the log of a red build: its tests, the lines it went through, its error.

The log of another machine names files by paths of that machine. They are found again by their last parts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rolecall_analysis import Position, Snapshot, enclosing_definition, is_test, is_test_function
from rolecall_server.sandbox import TestResult

MOST_CHARACTERS = 200_000
"""The end of a log says how it failed; what lies before is not read."""
_MOST_FRAMES = 200
_COLOUR = re.compile(r"\x1b\[[0-9;]{0,32}[A-Za-z]")
_STAMP = re.compile(r"^(?:[^\t\n]{0,200}\t){0,2}\ufeff?\d{4}-\d\d-\d\dT[\d:.]{8,20}Z? ", re.MULTILINE)
"""The stamp that runners of builds write before each line, behind what their clients write before that."""
# The traceback of an exception group has `|` or `+` before each line.
_PYTHON_FRAME = re.compile(r'^[ \t]{0,40}(?:[|+][ \t]{0,8})?File "([^"\n]{1,400})", line (\d{1,7})')
_PYTEST_FRAME = re.compile(r"^([^\s:\"'<>|][^:\n\"<>|]{0,400}\.py):(\d{1,7}): ?")
_SUMMARY = re.compile(r"^(?:FAILED|ERROR) ([^\s:][^:\n]{0,400}?\.py)(?:::([^\n]{1,600}))?(?: - |$)")
_VERBOSE = re.compile(r"^([^\s:][^:\n]{0,400}\.py)::([^\n]{1,600}) (?:FAILED|ERROR)(?: {0,80}\[ {0,3}\d{1,3}%\])?$")
_UNITTEST = re.compile(r"^(?:FAIL|ERROR): (\w{1,200}) \(([\w.]{1,400})\)")
_CHAINED = re.compile(
    r"^(?:During handling of the above exception|The above exception was the direct cause)", re.MULTILINE
)
_EXPLAINED = re.compile(r"^E {1,8}(\S.{0,1000})$")
_MOST_EXPLAINED = 4_000
# Three spaces and no more: what only explains the error is indented further by pytest.
_SAID = re.compile(r"^E {3}(?! )(\S[^\n]{0,1000})$")
_RAISED = re.compile(r"^([A-Za-z_][\w.]{0,200}(?:Error|Exception|Warning|Interrupt|Exit|Timeout)(?::[^\n]{0,1000})?)$")


@dataclass(frozen=True)
class TracebackLine:
    """A line of the repository that was under way as something failed."""

    path: str
    line: int
    """From 1."""


@dataclass(frozen=True)
class ReportedFailure:
    """A failure as a pasted text tells it, as far as it is about files of this repository."""

    tests: tuple[str, ...] = ()
    """The tests that fail by it, as node ids."""
    frames: tuple[TracebackLine, ...] = ()
    """In the order of the text: of a traceback the outermost call first."""
    error: str = ""
    """The error in one line; empty where that is not told."""


def read_failure(text: str, snapshot: Snapshot) -> ReportedFailure:
    """Return what *text* says of a failure in the repository of *snapshot*."""
    lines = _plain(text[-MOST_CHARACTERS:]).splitlines()
    files = _Files(snapshot)
    frames = [*_frames(lines, files)][-_MOST_FRAMES:]
    named = [test for line in lines for test in _tests_named(line, files)]
    tests = dict.fromkeys(named or _tests_around(frames, snapshot))
    return ReportedFailure(tuple(tests), tuple(frames), _error(lines))


@dataclass(frozen=True)
class SeenFailure:
    """A failure as evidence of its cause."""

    test: str = ""
    """The test that fails, as a node id; empty where none is known."""
    tracebacks: tuple[tuple[TracebackLine, ...], ...] = ()
    """The lines of the repository that each error went through, the outermost call first; that of a cause first."""
    message: str = ""
    explained: str = ""
    """The test runner's words beside that: the values it compared, and where they came from."""


def seen_failure(result: TestResult, snapshot: Snapshot) -> SeenFailure:
    """Return what *result* says of its cause."""
    text = _plain(result.detail[-MOST_CHARACTERS:])
    files = _Files(snapshot)
    parts = (tuple(_frames(part.splitlines(), files))[-_MOST_FRAMES:] for part in _CHAINED.split(text))
    explained = "\n".join(found[1] for line in text.splitlines() if (found := _EXPLAINED.match(line)))
    return SeenFailure(
        result.test_id, tuple(part for part in parts if part), result.message, explained[:_MOST_EXPLAINED]
    )


def _plain(text: str) -> str:
    return _STAMP.sub("", _COLOUR.sub("", text.replace("\r\n", "\n")))


def _frames(lines: Iterable[str], files: _Files) -> Iterator[TracebackLine]:
    for line in lines:
        found = _PYTHON_FRAME.match(line) or _PYTEST_FRAME.match(line)
        path = files.find(found[1]) if found else ""
        if found and path:
            yield TracebackLine(path, int(found[2]))


def _tests_named(line: str, files: _Files) -> Iterator[str]:
    if found := _UNITTEST.match(line):
        test = _of_unittest(found[1], found[2], files)
        if test:
            yield test
        return
    found = _SUMMARY.match(line) or _VERBOSE.match(line)
    if found is None:
        return
    if path := files.find(found[1]):
        yield f"{path}::{_without_message(found[2])}" if found[2] else path


def _without_message(name: str) -> str:
    """Return the name of a test without what pytest says of its end; parameters may hold `` - `` themselves."""
    opened, bracket, rest = name.partition("[")
    if not bracket or " - " in opened:
        return opened.partition(" - ")[0].rstrip()
    parameters, closing, _ = rest.partition("] - ")
    return f"{opened}[{parameters}]" if closing else name.rstrip()


def _of_unittest(name: str, place: str, files: _Files) -> str:
    """Return the node id of the method *name*, of which unittest says that it is at *place*."""
    parts = place.removesuffix(f".{name}").split(".")
    for end in range(len(parts), 0, -1):
        if path := files.find("/".join(parts[:end]) + ".py"):
            return "::".join([path, *parts[end:], name])
    return ""


def _tests_around(frames: Sequence[TracebackLine], snapshot: Snapshot) -> Iterator[str]:
    """Yield the tests that the frames lie in."""
    for frame in frames:
        if not is_test(snapshot, frame.path):
            continue
        around = enclosing_definition(snapshot, frame.path, Position(frame.line - 1, 0))
        if around is not None and is_test_function(around):
            yield f"{frame.path}::{around.qualified_name.replace('.', '::')}"


def _error(lines: Sequence[str]) -> str:
    """Return the first thing that pytest says was raised, else the last that Python does."""
    said = next((found[1] for line in lines if (found := _SAID.match(line))), "")
    raised = (found[1] for line in reversed(lines) if (found := _RAISED.match(line)))
    return said or next(raised, "")


class _Files:
    """The files of a snapshot, found by paths of other machines."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._by_name: dict[str, list[tuple[str, ...]]] = {}
        for path in snapshot.files:
            parts = tuple(path.split("/"))
            self._by_name.setdefault(parts[-1], []).append(parts)

    def find(self, location: str) -> str:
        """Return the file that has most of the last parts of *location*; empty where none has all of its own."""
        parts = tuple(part for part in location.replace("\\", "/").split("/") if part not in ("", "."))
        known = self._by_name.get(parts[-1], []) if parts else []
        whole = [one for one in known if parts[-len(one) :] == one]
        if not whole:
            whole = [one for one in known if one[-len(parts) :] == parts]
            whole = whole if len(whole) == 1 else []
        return "/".join(max(whole, key=len, default=()))
