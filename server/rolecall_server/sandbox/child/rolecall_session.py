"""The reporter in the process that runs the workspace's tests, whatever runs them: it tells, line by line.

It reads ``request.json`` beside itself and tells what happens over a descriptor, unbuffered, so that a crash or a
timeout keeps what was told before. It measures coverage, and sends imports that an editable installation would lead
to the workspace itself into the copy under test. The interpreter may be as old as Python 3.8.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import tempfile
import time
import traceback
from functools import partial
from hashlib import blake2b
from importlib.machinery import BuiltinImporter, FrozenImporter, ModuleSpec, PathFinder
from importlib.util import spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rolecall_trace import Trace  # pyright: ignore[reportMissingImports, reportUnknownVariableType]
from rolecall_watch import LineCount, Watch  # pyright: ignore[reportMissingImports, reportUnknownVariableType]

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

    from coverage import Coverage

_MESSAGE_CHARACTERS = 1_000
_DETAIL_CHARACTERS = 6_000
_MAY_DIFFER = 0.2
"""The part of the lines that two ways of counting may tell differently: statements of several lines."""
_QUIET = ["already-imported", "module-not-imported", "no-ctracer", "no-data-collected", "no-sysmon"]

_here = Path(__file__).resolve().parent
_temporary = Path(tempfile.gettempdir())
_process = os.getpid
_owner = _process()


def _tell_to() -> tuple[int, bytes]:
    """Return the descriptor for what is told, and the key for its seals; of a file beside this one if there is none."""
    channel = os.environ.pop("ROLECALL_TOLD", "")
    if not channel:
        return os.open(_here / "report.jsonl", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), b""
    descriptor = int(channel)
    os.set_inheritable(descriptor, False)
    # Forks inherit descriptors whatever their flag says; they may not tell in the name of the run.
    os.register_at_fork(after_in_child=partial(os.close, descriptor))
    return descriptor, os.read(descriptor, 32)


_channel, _key = _tell_to()
# Bound to functions of our own: a test may have replaced `open`, `os` and `json` for its own purposes.
_write = partial(os.write, _channel)
_seal = partial(blake2b, digest_size=16, key=_key) if _key else None
_dumps = json.dumps
_numbers = itertools.count(1)
del _key  # the seal holds it, and no name leads to it


_now = time.monotonic  # bound here for the same reason
_began_s = _now()


def seconds() -> float:
    """Return how long this process has run."""
    return _now() - _began_s


def tell(kind: str, **facts: object) -> None:
    """Tell a fact; a fork of the tests' process tells nothing."""
    if _process() != _owner:
        return
    line = _dumps({"kind": kind, **facts}).encode()
    if _seal is not None:
        sealed = b"%d %s" % (next(_numbers), line)
        line = b"\n" + _seal(sealed).hexdigest().encode() + b" " + sealed  # after what another may have begun to write
    rest = line + b"\n"
    while rest:
        rest = rest[_write(rest) :]


def tell_report(test: str, when: str, outcome: str, *, message: str, detail: str, **facts: object) -> None:
    if len(detail) > _DETAIL_CHARACTERS:
        head = _DETAIL_CHARACTERS // 3
        detail = detail[:head] + "\n[...]\n" + detail[head - _DETAIL_CHARACTERS :]
    tell(
        "report",
        test=test,
        when=when,
        outcome=outcome,
        message=message[:_MESSAGE_CHARACTERS],
        detail=detail,
        **facts,
    )


def message_of(error: Any) -> str:
    """Return *error* in one line."""
    failures = getattr(error, "failures", None)
    if type(error).__name__ == "MultipleDoctestFailures" and failures:
        error = failures[0]
    if type(error).__name__ == "DocTestFailure":
        return f"doctest: expected {error.example.want.strip()!r}, got {error.got.strip()!r}"
    if type(error).__name__ == "FixtureLookupError":
        return f"fixture {error.argname!r} not found"
    raised: BaseException = error
    lines = [line.strip() for line in traceback.format_exception_only(type(raised), raised) if line.strip()]
    if isinstance(error, SyntaxError):
        return f"{lines[-1]} ({error.filename}, line {error.lineno})"
    first, *more = [line.strip() for line in lines[0].splitlines() if line.strip()]
    return f"{first} {more[0]}" if first.endswith(":") and more else first


