"""Runs tests on one mutant after the other, in forks of a process that has pytest ready.

It reads ``request.json`` beside itself, and writes a line to ``report.jsonl`` there for each mutant. The mutants are
written into the shadow of this run alone; the first and the last is the text as it was, whose tests must pass.

Where a mutant can be put into the functions that are imported, the fork is one of a session that has collected the
tests already. The others are tried by pytest from its beginning, which takes ten times as long and more.
"""

# pyright: basic, reportMissingImports=false

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import rolecall_report
from rolecall_in_place import LiveFunctions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_here = Path(__file__).resolve().parent
_report = _here / "report.jsonl"
_failed = Path(tempfile.gettempdir(), "rolecall-failed.jsonl")
_PASSED, _NOT_IN_PLACE = 0, 99


def main() -> int:
    """Try all mutants of the request; return the exit code."""
    request = json.loads((_here / "request.json").read_text("utf-8"))
    target = Path(request["copy"], request["path"])
    _forget_modules_in(request["copy"])
    # Python believes these by time in seconds and size, in which a mutant may be like the text before it.
    for compiled in (target.parent / "__pycache__").glob(f"{target.stem}.*.pyc"):
        compiled.unlink()
    request["there"] = {path.name for path in Path(request["copy"]).iterdir()}
    collected = _Collected(request, target)
    target.write_bytes(request["text"].encode("utf-8", "surrogatepass"))
    first, *mutants, last = request["trials"]
    # In a fork: what has to be tried from the beginning needs a process that has imported nothing of the workspace.
    _in_fork(lambda: collected.session([*request["arguments"], *first["tests"]]), None)
    tried = _numbers_told()
    if left := [trial for trial in mutants if trial["number"] not in tried]:
        _try([first, *left, last], request, target, lambda trial: _pytest([*request["arguments"], *trial["tests"]]))
    return 0


def _try(
    trials: Sequence[Mapping[str, Any]],
    request: Mapping[str, Any],
    target: Path,
    perform: Callable[[Mapping[str, Any]], int],
) -> None:
    """Perform each trial in a fork, and tell its end; none follows where the first, of the text as it was, fails."""
    timeout_s = request["first_timeout_s"]
    for trial in trials:
        _remove_others(request)
        target.write_bytes(_text_of(trial, request).encode("utf-8", "surrogatepass"))
        _failed.write_bytes(b"")
        started = time.monotonic()
        code = _in_fork(lambda: perform(trial), timeout_s)  # noqa: B023 - it is called here
        duration_s = time.monotonic() - started
        if trial is trials[0]:  # pytest's own start counts: with many tests it takes longer than they do
            timeout_s = max(request["least_timeout_s"], request["slower_times"] * duration_s)
        if code != _NOT_IN_PLACE:
            _tell(trial["number"], code, duration_s)
        if trial is trials[0] and code != _PASSED:
            return


def _remove_others(request: Mapping[str, Any]) -> None:
    """Remove what a mutant left where tests run: the next one must find that folder as the first did."""
    for path in [*Path(request["copy"]).iterdir()]:
        if path.name in request["there"]:
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            with suppress(OSError):
                path.unlink()


def _text_of(trial: Mapping[str, Any], request: Mapping[str, Any]) -> str:
    (start, end), text = trial["span"], request["text"]
    return f"{text[:start]}{trial['became']}{text[end:]}"


def _tell(number: int, code: int | None, duration_s: float) -> None:
    failed = json.loads(f"[{_failed.read_text('utf-8').strip(',')}]")
    facts = {"kind": "trial", "number": number, "code": code, "failed": failed, "duration_s": duration_s}
    with _report.open("a", encoding="utf-8") as report:
        report.write(json.dumps(facts) + "\n")


def _numbers_told() -> set[int]:
    records = [json.loads(line) for line in _report.read_text("utf-8").splitlines()] if _report.exists() else []
    return {record["number"] for record in records if record.get("kind") == "trial"}


def _forget_modules_in(folder: str) -> None:
    """Have the modules of *folder* imported anew: where pytest needs them itself, they are here without a fault."""
    for name, module in list(sys.modules.items()):
        if (getattr(module, "__file__", None) or "").startswith(f"{folder}{os.sep}"):
            del sys.modules[name]


class _Failures:
    """Notes each test that fails, for the process that tries one mutant after the other."""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            with _failed.open("a", encoding="utf-8") as noted:
                noted.write(json.dumps(report.nodeid) + ",")


class _Collected:
    """A session that collects the tests once, and tries in forks of itself the mutants that can be put in place."""

    def __init__(self, request: Mapping[str, Any], target: Path) -> None:
        self._request = request
        self._target = target
        self._functions = LiveFunctions(str(target), request["text"])

    def session(self, arguments: Sequence[str]) -> int:
        """Collect the tests that *arguments* name and try the mutants; return the exit code."""
        self._functions.watch()
        return _pytest(arguments, self)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self._functions.look()
        if not session.testsfailed:  # each file could be read
            _try(self._request["trials"], self._request, self._target, lambda trial: self._perform(session, trial))
        return True

    def _perform(self, session: pytest.Session, trial: Mapping[str, Any]) -> int:
        wanted = set(trial["tests"])
        items = [item for item in session.items if item.nodeid in wanted]
        if len(items) != len(wanted) or not self._functions.replace(_text_of(trial, self._request)):
            return _NOT_IN_PLACE
        for number, item in enumerate(items, start=1):
            following = items[number] if number < len(items) else None
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if session.shouldfail or session.shouldstop:
                break
        return 1 if session.testsfailed else _PASSED


def _pytest(arguments: Sequence[str], *plugins: object) -> int:
    return int(pytest.main(list(arguments), [rolecall_report, _Failures(), *plugins]))


def _in_fork(perform: Callable[[], int], timeout_s: float | None) -> int | None:
    """Return the exit code that *perform* gives in a fork, 128 + n after signal n; ``None`` when it took too long."""
    child = os.fork()
    if child == 0:
        # A group of its own, so that what a test starts can be ended together with it.
        os.setpgid(0, 0)
        silence = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(silence, descriptor)
        code = 3
        try:
            code = perform()
        finally:
            # Not `sys.exit`: a fork must not do what its parent will do at the end.
            os._exit(code)
    deadline = None if timeout_s is None else time.monotonic() + timeout_s
    pause_s = 0.001
    while deadline is None or time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            _end_group(child)
            return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        time.sleep(pause_s)
        pause_s = min(pause_s * 2, 0.02)
    _end_group(child)
    os.waitpid(child, 0)
    return None


def _end_group(group: int) -> None:
    with suppress(OSError):
        os.killpg(group, signal.SIGKILL)
