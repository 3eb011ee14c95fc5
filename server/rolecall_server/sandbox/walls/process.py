"""Running one command to its end: clean environment, deadline, capped output, and no process left behind."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import signal
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import psutil

from rolecall_server.sandbox.walls.completion import complete
from rolecall_server.sandbox.walls.event_stream import CHANNEL, Hearing, listen

Limit = Literal["memory", "processes", "disk"]

RUN_MARKER = "ROLECALL_RUN"
"""The variable that marks every process of a run, whatever session it moved to."""

_CHILD = Path(__file__).parents[1] / "child"
_SUPERVISOR = (
    # A module, not a script, because only modules are compiled once.
    "import sys; sys.path.insert(0, sys.argv.pop(1)); import supervisor; sys.exit(supervisor.main(sys.argv[1:]))",
    str(_CHILD),
)
_SAID_BY_SIGNAL: dict[int, Limit] = (
    {-signal.SIGUSR1: "memory", -signal.SIGUSR2: "processes", -signal.SIGALRM: "disk"}
    if sys.platform == "linux"
    else {}
)
"""The limit for which the supervisor ended a run, by the signal that says so."""
OUTPUT_BYTES = 64 * 1024
_END_DEADLINE_S = 10.0
_DRAIN_DEADLINE_S = 1.0


@dataclass(frozen=True)
class OverlayMount:
    """Files laid over others for one command, which writes to memory instead; Linux only."""

    own: Path
    """An empty folder, which the command sees with ``home`` and ``tmp`` in it."""
    size_bytes: int
    """The bytes that may be written, there and to the files."""
    target: Path
    """An empty folder, where the command sees the files."""
    changes: Path
    original: Path


@dataclass(frozen=True)
class Supervision:
    """The limits on what all processes of a command together may take, and see. They hold on Linux; nothing is limited
    elsewhere.
    """

    memory_bytes: int | None = None
    processes: int | None = None
    spare: tuple[Path, int] | None = None
    """A folder, and how many bytes its disk must keep free."""
    overlay: OverlayMount | None = None
    filter: tuple[int, bytes] | None = None
    """A descriptor, and what the command is to read from it."""

    def arguments(self) -> tuple[str, ...]:
        """As the supervisor takes them."""
        words: list[object] = []
        if self.memory_bytes is not None:
            words += ["memory", self.memory_bytes]
        if self.processes is not None:
            words += ["processes", self.processes]
        if self.spare is not None:
            words += ["spare", *self.spare]
        if (over := self.overlay) is not None:
            words += ["overlay", over.own, over.size_bytes, over.target, over.changes, over.original]
        if self.filter is not None:
            words += ["filter", self.filter[0], self.filter[1].hex()]
        return (*map(str, words), "--")


@dataclass(frozen=True)
class ProcessEnd:
    """The end of a command."""

    exit_code: int | None
    """As a shell says it, 128 + n when signal n ended it; ``None`` when its time was over."""
    output: str
    """Standard output and standard error as they came, the middle left out when it was long."""
    duration_s: float
    exceeded: Limit | None = None
    """The limit it was killed for."""

    @property
    def timed_out(self) -> bool:
        """Return whether the process was killed because its time was over."""
        return self.exit_code is None


async def run_process(
    arguments: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    timeout_s: float,
    output_bytes: int = OUTPUT_BYTES,
    supervision: Supervision | None = None,
    hearing: Hearing | None = None,
) -> ProcessEnd:
    """Run the command *arguments*, whose first is an absolute path, without a shell, and return how it ended.

    It sees *environment*, a marker, and nothing else of ours; its standard input is empty. When this returns,
    also by cancellation, everything it started has been killed, daemons in sessions of their own included. On
    POSIX systems the same happens when the server dies. There it is given a descriptor to tell things over that are
    noted by *hearing*.

    Raises:
        OSError: it cannot be started: *cwd* is gone, or the machine is out of processes.
    """
    started = time.monotonic()
    marker = secrets.token_hex(16)
    prefix = _supervisor(supervision or Supervision())
    marked = {**environment, RUN_MARKER: marker}
    in_time = True
    async with listen(hearing) if hearing and os.name == "posix" else contextlib.nullcontext() as channel:
        starting = asyncio.ensure_future(_start([*prefix, *arguments], cwd, marked, output_bytes, channel))
        try:  # asyncio leaves a process alone whose start is cancelled, and may wait for it for ever
            transport, watcher = await complete(starting)
        except asyncio.CancelledError:
            await complete(_end_unstarted(starting, marker))
            raise
        try:
            async with asyncio.timeout(timeout_s):
                await watcher.exited.wait()
        except TimeoutError:
            in_time = False
        finally:
            await complete(_end(transport, watcher, marker))
    return_code = transport.get_returncode()
    return ProcessEnd(
        exit_code=_shell_code(return_code) if in_time else None,
        output=watcher.output.text(),
        duration_s=time.monotonic() - started,
        exceeded=_SAID_BY_SIGNAL.get(return_code or 0),
    )


def _supervisor(supervision: Supervision) -> list[str]:
    if os.name != "posix":
        return []
    program, folder = _SUPERVISOR
    return [sys.executable, "-I", "-S", "-c", program, folder, *supervision.arguments()]


async def _start(
    arguments: Sequence[str],
    cwd: Path,
    environment: Mapping[str, str],
    output_bytes: int,
    channel: socket.socket | None,
) -> _Started:
    told_over = {CHANNEL: str(channel.fileno())} if channel else {}
    started = await asyncio.get_running_loop().subprocess_exec(
        lambda: _Watcher(output_bytes),
        *arguments,
        # The supervisor's lifeline: it ends the run when this pipe is closed, also because the server died.
        stdin=asyncio.subprocess.PIPE if os.name == "posix" else asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        cwd=cwd,
        env={**environment, **told_over},
        start_new_session=True,
        pass_fds=(channel.fileno(),) if channel else (),
    )
    if channel is not None:
        # Ours, that is: the stream ends with the last process that holds the other copies.
        channel.close()
    return started


class _Watcher(asyncio.SubprocessProtocol):
    def __init__(self, output_bytes: int) -> None:
        self.output = CappedOutput(output_bytes)
        self.exited = asyncio.Event()
        self.drained = asyncio.Event()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self.output.add(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd == 1:
            self.drained.set()

    def process_exited(self) -> None:
        self.exited.set()


_Started = tuple[asyncio.SubprocessTransport, _Watcher]


class CappedOutput:
    """The beginning and the end of a stream of any length, in bounded memory."""

    def __init__(self, limit_bytes: int) -> None:
        self._head = bytearray()
        self._head_limit = limit_bytes // 4
        self._tail = bytearray()
        self._tail_limit = limit_bytes - self._head_limit
        self._dropped = 0

    def add(self, data: bytes) -> None:
        """Takes the next piece of the stream."""
        room = self._head_limit - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        # Seldom, because each time moves all that is kept.
        if len(self._tail) > 2 * self._tail_limit:
            self._trim()

    def text(self) -> str:
        """Return the stream as text, with a note where its middle was left out; what is not UTF-8 is replaced."""
        self._trim()
        middle = f"\n[... {self._dropped:,} bytes left out ...]\n".encode() if self._dropped else b""
        return bytes(self._head + middle + self._tail).decode("utf-8", "replace")

    def _trim(self) -> None:
        excess = max(0, len(self._tail) - self._tail_limit)
        del self._tail[:excess]
        self._dropped += excess


async def _end(transport: asyncio.SubprocessTransport, watcher: _Watcher, marker: str) -> None:
    """Ends whatever of the run is still there, and its pipes."""
    if (lifeline := transport.get_pipe_transport(0)) is not None:
        lifeline.close()
    # No lifeline: on Windows there is no supervisor that one could lead to.
    elif transport.get_returncode() is None:
        transport.kill()
    if not await _happens(watcher.exited, _END_DEADLINE_S):
        transport.kill()
        await _happens(watcher.exited, _END_DEADLINE_S)
    if not _supervisor_did_its_work(transport.get_returncode()):
        await asyncio.to_thread(_kill_marked, marker)
    await _happens(watcher.drained, _DRAIN_DEADLINE_S)
    transport.close()


async def _end_unstarted(starting: asyncio.Future[_Started], marker: str) -> None:
    """End what was being started when nobody wanted it any more."""
    if starting.cancelled():
        await asyncio.to_thread(_kill_marked, marker)
    elif starting.exception() is None:
        await _end(*starting.result(), marker)


async def _happens(event: asyncio.Event, deadline_s: float) -> bool:
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), deadline_s)
    return event.is_set()


def _supervisor_did_its_work(return_code: int | None) -> bool:
    """Return whether the run's processes are known to be gone: only on Linux does a supervisor get the orphans back."""
    return sys.platform == "linux" and return_code is not None and (return_code >= 0 or return_code in _SAID_BY_SIGNAL)


def _kill_marked(marker: str) -> None:
    deadline = time.monotonic() + _END_DEADLINE_S
    # Again and again: a process may fork between the moment it is found and the moment it is killed.
    while (marked := [process for process in psutil.process_iter() if _is_marked(process, marker)]) and (
        time.monotonic() < deadline
    ):
        for process in marked:
            with contextlib.suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(marked, timeout=0.1)


def _is_marked(process: psutil.Process, marker: str) -> bool:
    try:
        return process.environ().get(RUN_MARKER) == marker
    except (psutil.Error, OSError):
        return False


def _shell_code(return_code: int | None) -> int:
    if return_code is None:
        return 128 + 9
    return 128 - return_code if return_code < 0 else return_code
