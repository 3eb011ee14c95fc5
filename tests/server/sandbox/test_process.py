"""What is promised of every command that is run: it ends, all of it, and says no more than is wanted."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import textwrap
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolecall_server.sandbox.walls.process import RUN_MARKER, CappedOutput, ProcessEnd, run_process
from support.patience import PATIENCE_S

NAP = """
import os, time
with open(os.environ["PIDS"], "a") as pids:
    pids.write(f"{os.getpid()}\\n")
time.sleep(600)
"""

DAEMON = f"""
import os, signal, sys, time
from pathlib import Path

NAP = {NAP!r}
PIDS = Path(os.environ["PIDS"])

def daemon(is_marked):
    if os.fork() == 0:
        os.setsid()
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        if os.fork():
            os._exit(0)
        os.execve(sys.executable, [sys.executable, "-c", NAP], os.environ if is_marked else {{"PIDS": str(PIDS)}})

def nap():
    exec(NAP)

def wait_for(count):
    while not PIDS.exists() or PIDS.read_text().count("\\n") < count:
        time.sleep(0.01)
"""


async def run_python(code: str, cwd: Path, timeout_s: float = PATIENCE_S, **environment: str) -> ProcessEnd:
    return await run_process(
        [sys.executable, "-c", textwrap.dedent(code)], cwd=cwd, environment=environment, timeout_s=timeout_s
    )


def script(code: str) -> str:
    return DAEMON + textwrap.dedent(code)


def alive(pids: Path) -> list[int]:
    return [pid for pid in map(int, pids.read_text().split()) if is_alive(pid)]


def is_alive(pid: int) -> bool:
    try:
        # An init that does not reap leaves zombies, which are dead all the same.
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():
            await asyncio.sleep(0.01)


async def test_output_and_exit_code_are_those_of_the_command(tmp_path: Path) -> None:
    end = await run_python(
        "import sys; print('out'); sys.stdout.flush(); print('err', file=sys.stderr); sys.exit(3)", tmp_path
    )
    assert (end.exit_code, end.output.splitlines(), end.timed_out) == (3, ["out", "err"], False)


async def test_a_signal_is_told_as_a_shell_tells_it(tmp_path: Path) -> None:
    end = await run_python("import os; os.kill(os.getpid(), 11)", tmp_path)
    assert end.exit_code == 128 + signal.SIGSEGV


async def test_a_program_that_does_not_exist_is_an_exit_code_and_not_an_exception(tmp_path: Path) -> None:
    end = await run_process([str(tmp_path / "absent")], cwd=tmp_path, environment={}, timeout_s=PATIENCE_S)
    assert end.exit_code == 127
    assert "absent" in end.output


async def test_a_folder_that_does_not_exist_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        await run_python("", tmp_path / "absent")


async def test_the_command_sees_the_environment_it_is_given_and_nothing_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary")
    code = """
        import os, pathlib
        print(sorted(os.environ))
        for process in (os.getpid(), os.getppid()):
            print(pathlib.Path(f"/proc/{process}/environ").read_bytes())
    """
    end = await run_python(code, tmp_path, LANG="C.UTF-8", GIVEN="yes")
    assert end.output.splitlines()[0] == str(sorted(["LANG", "GIVEN", RUN_MARKER]))
    assert "canary" not in end.output


async def test_standard_input_is_empty(tmp_path: Path) -> None:
    end = await run_python("import sys; print(repr(sys.stdin.read()))", tmp_path)
    assert end.output == "''\n"


@pytest.fixture
def deaf_to_interrupts() -> Iterator[None]:
    """This process as a shell starts it in the background: with SIGINT ignored, which children inherit."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("deaf_to_interrupts")
async def test_no_signal_that_python_ignores_is_ignored_by_the_command(tmp_path: Path) -> None:
    end = await run_process(
        ["/bin/sh", "-c", "grep SigIgn /proc/self/status"],
        cwd=tmp_path,
        environment={"PATH": "/usr/bin:/bin"},
        timeout_s=PATIENCE_S,
    )
    ignored = int(end.output.split()[1], 16)
    assert not any(ignored & 1 << (number - 1) for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT))


async def test_a_timeout_kills_the_whole_process_tree(tmp_path: Path) -> None:
    code = script("""
        daemon(is_marked=True)
        daemon(is_marked=False)
        wait_for(2)
        print("both run", flush=True)
        time.sleep(600)
    """)
    for timeout_s in (3, 30, PATIENCE_S):  # a slow machine takes longer until both run
        pids = tmp_path / f"pids within {timeout_s:g} s"
        end = await run_python(code, tmp_path, timeout_s=timeout_s, PIDS=str(pids))
        assert end.timed_out
        assert not pids.exists() or alive(pids) == []
        if end.output:
            break
    assert end.output == "both run\n"
    assert len(pids.read_text().split()) == 2


