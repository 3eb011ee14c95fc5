"""Ending a command early: Ctrl+C is never lost, and nothing under way keeps a command from ending."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from support.patience import PATIENCE_S
from support.terminal import in_terminal
from support.workspaces import FILES, environment, write_workspace

EARLY = """
import signal, sys, threading, time
from rolecall_server.cli.screen import Screen
from rolecall_server.cli.boundary import exit_code_of
from rolecall_server.cli.screen import ask
from rolecall_server.cli.interrupts import end_like_ctrl_c

# A signal that strikes just before the system begins to read interrupts no read. As if it always struck then,
# another thread is struck here.
threading.Thread(target=time.sleep, args=(3600,), daemon=True).start()
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
"""
ASKING = f"""{EARLY}
sys.exit(exit_code_of(lambda: ask(Screen(), "Go on?", "yn", "") == "y", as_json=False))
"""
READING = f"""{EARLY}
end_like_ctrl_c()
try:
    input("Go on? [y,n,?] ")
except KeyboardInterrupt:
    print("interrupted")
else:
    print("read a line")
"""
STUCK = """
import asyncio, sys, time
from rolecall_server.cli.boundary import exit_code_of
from rolecall_server.cli import interrupts
from rolecall_server.cli.interrupts import end_without_threads, run_until_interrupted

interrupts._TIDYING_S, interrupts._BACKSTOP_S = {limits}

async def work():
    print("working", flush=True)
    {work}

code = exit_code_of(lambda: run_until_interrupted(work()), as_json=False)
end_without_threads(code)
sys.exit(code)
"""
LOST = """
import signal, sys, time
from rolecall_server.cli.boundary import exit_code_of

class Callback:
    def __del__(self):
        signal.raise_signal(signal.SIGTERM)
        print("not reached")

def work():
    Callback()
    while True:
        time.sleep(1)

sys.exit(exit_code_of(work, as_json=False))
"""
TWICE = """
import asyncio, os, signal, sys
from rolecall_server.cli.boundary import exit_code_of
from rolecall_server.cli.interrupts import run_until_interrupted

async def first():
    os.kill(os.getpid(), {number})

def command():
    run_until_interrupted(first())
    print("went on")
    return 0

sys.exit(exit_code_of(command, as_json=False))
"""
ROLECALL = """
import sys
from rolecall_server.__main__ import main
from rolecall_server.cli import interrupts

interrupts._TIDYING_S, interrupts._BACKSTOP_S = 50, 55
sys.exit(main())
"""
IN_A_THREAD = "await asyncio.to_thread(time.sleep, 3600)"
IN_THE_LOOP = "time.sleep(3600)"
IN_A_TASK = "await asyncio.sleep(3600)"

pytestmark = pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="Windows has no such signals")


def test_ctrl_c_between_a_question_and_its_answer_is_heard(tmp_path: Path) -> None:
    with in_terminal([sys.executable, "-c", ASKING], tmp_path, os.environ) as terminal:
        terminal.wait_for(",?] ")
        until_it_waits(terminal.process.pid)
        terminal.type("\x03")
        assert terminal.wait_for_end() == 130
        assert "Cancelled; nothing was written." in terminal.shown


def test_where_python_alone_reads_such_a_ctrl_c_waits_for_the_next_line(tmp_path: Path) -> None:
    with in_terminal([sys.executable, "-c", READING], tmp_path, os.environ) as terminal:
        terminal.wait_for(",?] ")
        until_it_waits(terminal.process.pid)
        terminal.type("\x03")
        terminal.wait_for("^C")
        terminal.type("y\n")
        terminal.wait_for_end()
        assert "^Cy" in terminal.shown, "it was still reading: the control shows what the trap is"


def test_an_answer_is_read_as_before(tmp_path: Path) -> None:
    with in_terminal([sys.executable, "-c", ASKING], tmp_path, os.environ) as terminal:
        terminal.wait_for(",?] ")
        terminal.type("y\n")
        assert terminal.wait_for_end() == 1, "True as an exit code"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_command_ends_soon_though_its_work_cannot_be_cancelled(number: int) -> None:
    status, said = ended_by(number, IN_THE_LOOP)
    assert status == 130
    assert "Stopped; what was under way was broken off." in said


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("work", [IN_A_TASK, IN_A_THREAD])
def test_a_command_whose_work_can_be_cancelled_or_left_to_a_thread_ends_tidily(work: str, number: int) -> None:
    status, said = ended_by(number, work, (PATIENCE_S, PATIENCE_S))  # a busy machine needs longer to be tidy
    assert status == 130
    assert "broken off" not in said
    assert "Cancelled; nothing was written." in said


def test_a_signal_that_comes_too_late_to_cancel_what_is_done_keeps_the_command_from_going_on() -> None:
    command = [sys.executable, "-c", TWICE.format(number=int(signal.SIGTERM))]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert (ended.returncode, ended.stdout) == (130, "")
    assert "Cancelled; nothing was written." in ended.stderr


def test_a_signal_that_strikes_where_nothing_can_be_raised_is_heard_right_after_that() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", LOST], capture_output=True, text=True, check=False, timeout=PATIENCE_S
    )
    assert (ended.returncode, ended.stdout) == (130, "")
    assert ended.stderr == "Cancelled; nothing was written.\n"


def test_a_command_that_reads_the_repository_ends_tidily_though_those_who_read_do_not_answer(tmp_path: Path) -> None:
    root = write_workspace(tmp_path / "shop", {**FILES, "shop/large.py": "x = 1\n" * 100_000})
    command = [sys.executable, "-I", "-c", ROLECALL, "tests", "shop/price.py", "--yes"]
    environ, pipe = environment(tmp_path / "home", "http://127.0.0.1:9"), subprocess.PIPE
    readers: list[psutil.Process] = []
    with subprocess.Popen(command, cwd=root, env=environ, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            while not readers and process.poll() is None:
                time.sleep(0.01)
                readers = psutil.Process(process.pid).children()
            for reader in readers:
                reader.suspend()
            process.send_signal(signal.SIGTERM)
            process.wait(PATIENCE_S)
        finally:
            for left in (*readers, process):
                with contextlib.suppress(psutil.NoSuchProcess):
                    left.kill()
        _, said = process.communicate()
    assert (process.returncode, "broken off" in said) == (130, False), said
    assert "Cancelled; nothing was written." in said


def until_it_waits(pid: int) -> None:
    """Return once the process has slept for some time, as one does that waits for input."""
    n_asleep = 0
    while n_asleep < 30:
        time.sleep(0.01)
        n_asleep = n_asleep + 1 if psutil.Process(pid).status() == psutil.STATUS_SLEEPING else 0


def ended_by(number: int, work: str, limits: tuple[float, float] = (4.0, 4.8)) -> tuple[int, str]:
    """Send a signal to a command in the middle of *work*; its exit status and what it said."""
    command = [sys.executable, "-c", STUCK.format(work=work, limits=limits)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(number)
        try:
            _, said = process.communicate(timeout=PATIENCE_S)
        finally:
            process.kill()
        return process.returncode, said
