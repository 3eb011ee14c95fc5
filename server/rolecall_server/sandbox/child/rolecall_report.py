"""A pytest plugin, handed to the interpreter that runs the workspace's tests: it tells, line by line, what happens.

It reads ``request.json`` beside itself and writes ``report.jsonl`` there, unbuffered, so that a crash or a timeout
keeps what was told before. It measures coverage, and sends imports that an editable installation would lead to the
workspace itself into the copy under test. The interpreter may be as old as Python 3.8.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from functools import partial
from importlib.machinery import BuiltinImporter, FrozenImporter, ModuleSpec, PathFinder
from importlib.util import spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from types import ModuleType

    from coverage import Coverage

_MESSAGE_CHARACTERS = 1_000
_DETAIL_CHARACTERS = 6_000
_QUIET = ["already-imported", "module-not-imported", "no-ctracer", "no-data-collected", "no-sysmon"]

_here = Path(__file__).resolve().parent
_owner = os.getpid()
# Opened once and bound to its function: a test may have replaced `open` and `os` for its own purposes.
_append = partial(os.write, os.open(_here / "report.jsonl", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600))


def _tell(kind: str, **facts: object) -> None:
    # A fork of the tests' process tells nothing.
    if os.getpid() == _owner:
        _append(json.dumps({"kind": kind, **facts}).encode() + b"\n")


class Reporter:
    """The hooks that tell how the session and its tests go."""

    def __init__(self) -> None:
        self._messages: dict[tuple[str, str], str] = {}

    @pytest.hookimpl(hookwrapper=True)
    def pytest_load_initial_conftests(self) -> Generator[None, Any, None]:
        """Tells of a ``conftest.py`` that cannot be imported, which pytest itself only prints."""
        result = yield
        error: Any = result.excinfo[1] if result.excinfo else None
        if type(error).__name__ == "ConftestImportFailure":
            cause: BaseException = error.__cause__ or getattr(error, "cause", None) or error
            detail = "".join(traceback.format_exception(type(cause), cause, cause.__traceback__))
            _tell_report(str(error.path), "collect", "failed", message=_message(cause), detail=detail)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Generator[None, Any, None]:
        result = yield
        report = result.get_result()
        excinfo = getattr(getattr(report, "call", None), "excinfo", None)
        if report.failed and excinfo is not None:
            error = excinfo.value
            self._messages[report.nodeid, "collect"] = _message(error.__cause__ or error)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if not report.passed:
            self._tell_outcome(report, "collect")

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        _tell("start", test=nodeid)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[Any]) -> Generator[None, Any, None]:
        yield
        if call.excinfo is not None:
            self._messages[item.nodeid, call.when] = _message(call.excinfo.value)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._tell_outcome(report, report.when or "call")

    def _tell_outcome(self, report: pytest.TestReport | pytest.CollectReport, when: str) -> None:
        expected = getattr(report, "wasxfail", None)
        message = self._messages.pop((report.nodeid, when), "")
        detail = ""
        if expected is not None:
            message = expected.replace("reason: ", "", 1)
        elif report.skipped and isinstance(report.longrepr, tuple):
            message = str(report.longrepr[2]).replace("Skipped: ", "", 1)
        elif report.failed:
            detail = report.longreprtext
            message = message or (detail.strip().splitlines() or [""])[-1]
        _tell_report(
            report.nodeid,
            when,
            report.outcome,
            expected=expected is not None,
            duration_s=getattr(report, "duration", 0.0),
            message=message,
            detail=detail,
        )


def _tell_report(test: str, when: str, outcome: str, *, message: str, detail: str, **facts: object) -> None:
    if len(detail) > _DETAIL_CHARACTERS:
        head = _DETAIL_CHARACTERS // 3
        detail = detail[:head] + "\n[...]\n" + detail[head - _DETAIL_CHARACTERS :]
    _tell(
        "report",
        test=test,
        when=when,
        outcome=outcome,
        message=message[:_MESSAGE_CHARACTERS],
        detail=detail,
        **facts,
    )


def _message(error: Any) -> str:
    """*error* in one line."""
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

    def __init__(self, root: Path, paths: Sequence[str]) -> None:
        self._root = root
        self._paths = paths
        self._coverage: Coverage | None = None

    def start(self) -> None:
        """Begins to measure, with what the repository says should not count."""
        with _Unmeasured("coverage.py does not work in this interpreter"):
            from coverage import Coverage

            wanted = [str(self._root / path) for path in self._paths]
            measuring = Coverage(data_file=None, branch=True, config_file=False, include=wanted)
            with _Unmeasured("the repository's coverage settings were left aside"):
                configured = Coverage(data_file=None)
                for option in ("report:exclude_lines", "report:partial_branches", "run:concurrency"):
                    if value := configured.get_option(option):
                        measuring.set_option(option, value)
            measuring.set_option("run:disable_warnings", _QUIET)
            measuring.start()
            self._coverage = measuring

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_sessionfinish(self) -> Generator[None, Any, None]:
        yield
        if self._coverage is not None:
            self._coverage.stop()
            for path in self._paths:
                with _Unmeasured(path):
                    self._tell_file(path, self._coverage)

    def _tell_file(self, path: str, measured: Coverage) -> None:
        location = self._root / path
        if not location.is_file():
            _tell("unmeasured", reason=f"{path} does not exist")
            return
        target = _here / "coverage.json"
        measured.json_report(morfs=[str(location)], outfile=str(target))
        (facts,) = json.loads(target.read_text("utf-8"))["files"].values()
        _tell(
            "coverage",
            path=path,
            executed=sorted(set(facts["executed_lines"]) - set(facts["excluded_lines"])),
            missing=facts["missing_lines"],
            branches_total=facts["summary"]["num_branches"],
            branches_covered=facts["summary"]["covered_branches"],
        )


class _Unmeasured:
    """Tells why something was not measured, and lets the tests go on: any error of coverage.py is one of these."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if isinstance(error, Exception):
            _tell("unmeasured", reason=f"{self._what}: {_message(error)}")
            return True
        return False


