"""The functions of the workspace that each test runs, told by the interpreter's own events.

From Python 3.12 on the interpreter tells the first call of each function by `sys.monitoring`. Before, the C profiler of
the standard library counts calls, in the thread that runs the tests. Neither stands in the way of coverage. What other
processes run is not seen. A test of several parameters is one test.
"""

# pyright: basic, reportMissingImports=false
# ruff: noqa: PTH119 -- texts, because code names its file so

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from types import CodeType

_MOST = 2_000_000
"""Functions of tests, all tests together, that are told at most."""
_COSTLY_PART = 0.25
"""Of the time that a suite has: for so long it is watched where that makes it slower, and the rest the next time."""
_FREE_TOOL, _LINES_TOOL = 4, 3
"""Numbers that Python gives to no kind of tool."""


class Watch:
    """Tells what the tests run that are not *known*, as far as it lies below *root*.

    Before Python 3.12 that nearly doubles their time, so that none is watched later than a part of *limit_s*.
    """

    def __init__(
        self, root: str, known: Sequence[str], limit_s: float, seconds: Callable[[], float], tell: Callable[..., None]
    ) -> None:
        self._root = root.rstrip("/") + "/"
        self._aside = tuple(f"{prefix}/" for prefix in (sys.prefix, sys.base_prefix))
        self._known = frozenset(known)
        self._until_s = limit_s * (1 if sys.version_info >= (3, 12) else _COSTLY_PART)
        self._seconds = seconds
        self._tell = tell
        self._events = _events()
        self._numbers: dict[tuple[str, int], int] = {}
        self._told: dict[str, set[int]] = {}
        self._left = _MOST
        self._test = ""

    def enter(self, test: str) -> None:
        """Watch what runs from now on for *test*; empty for none."""
        if self._events is None:
            return
        try:
            if self._test:
                self._tell_test(self._test, self._events.stop())
            name = name_of(test)
            is_in_time = self._left > 0 and self._seconds() < self._until_s
            self._test = name if is_in_time and name not in self._known else ""
            if self._test:
                self._events.start()
        except Exception:  # noqa: BLE001 -- whatever a test has done to the interpreter: it goes on unwatched
            self._events = None

    def _tell_test(self, test: str, codes: Iterable[CodeType]) -> None:
        told = self._told.setdefault(test, set())
        known = len(self._numbers)
        found = {self._number(code) for code in codes if self._is_ours(code.co_filename)} - told
        told |= found
        self._left -= len(found)
        if found:
            new = [(number, *place) for place, number in islice(self._numbers.items(), known, None)]
            self._tell("ran", test=test, functions=sorted(found), new=new)

    def _is_ours(self, file: str) -> bool:
        return file.startswith(self._root) and not file.startswith(self._aside)

    def _number(self, code: CodeType) -> int:
        place = code.co_filename[len(self._root) :], code.co_firstlineno
        return self._numbers.setdefault(place, len(self._numbers))


def name_of(test: str) -> str:
    """Return the id of *test* without its parameters."""
    path, separator, name = test.partition("::")
    return path + separator + name.partition("[")[0]


class _Monitoring:
    """Python 3.12 and later: each function tells that it begins, once until it is asked for again."""

    def __init__(self) -> None:
        self._monitoring: Any = getattr(sys, "monitoring")  # noqa: B009 -- not there in the versions before
        self._monitoring.use_tool_id(_FREE_TOOL, "rolecall")
        self._event = self._monitoring.events.PY_START
        self._codes: list[CodeType] = []
        add, disable = self._codes.append, self._monitoring.DISABLE

        def begins(code: CodeType, offset: int) -> object:
            add(code)
            return disable

        self._monitoring.register_callback(_FREE_TOOL, self._event, begins)

    def start(self) -> None:
        self._codes.clear()
        # What was disabled stays so until now; a test has to tell of functions that earlier ones ran as well.
        self._monitoring.restart_events()
        self._monitoring.set_events(_FREE_TOOL, self._event)

    def stop(self) -> list[CodeType]:
        self._monitoring.set_events(_FREE_TOOL, 0)
        return self._codes


class _Profiling:
    """Before Python 3.12: the profiler that is written in C, and that keeps what it has seen by function."""

    def __init__(self) -> None:
        from _lsprof import Profiler

        self._profiler: Any = Profiler(builtins=False, subcalls=False)

    def start(self) -> None:
        # There is one profiler in a thread, and the test may have started its own.
        if sys.getprofile() is None:
            self._profiler.enable()

    def stop(self) -> list[CodeType]:
        self._profiler.disable()
        codes = [entry.code for entry in self._profiler.getstats() if hasattr(entry.code, "co_filename")]
        self._profiler.clear()
        return codes


class LineCount:
    """Counts the lines of some files that run, beside coverage and by other means: tests can tell coverage anything.

    From Python 3.12 on; before, only one tool at a time is told of lines.
    """

    def __init__(self, files: Iterable[str]) -> None:
        self._seen: dict[str, set[int]] = {os.path.realpath(file): set() for file in files}
        self._counts = False

    def start(self) -> None:
        """Begin to count, where that can be done and nobody else does."""
        if sys.version_info >= (3, 12) and self._seen:
            try:
                self._watch(getattr(sys, "monitoring"))  # noqa: B009 -- not there in the versions before
                self._counts = True
            except Exception:  # noqa: BLE001 -- another tool has taken the number
                self._counts = False

    def unseen(self, file: str, lines: Iterable[int]) -> list[int]:
        """Return which of *lines* of *file* nobody saw run; none where nothing was counted."""
        return [line for line in lines if line not in self._seen[os.path.realpath(file)]] if self._counts else []

    def _watch(self, monitoring: Any) -> None:
        events, seen = monitoring.events, self._seen
        names = {os.path.basename(file) for file in seen}
        by_name: dict[str, set[int] | None] = {}

        def begins(code: CodeType, offset: int) -> object:
            name = code.co_filename
            if name not in by_name:
                by_name[name] = seen.get(os.path.realpath(name)) if name.rpartition(os.sep)[2] in names else None
            if by_name[name] is not None:
                monitoring.set_local_events(_LINES_TOOL, code, events.LINE)
            return monitoring.DISABLE

        def reaches(code: CodeType, line: int) -> object:
            if (lines := by_name[code.co_filename]) is not None:
                lines.add(line)
            return monitoring.DISABLE

        monitoring.use_tool_id(_LINES_TOOL, "rolecall lines")
        monitoring.register_callback(_LINES_TOOL, events.PY_START, begins)
        monitoring.register_callback(_LINES_TOOL, events.LINE, reaches)
        monitoring.set_events(_LINES_TOOL, events.PY_START)


def _events() -> _Monitoring | _Profiling | None:
    """Return the source that tells of calls here; ``None`` where another tool has taken its place."""
    try:
        return _Monitoring() if sys.version_info >= (3, 12) else _Profiling()
    except Exception:  # noqa: BLE001 -- an interpreter without either
        return None
