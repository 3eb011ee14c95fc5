"""At the end of every run: what was left out, and why. With ``CI=true`` anything left out fails the run.

And at its beginning: no model server of this machine is looked for, and signals are heard, whatever started us. A
shell that runs something in the background has it ignore interrupts, `nohup` the end of the terminal; children inherit
that, and nothing could be shown about either.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from support.stores import close_stores

settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")
"""Whether something is right does not depend on what else the machine is doing; speed is measured by benchmarks."""


TOGETHER = ("tests/e2e/vscode/", "tests/server/lsp/capabilities/")
"""Tests of such a folder run one after the other in one process: they share what takes long to make."""


def pytest_configure() -> None:
    os.environ.setdefault("ROLECALL_PROBE_LOCAL", "false")  # nobody's model is used for tests unasked
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object:
    """Return what deals out the tests to processes: one by one, but for those of `TOGETHER`."""
    from xdist.scheduler import LoadScopeScheduling

    class OneByOne(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return next((folder for folder in TOGETHER if nodeid.startswith(folder)), nodeid)

    return OneByOne(config, log)


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
