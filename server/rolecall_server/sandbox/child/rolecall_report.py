"""A pytest plugin, handed to the interpreter that runs the workspace's tests: it tells what happens to each.

Its own assertions need no explaining, which pytest would take its time for: PYTEST_DONT_REWRITE.
"""

# pyright: basic, reportMissingImports=false

from __future__ import annotations

import glob
import os
import random
import traceback
from fnmatch import fnmatch
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest
from rolecall_session import (
    Session,
    message_of,
    seconds,
    tell,
    tell_report,
)
from rolecall_watch import name_of

if TYPE_CHECKING:
    from collections.abc import Generator

_PYTESTS_OWN_NAMES = ["test_*.py", "*_test.py"]
_RUN_BY_NAME = ("test.py", "tests.py")


class Reporter:
    """The hooks that tell how the session and its tests go."""

    def __init__(self) -> None:
        self._messages: dict[tuple[str, str], str] = {}
        self._told: set[str] = set()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Generator[None, Any, None]:
        result = yield
        report = result.get_result()
        excinfo = getattr(getattr(report, "call", None), "excinfo", None)
        if report.failed and excinfo is not None:
            error = excinfo.value
            self._messages[report.nodeid, "collect"] = message_of(error.__cause__ or error)
            if conftest := _found_on_the_way(error, "conftestpath"):
                _tell_fault(error, conftest=str(conftest))
                self._told.add(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if not report.passed and report.nodeid not in self._told:
            self._tell_outcome(report, "collect")

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        tell("chosen", tests=[item.nodeid for item in session.items])

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        tell("start", test=nodeid)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[Any]) -> Generator[None, Any, None]:
        yield
        if call.excinfo is not None:
            self._messages[item.nodeid, call.when] = message_of(call.excinfo.value)

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
        tell_report(
            report.nodeid,
            when,
            report.outcome,
            expected=expected is not None,
            duration_s=getattr(report, "duration", 0.0),
            message=message,
            detail=detail,
        )


def _tell_fault(error: Any, conftest: str = "", **facts: object) -> None:
    """Tell what keeps pytest, or a folder of tests, from beginning; a ``conftest.py`` as a test that broke too."""
    cause: BaseException = error.__cause__ or getattr(error, "cause", None) or error
    if conftest:
        detail = "".join(traceback.format_exception(type(cause), cause, cause.__traceback__))
        tell_report(conftest, "collect", "failed", message=message_of(cause), detail=detail)
    is_usage = isinstance(error, pytest.UsageError) and not conftest
    tell("fault", conftest=conftest, message=str(error) if is_usage else message_of(cause), **facts)


def _found_on_the_way(error: BaseException, name: str) -> Any:
    """Return the value of pytest's local *name* where it was on the way to *error*; ``None`` where it was not."""
    frames = traceback.walk_tb(error.__traceback__)
    return next((frame.f_locals[name] for frame, _ in frames if name in frame.f_locals), None)


def _pass_over(conftest: str, pluginmanager: Any) -> None:
    """Have pytest take the ``conftest.py`` at this place for one that was imported and is empty."""
    nothing = ModuleType("conftest")
    pluginmanager.register(nothing, conftest)
    if hasattr(pluginmanager, "_conftestpath2mod"):  # before pytest 7
        pluginmanager._conftestpath2mod[Path(conftest)] = nothing


class Order:
    """An order of its own: of files, of classes in a file, of tests in a class."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    # Last of all plug-ins, so that no other one sorts them again.
    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        chance = random.Random(self._seed)  # noqa: S311
        places: dict[object, float] = {}
        items.sort(key=lambda item: [places.setdefault(node, chance.random()) for node in item.listchain()])


class Suite:
    """All tests that there are, some files first, and none begun too late."""

    def __init__(self, wanted: dict[str, Any]) -> None:
        self._ranks = {path: rank for rank, path in enumerate(wanted["first"])}
        self._later = frozenset(wanted["later"])
        self._first_s, self._rest_s = wanted["first_s"], wanted["rest_s"]
        self._is_alone = wanted["is_alone"]
        self._failing: set[str] = set()
        self._read: set[str] = set()
        self._deselected: set[str] = set()

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self, session: pytest.Session) -> None:
        """Take in ``tests.py`` among the first files: pytest's own names leave it out, and it is run by being named."""
        names = session.config.getini("python_files")
        if [*names] == _PYTESTS_OWN_NAMES:
            alone = [path for path in self._ranks if path.rpartition("/")[2] in _RUN_BY_NAME]
            names += [glob.escape(str(Path.cwd() / path)) for path in alone]

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        (self._read if report.passed else self._failing).add(report.nodeid.partition("::")[0])

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        self._deselected.update(map(_path_of, items))

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        found = self._failing.union(map(_path_of, items))
        left_out = {path: self._why_left_out(path, config) for path in self._ranks if path not in found}
        tell("collected", tests=0 if self._is_alone else len(items), left_out=left_out)
        items.sort(key=lambda item: (not self._is_first(item), self._ranks.get(_path_of(item), len(self._ranks))))

    def _is_first(self, item: pytest.Item) -> bool:
        return _path_of(item) in self._ranks and name_of(item.nodeid) not in self._later

    def _why_left_out(self, path: str, config: pytest.Config) -> str:
        names, folders = config.getini("python_files"), config.getini("testpaths")
        if path in self._deselected:
            return "-m or -k deselects its tests"
        if path in self._read:
            return "it holds no test"
        if not any(fnmatch(path if "/" in name else path.rpartition("/")[2], name) for name in names):
            return f"its name does not match python_files ({' '.join(names)})"
        if folders and not any(path == folder or path.startswith(f"{folder.rstrip('/')}/") for folder in folders):
            return f"it lies outside of testpaths ({' '.join(folders)})"
        return "a conftest.py, --ignore or norecursedirs leaves it out"

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> bool | None:
        """Pass over a test that would begin too late."""
        limit_s = self._first_s if self._is_first(item) else self._rest_s
        # True tells pytest that somebody has dealt with the test: it is neither run nor reported.
        return True if seconds() >= limit_s else None