class Measurement:
    """Coverage of the files asked for, from the first import to the end of the session."""

    def __init__(self, root: Path, paths: Sequence[str], by_test: bool) -> None:
        self._root = root
        self._paths = paths
        self._by_test = by_test
        self._coverage: Coverage | None = None
        self._count: Any = LineCount(str(root / path) for path in paths)

    def start(self) -> None:
        """Begins to measure, with what the repository says should not count."""
        with _Unmeasured("coverage.py does not work in this interpreter"):
            from coverage import Coverage

            wanted = [str(self._root / path) for path in self._paths]
            measuring = Coverage(data_file=None, branch=True, config_file=False, include=wanted)
            with _Unmeasured("the repository's coverage settings were left aside"):
                configured = Coverage(data_file=None)
                # No others: `source` and `omit` of the repository say which files are measured; here the request does.
                for option in ("report:exclude_lines", "report:partial_branches", "run:concurrency"):
                    # "multiprocessing" needs a file of settings for the other processes, which are not measured here.
                    given: Any = configured.get_option(option) or []
                    if value := [one for one in given if one != "multiprocessing"]:
                        measuring.set_option(option, value)
            measuring.set_option("run:disable_warnings", _QUIET)
            if self._by_test:
                with _Unmeasured("coverage.py is too old to choose how it measures"):
                    measuring.set_option("run:core", "ctrace")  # the other core of Python 3.12 knows no tests
            measuring.start()
            self._count.start()
            self._coverage = measuring

    def enter(self, test: str) -> None:
        """Counts what runs from now on for *test*; empty for none."""
        if self._coverage is not None and self._by_test:
            self._coverage.switch_context(test)

    def finish(self) -> None:
        """Tells what was reached of each file."""
        if self._coverage is not None:
            self._coverage.stop()
            for path in self._paths:
                with _Unmeasured(path):
                    self._tell_file(path, self._coverage)

    def _tell_file(self, path: str, measured: Coverage) -> None:
        location = self._root / path
        if not location.is_file():
            tell("unmeasured", reason=f"{path} does not exist")
            return
        target = _temporary / "rolecall-coverage.json"
        measured.json_report(morfs=[str(location)], outfile=str(target))
        (facts,) = json.loads(target.read_text("utf-8"))["files"].values()
        executed = sorted(set(facts["executed_lines"]) - set(facts["excluded_lines"]))
        unseen = self._count.unseen(str(location), executed)
        if len(unseen) > _MAY_DIFFER * len(executed) + 1:
            tell("unmeasured", reason=f"{path}: {len(unseen)} lines of which coverage.py tells were not seen to run")
            return
        tell(
            "coverage",
            path=path,
            executed=executed,
            missing=facts["missing_lines"],
            branches_total=facts["summary"]["num_branches"],
            branches_covered=facts["summary"]["covered_branches"],
            branches=facts.get("executed_branches", []),
            tests_by_line=self._tests_by_line(measured, location) if self._by_test else {},
            steps_by_test=self._steps_by_test(measured, location) if self._by_test else {},
        )

    def _tests_by_line(self, measured: Coverage, location: Path) -> dict[int, list[str]]:
        by_line = measured.get_data().contexts_by_lineno(str(location))
        return {line: sorted(set(tests) - {""}) for line, tests in by_line.items() if line > 0}

    def _steps_by_test(self, measured: Coverage, location: Path) -> dict[str, list[tuple[int, int]]]:
        data = measured.get_data()
        steps: dict[str, list[tuple[int, int]]] = {}
        for test in sorted(data.measured_contexts() - {""}):
            data.set_query_context(test)
            if taken := data.arcs(str(location)):
                steps[test] = sorted(taken)
        data.set_query_contexts(None)
        return steps


