"""Runs tests on one mutant after the other, in forks of a process that has pytest ready.

It reads ``request.json`` beside itself, and writes a line to ``report.jsonl`` there for each mutant. The mutants are
written into the shadow of this run alone; the first and the last is the text as it was, whose tests must pass.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import rolecall_report  # pyright: ignore[reportMissingImports] -- it lies beside this file

if TYPE_CHECKING:
    from collections.abc import Sequence

_here = Path(__file__).resolve().parent
_failed = Path(tempfile.gettempdir(), "rolecall-failed.jsonl")


def main() -> int:
    """Try all mutants of the request; return the exit code."""
    request = json.loads((_here / "request.json").read_text("utf-8"))
    target = Path(request["copy"], request["path"])
    _forget_modules_in(request["copy"])
    for compiled in (target.parent / "__pycache__").glob(f"{target.stem}.*.pyc"):
        compiled.unlink()
    timeout_s = request["first_timeout_s"]
    with (_here / "report.jsonl").open("a", encoding="utf-8") as report:
        for trial in request["trials"]:
            (start, end), text = trial["span"], request["text"]
            mutant = f"{text[:start]}{trial['became']}{text[end:]}"
            target.write_bytes(mutant.encode("utf-8", "surrogatepass"))
            started = time.monotonic()
            _failed.write_bytes(b"")
            code = _run([*request["arguments"], *trial["tests"]], timeout_s)
            duration_s = time.monotonic() - started
            if trial is request["trials"][0]:  # pytest's own start counts: with many tests it takes longer than they do
                timeout_s = max(request["least_timeout_s"], request["slower_times"] * duration_s)
            failed = json.loads(f"[{_failed.read_text('utf-8').strip(',')}]")
            facts = {"kind": "trial", "number": trial["number"], "code": code, "failed": failed}
            report.write(json.dumps({**facts, "duration_s": duration_s}) + "\n")
            report.flush()
    return 0


def _forget_modules_in(folder: str) -> None:
    """Have the modules of *folder* imported anew: where pytest needs them itself, they are here without a fault."""
    for name, module in list(sys.modules.items()):
        if (getattr(module, "__file__", None) or "").startswith(f"{folder}{os.sep}"):
            del sys.modules[name]


class Failures:
    """Notes each test that fails, for the process that tries one mutant after the other."""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            with _failed.open("a", encoding="utf-8") as noted:
                noted.write(json.dumps(report.nodeid) + ",")


def _run(arguments: Sequence[str], timeout_s: float) -> int | None:
    """pytest's exit code in a fork, 128 + n after signal n, or ``None`` when it took too long."""
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        silence = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(silence, descriptor)
        code: Any = 3
        try:
            code = pytest.main(list(arguments), [rolecall_report, Failures()])
        finally:
            os._exit(int(code))
    deadline = time.monotonic() + timeout_s
    pause_s = 0.001
    while time.monotonic() < deadline:
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