async def test_daemons_do_not_outlive_a_command_that_ends_by_itself(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    end = await asyncio.wait_for(
        run_python(script("daemon(is_marked=False); wait_for(1)"), tmp_path, PIDS=str(pids)), PATIENCE_S
    )
    assert end.exit_code == 0
    assert alive(pids) == []


async def test_a_command_that_kills_its_supervisor_leaves_nothing_either(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    code = script("""
        daemon(is_marked=True)
        wait_for(1)
        os.kill(os.getppid(), signal.SIGKILL)
        nap()
    """)
    end = await asyncio.wait_for(run_python(code, tmp_path, PIDS=str(pids)), PATIENCE_S)
    assert end.exit_code == 128 + signal.SIGKILL
    assert alive(pids) == []


async def test_a_start_that_is_cancelled_at_any_moment_ends_and_leaves_no_process(tmp_path: Path) -> None:
    for tenth_ms in range(60):
        task = asyncio.ensure_future(run_python("import time; time.sleep(600)", tmp_path, NAMED=str(tmp_path)))
        await asyncio.sleep(tenth_ms / 10_000)
        task.cancel()
        await asyncio.wait([task], timeout=PATIENCE_S)
        assert task.cancelled(), f"after {tenth_ms / 10} ms"
        assert [each for each in psutil.process_iter(["environ"]) if is_named(each, tmp_path)] == []


def is_named(process: psutil.Process, folder: Path) -> bool:
    return (process.info["environ"] or {}).get("NAMED") == str(folder)


async def test_cancellation_kills_the_whole_process_tree_before_it_is_over(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    task = asyncio.ensure_future(run_python(script("daemon(is_marked=False); nap()"), tmp_path, PIDS=str(pids)))
    await until(lambda: pids.exists() and len(pids.read_text().split()) == 2)
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert alive(pids) == []


async def test_when_the_server_is_killed_its_runs_end(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    program = tmp_path / "program.py"
    program.write_text(script("daemon(is_marked=False); nap()"))
    server = f"""
import asyncio, pathlib, sys
from rolecall_server.sandbox.walls.process import run_process
asyncio.run(run_process([sys.executable, {str(program)!r}], cwd=pathlib.Path({str(tmp_path)!r}),
                        environment={{"PIDS": {str(pids)!r}}}, timeout_s=600))
"""
    with subprocess.Popen([sys.executable, "-c", server]) as process:
        await until(lambda: pids.exists() and len(pids.read_text().split()) == 2)
        process.kill()
    await until(lambda: alive(pids) == [])


async def test_a_gigabyte_without_a_newline_is_read_in_bounded_memory(tmp_path: Path) -> None:
    code = """
        import os
        def write(data):
            while data:
                data = data[os.write(1, data):]
        write(b"first")
        for _ in range(1024):
            write(b"x" * 2**20)
        write(b"last")
    """
    tracemalloc.start()
    try:
        end = await run_python(code, tmp_path)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert end.exit_code == 0
    assert end.output.startswith("firstx")
    assert end.output.endswith("xlast")
    assert "bytes left out" in end.output
    assert len(end.output) < 100_000
    assert peak_bytes < 5_000_000


async def test_output_that_is_not_utf_8_is_readable_all_the_same(tmp_path: Path) -> None:
    end = await run_python(r"import os; os.write(1, b'caf\xe9 \xff\x00')", tmp_path)
    assert end.output == "caf\N{REPLACEMENT CHARACTER} \N{REPLACEMENT CHARACTER}\0"


async def test_eight_runs_at_once_do_not_end_each_other(tmp_path: Path) -> None:
    code = "import time; time.sleep({}); print({})"
    ends = await asyncio.gather(*(run_python(code.format(number / 20, number), tmp_path) for number in range(8)))
    assert [end.output.strip() for end in ends] == [str(number) for number in range(8)]


@given(st.lists(st.binary(max_size=40), max_size=30), st.integers(min_value=4, max_value=64))
def test_capped_output_keeps_the_head_and_the_tail_however_it_is_cut(pieces: list[bytes], limit_bytes: int) -> None:
    whole = b"".join(piece.replace(b"[", b"(") for piece in pieces)
    output = CappedOutput(limit_bytes)
    for piece in pieces:
        output.add(piece.replace(b"[", b"("))
    text = output.text()
    if len(whole) <= limit_bytes:
        assert text == whole.decode("utf-8", "replace")
    else:
        head, tail = limit_bytes // 4, limit_bytes - limit_bytes // 4
        expected = b"%s\n[... %s bytes left out ...]\n%s" % (
            whole[:head],
            f"{len(whole) - limit_bytes:,}".encode(),
            whole[-tail:],
        )
        assert text == expected.decode("utf-8", "replace")
