"""At the end of every run: what was left out, and why. With ``CI=true`` anything left out fails the run.

And at its beginning: no model server of this machine is looked for, and signals are heard, whatever started us. A
shell that runs something in the background has it ignore interrupts, `nohup` the end of the terminal; children inherit
that, and nothing could be shown about either.
"""

from __future__ import annotations

import gc
import os
import signal
import subprocess
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from support.prepared import PreparedPopen
from support.stores import close_stores

settings.register_profile("chance", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("same", settings.get_profile("chance"), derandomize=True)
settings.load_profile("chance" if os.environ.get("ROLECALL_CHANCE") else "same")
"""Nothing depends on what else the machine is doing; speed is measured by benchmarks. A change is judged by the same
examples each time; new ones are looked for by `make test-odd` and `make attack`, where there is time to mend them."""


TOGETHER = ("tests/e2e/vscode/", "tests/server/lsp/capabilities/")
"""Tests of such a folder run one after the other in one process: they share what takes long to make."""


LONGEST = (
    "tests/e2e/test_demo.py",
    "tests/e2e/test_killed_team.py",
    "tests/e2e/test_recorded_team.py",
    "tests/server/review/test_any_session.py",
    "tests/server/team/documents/test_markdown.py",
)
"""Tests that take half a minute begin first."""


FORKED = ("tests/e2e/", "tests/server/")
"""Tests in whose processes `rolecall` need not start anew; an attack is on what a user would have."""


AT_LENGTH = (
    "tests/analysis/languages/test_any_source.py",
    "tests/analysis/test_ignored.py",
    "tests/analysis/test_workers.py",
    "tests/attack/",
    "tests/server/cli/test_foreign_text.py",
    "tests/server/cli/test_interrupts.py",
    "tests/server/cli/test_leftovers.py",
    "tests/server/craft/doubt/test_disagreement.py",
    "tests/server/craft/probing/",
    "tests/server/craft/test_lookups_that_run.py",
    "tests/server/craft/test_promises.py",
    "tests/server/lsp/capabilities/",
    "tests/server/model/test_fault_matrix.py",
    "tests/server/model/test_faults.py",
    "tests/server/review/test_any_session.py",
    "tests/server/review/test_selection.py",
    "tests/server/sandbox/",
    "tests/server/store/test_database.py",
    "tests/server/team/documents/test_markdown.py",
    "tests/server/team/documents/test_mermaid.py",
    "tests/server/team/test_checkup.py",
    "tests/server/team/test_doubting.py",
    "tests/server/team/test_exfiltration.py",
    "tests/server/team/test_from_nothing.py::test_pytest_is_told_where_the_package_lies_that_it_does_not_find",
    "tests/server/team/test_from_nothing.py::test_what_no_such_setting_mends_goes_back_with_what_pytest_says",
    "tests/server/team/test_mending.py",
    "tests/server/team/test_operation.py",
    "tests/server/team/test_proving.py",
    "tests/server/team/test_shared_bench.py",
    "tests/server/team/test_trials.py",
    "tests/server/team/test_unmet.py",
    "tests/server/test_left_out.py",
    "tests/server/test_patterns.py",
    "tests/server/test_python_trees.py",
    "tests/server/test_settings_documents.py",
)
"""Tests that run programs, or try so many cases that it takes long: `make test-long` has them, `make test-fast` not."""


def pytest_configure() -> None:
    os.environ.setdefault("ROLECALL_PROBE_LOCAL", "false")  # nobody's model is used for tests unasked
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Read no file of which ``-m`` wants no test: to import it takes each process as long as a small test."""
    name = collection_path.relative_to(config.rootpath).as_posix()
    if collection_path.suffix != ".py":
        return None
    wanted = config.option.markexpr
    is_aside = (wanted == "not at_length" and name.startswith(AT_LENGTH)) or (
        wanted == "at_length" and not name.startswith(AT_LENGTH) and not any(one.startswith(name) for one in AT_LENGTH)
    )
    return is_aside or None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.nodeid.startswith(AT_LENGTH):
            item.add_marker("at_length")


@pytest.hookimpl(trylast=True, specname="pytest_collection_modifyitems")
def put_the_longest_first(items: list[pytest.Item]) -> None:
    """Have no process wait for another that began a long test last."""
    items.sort(key=lambda item: not item.nodeid.startswith(LONGEST))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Return how many processes ``-n auto`` has: twice as many as cores, for tests that wait half of their time."""
    return 2 * (os.cpu_count() or 1) if config.option.numprocesses == "auto" else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the garbage collector from what is collected: it took a third of that time, and a fifth of small tests."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object:
    """Return what deals out the tests to processes: one by one, but for those of `TOGETHER`."""
    from xdist.scheduler import LoadScopeScheduling

    class OneByOne(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return next((folder for folder in TOGETHER if nodeid.startswith(folder)), nodeid)

    return OneByOne(config, log)


@pytest.fixture(autouse=True)
def _rolecall_is_forked(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fork `rolecall` from a prepared parent, except where a test is about how it starts."""
    if request.node.nodeid.startswith(FORKED) and request.node.get_closest_marker("starts_anew") is None:
        monkeypatch.setattr(subprocess, "Popen", PreparedPopen)


@pytest.fixture(autouse=True)
def _stores_are_closed() -> Iterator[None]:
    yield
    close_stores()


def pytest_sessionfinish(session: pytest.Session) -> None:
    if os.environ.get("CI") == "true" and session.exitstatus == pytest.ExitCode.OK and _left_out(session.config):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    left_out = _left_out(config)
    if not left_out:
        return
    terminalreporter.section("left out")
    for reason, names in left_out.items():
        terminalreporter.write_line(f"{reason}: {len(names)} (such as {names[0]})")
    if os.environ.get("CI") == "true":
        terminalreporter.write_line("With CI=true nothing may be left out: the run fails.", red=True)


def _left_out(config: pytest.Config) -> dict[str, list[str]]:
    """The tests that were skipped, by reason."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    found: dict[str, list[str]] = {}
    for report in reporter.stats.get("skipped", ()) if reporter else ():
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        found.setdefault(reason.removeprefix("Skipped: "), []).append(report.nodeid)
    return found
