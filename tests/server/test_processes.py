"""A process is known again by its number and its start, whatever the clock says and whoever has the number later."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolecall_server.processes import ProcessId, named_process, still_runs, this_process


@contextmanager
def clock_set_by(shift_s: int) -> Generator[None]:
    """Have the kernel say what it would after the clock was set: that the machine started at another time."""
    kernel = Path("/proc/stat").read_text("ascii")
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as settings:
        Path(folder, "stat").write_text(re.sub(r"(?m)(?<=^btime )\d+", lambda at: str(int(at[0]) + shift_s), kernel))
        Path(folder, str(os.getpid())).symlink_to(f"/proc/{os.getpid()}")
        settings.setattr(psutil, "PROCFS_PATH", folder)
        yield


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the kernel keeps the time at which a process began")
@given(before_s=st.integers(-(10**9), 10**9), after_s=st.integers(-(10**9), 10**9))
def test_a_process_is_known_again_after_the_clock_was_set(before_s: int, after_s: int) -> None:
    with clock_set_by(before_s):
        told, began_s = this_process(), psutil.Process().create_time()
    with clock_set_by(after_s):
        assert psutil.Process().create_time() - began_s == pytest.approx(after_s - before_s, abs=1e-3), "it was set"
        assert still_runs(told)
        assert this_process() == told


def test_a_process_that_nobody_has_waited_for_has_ended() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        assert still_runs(ProcessId(process.pid))
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert not still_runs(ProcessId(process.pid))


@given(off=st.integers(-(10**12), 10**12))
def test_who_has_the_number_of_a_process_that_ended_is_another(off: int) -> None:
    number, start = this_process()
    assert start is not None
    assert still_runs(ProcessId(number, start + off)) == (off == 0)


@given(number=st.integers())
def test_no_number_is_too_odd_to_be_asked_about(number: int) -> None:
    assert not still_runs(ProcessId(number, -1))


def test_where_an_earlier_rolecall_stored_the_number_only_that_decides() -> None:
    assert still_runs(ProcessId(os.getpid()))
    assert not still_runs(ProcessId(4_194_305)), "no system gives a process that number"


@given(st.integers(0, 10**10 - 1), st.integers(0, 10**18 - 1), st.text())
def test_a_name_tells_which_process_gave_it(number: int, start: int, rest: str) -> None:
    process = ProcessId(number, start)
    assert named_process(f"{process}-{rest}") == process


@pytest.mark.parametrize(
    ("name", "process"),
    [
        ("12-abc", ProcessId(12)),
        ("12-345", ProcessId(12)),
        ("12-demo-3", ProcessId(12)),
        ("12-345-", ProcessId(12, 345)),
        ("12", None),
        ("-12-3", None),
        ("notes-12-", None),
        ("\u0661-", None),
        ("1" * 5000 + "-", None),
    ],
)
def test_names_that_an_earlier_rolecall_or_somebody_else_gave(name: str, process: ProcessId | None) -> None:
    assert named_process(name) == process