class Redirection:
    """Keeps imports in the copy, where an editable installation leads to the workspace itself."""

    def __init__(self, original: Path, copy: Path) -> None:
        self._original = original
        self._copy = copy
        environment = [Path(os.path.realpath(prefix)) for prefix in (sys.prefix, sys.base_prefix)]
        self._kept = [folder for folder in (copy, *environment) if _is_below(folder, original)]

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

    @pytest.hookimpl(hookwrapper=True)
    def pytest_sessionfinish(self) -> Generator[None, Any, None]:
        yield
        loaded = [(name, getattr(module, "__file__", None)) for name, module in sorted(sys.modules.items())]
        foreign = [name for name, file in loaded if isinstance(file, str) and self._in_copy(file)]
        if foreign:
            _tell("foreign", modules=foreign)

    def redirect(self, spec: ModuleSpec) -> ModuleSpec | None:
        """*spec*, or that of the same file in the copy; ``None`` when the copy has no such file."""
        location = self._in_copy(spec.origin) if spec.origin else None
        if location is None:
            return spec
        folders = [str(location.parent)] if spec.submodule_search_locations is not None else None
        if not location.is_file():
            return None
        return spec_from_file_location(spec.name, str(location), submodule_search_locations=folders)

    def _in_copy(self, location: str) -> Path | None:
        """Where the copy has what the workspace itself has at *location*; ``None`` for a place elsewhere."""
        if not Path(location).is_absolute():
            return None
        real = Path(os.path.realpath(location))
        if not _is_below(real, self._original) or any(_is_below(real, kept) for kept in self._kept):
            return None
        return self._copy / real.relative_to(self._original)


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


class Ending:
    """Tells, after every other plugin, that the session has come to its end."""

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, Any, None]:
        yield
        _tell("end", exit_code=int(session.exitstatus))


def _is_below(path: Path, folder: Path) -> bool:
    return path == folder or folder in path.parents


def _begin(manager: pytest.PytestPluginManager) -> None:
    request = json.loads((_here / "request.json").read_text("utf-8"))
    copy = Path(request["copy"])
    redirection = Redirection(Path(request["original"]), copy)
    redirection.start()
    manager.register(Reporter(), "rolecall-reporter")
    manager.register(redirection, "rolecall-redirection")
    if request["measure"]:
        measurement = Measurement(copy, request["measure"])
        measurement.start()
        manager.register(measurement, "rolecall-measurement")
    manager.register(Ending(), "rolecall-ending")


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Begins: this is the first hook pytest calls, as soon as the plugin is registered."""
    _begin(pluginmanager)