class _Unmeasured:
    """Tells why something was not measured, and lets the tests go on: any error of coverage.py is one of these."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if isinstance(error, Exception):
            tell("unmeasured", reason=f"{self._what}: {message_of(error)}")
            return True
        return False


class Redirection:
    """Keeps imports in the copy, where an editable installation leads to the workspace itself."""

    def __init__(self, original: Path, copy: Path) -> None:
        self._original = original
        self._copy = copy
        self._below = f"{original}{os.sep}"
        environment = [os.path.realpath(prefix) for prefix in (sys.prefix, sys.base_prefix)]
        # An environment in the workspace is not copied: its modules come from where it lies.
        self._kept = tuple(f"{kept}{os.sep}" for kept in (copy, *environment) if str(kept).startswith(self._below))

    def start(self) -> None:
        """Takes the workspace off the search path, and the finders of editable installations by the hand."""
        sys.path[:] = [str(self._in_copy(entry) or entry) for entry in sys.path]
        finders: list[Any] = sys.meta_path
        usual = (BuiltinImporter, FrozenImporter, PathFinder)
        finders[:] = [
            finder
            if finder in usual or type(finder).__module__.startswith("_pytest")
            else RedirectedFinder(finder, self)
            for finder in finders
        ]

    def finish(self) -> None:
        """Tells of modules that came from the workspace itself all the same."""
        if self._original.is_dir() and self._copy.samefile(self._original):
            return  # behind walls the copy is seen in the workspace's own place as well
        loaded = [(name, getattr(module, "__file__", None)) for name, module in sorted(sys.modules.items())]
        foreign = [name for name, file in loaded if isinstance(file, str) and self._in_copy(file)]
        if foreign:
            tell("foreign", modules=foreign)

    def redirect(self, spec: ModuleSpec) -> ModuleSpec | None:
        """Return *spec*, or that of the same file in the copy; ``None`` when the copy has no such file."""
        location = self._in_copy(spec.origin) if spec.origin else None
        if location is None:
            return spec
        folders = [str(location.parent)] if spec.submodule_search_locations is not None else None
        # What a proposal deletes must not be found in the workspace itself instead.
        if not location.is_file():
            return None
        return spec_from_file_location(spec.name, str(location), submodule_search_locations=folders)

    def _in_copy(self, location: str) -> Path | None:
        """Return the path that the copy has for *location* in the workspace itself; ``None`` for a place elsewhere."""
        if not os.path.isabs(location):  # noqa: PTH117
            return None
        # Compared as texts: there are hundreds of modules, and building paths of them all takes 20 ms.
        real = _real(location) + os.sep
        if not real.startswith(self._below) or real.startswith(self._kept):
            return None
        return self._copy / real[len(self._below) : -1]


class RedirectedFinder:
    """A finder whose modules come from the copy."""

    def __init__(self, finder: Any, redirection: Redirection) -> None:
        self._finder = finder
        self._redirection = redirection

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = self._finder.find_spec(name, path, target) if hasattr(self._finder, "find_spec") else None
        return None if spec is None else self._redirection.redirect(spec)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._finder, name)


_folders: dict[str, str] = {}


def _real(location: str) -> str:
    """Return *location* with its links followed; those of its folder are followed only once, as many modules lie in few
    folders.
    """
    folder, name = os.path.split(location)
    if folder not in _folders:
        _folders[folder] = os.path.realpath(folder)
    path = os.path.join(_folders[folder], name)  # noqa: PTH118
    return os.path.realpath(path) if os.path.islink(path) else path  # noqa: PTH114


class Session:
    """The watchers that run from before the first import of the workspace's to the end."""

    def __init__(self) -> None:
        self.request: dict[str, Any] = json.loads((_here / "request.json").read_text("utf-8"))
        copy = Path(self.request["copy"])
        self._redirection = Redirection(Path(self.request["original"]), copy)
        self._measurement = Measurement(copy, self.request["measure"], self.request["by_test"])
        suite: dict[str, Any] = self.request.get("suite") or {"known": None}
        if suite["known"] is None:
            self._watch: Any = None
        else:
            limit_s = suite["rest_s"] or suite["first_s"]
            self._watch = Watch(str(copy), suite["known"], limit_s, seconds, tell)
        limit_s = self.request.get("trace_s") or 0.0
        self._trace: Any = Trace(str(copy), limit_s, seconds, tell) if limit_s else None

    def start(self) -> None:
        """Begins to watch."""
        self._redirection.start()
        if self.request["measure"]:
            self._measurement.start()

    def enter(self, test: str) -> None:
        """Says that *test* runs from now on; empty for none."""
        self._measurement.enter(test)
        if self._watch is not None:
            self._watch.enter(test)
        if self._trace is not None:
            self._trace.enter(test)

    def finish(self) -> None:
        """Tells what was seen."""
        self.enter("")
        self._measurement.finish()
        self._redirection.finish()