def _path_of(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]


class Alone:
    """A plugin that keeps only some of the files that the repository would collect: the others are not even read."""

    def __init__(self, root: str, wanted: list[str]) -> None:
        self._folder = f"{root}/"
        self._wanted = {f"{root}/{path}" for path in wanted}

    if hasattr(pytest, "version_tuple"):

        @pytest.hookimpl(tryfirst=True)
        def pytest_ignore_collect(self, collection_path: Path) -> bool | None:  # pyright: ignore[reportRedeclaration]
            return self._is_aside(str(collection_path))

    else:

        @pytest.hookimpl(tryfirst=True)
        def pytest_ignore_collect(self, path: Any) -> bool | None:  # before pytest 7
            return self._is_aside(str(path))

    def _is_aside(self, location: str) -> bool | None:
        name = location.rpartition("/")[2]
        is_another = location not in self._wanted and name not in ("conftest.py", "__init__.py") and "." in name
        return True if is_another and location.startswith(self._folder) and os.path.isfile(location) else None  # noqa: PTH113


class Watch:
    """Has the session watched, and tells, after every other plugin, that it has come to its end."""

    def __init__(self, session: Session) -> None:
        self._session = session

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, None]:
        self._session.enter(item.nodeid)
        yield
        self._session.enter("")

    # A wrapper that comes first is the outermost: what stands below its `yield` comes last.
    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, Any, None]:
        result = yield
        self._session.finish()
        tell("end", exit_code=int(session.exitstatus), is_broken=result.excinfo is not None)


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Begins: this is the first hook pytest calls, as soon as the plugin is registered."""
    session = Session()
    session.start()
    for conftest in session.request.get("passed_over", ()):
        _pass_over(conftest, pluginmanager)
    pluginmanager.register(Reporter(), "rolecall-reporter")
    if session.request.get("suite") is not None:
        suite = session.request["suite"]
        pluginmanager.register(Suite(suite), "rolecall-suite")
        if suite["is_alone"]:
            pluginmanager.register(Alone(session.request["copy"], suite["first"]), "rolecall-alone")
    if (seed := session.request["order_seed"]) is not None:
        pluginmanager.register(Order(seed), "rolecall-order")
    pluginmanager.register(Watch(session), "rolecall-watch")


@pytest.hookimpl(hookwrapper=True)
def pytest_cmdline_parse(pluginmanager: pytest.PytestPluginManager) -> Generator[None, Any, None]:
    """Tell what keeps pytest from beginning, which it only prints itself."""
    result = yield
    if result.excinfo:
        error = result.excinfo[1]
        installed = _found_on_the_way(error, "ep")
        _tell_fault(
            error,
            conftest=str(_found_on_the_way(error, "conftestpath") or ""),
            installed=getattr(installed, "name", ""),
            named=str(_found_on_the_way(error, "modname") or ""),
            addopts=_addopts(pluginmanager),
        )


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_collection(session: pytest.Session) -> Generator[None, Any, None]:
    """Tell of an option of the configuration that pytest does not know: it says so only after it has collected."""
    result = yield
    if result.excinfo and isinstance(result.excinfo[1], (pytest.UsageError, pytest.PytestConfigWarning)):
        _tell_fault(result.excinfo[1], addopts=_addopts(session.config.pluginmanager))


def _addopts(pluginmanager: Any) -> list[str]:
    try:
        return [str(option) for option in pluginmanager.get_plugin("pytestconfig").getini("addopts")]
    except Exception:  # noqa: BLE001  a configuration that cannot be read has none
        return []
