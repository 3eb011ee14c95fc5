"""Runs one command and lets nothing of it outlive the server: ``supervisor.py COMMAND ARGUMENT...``.

Standard input is a lifeline that nobody writes to. It ends when the server closes it or dies, and with it ends
every process the command started, double-forked daemons in sessions of their own included: on Linux the orphans
come back to this process, because it is their subreaper. Exits like a shell: the command's own code, or 128 + n
when signal n ended it.

Only the standard library is imported, and little of it: this is paid for at the start of every run.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import sys
import time
from collections.abc import Iterator

_PR_SET_CHILD_SUBREAPER = 36
_CANNOT_START = 127
_KILL_DEADLINE_S = 5.0

_on_linux = sys.platform == "linux"


def main(arguments: list[str]) -> int:
    """The exit code of the command *arguments*, once nothing of it runs any more."""
    if _on_linux:
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_write, False)
    signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, _wake)
    child = _start(arguments)
    if child is None:
        return _CANNOT_START
    status = _wait(child, wake_read)
    ended = _end_descendants(child)
    status = status if status is not None else ended
    code = os.waitstatus_to_exitcode(status) if status is not None else -signal.SIGKILL
    return 128 - code if code < 0 else code


def _wake(number: int, frame: object) -> None:
    """Does nothing: a signal that has a handler is what fills the wakeup pipe."""


def _start(arguments: list[str]) -> int | None:
    """The process id of the command, in a session of its own; ``None`` when it cannot be started."""
    try:
        return os.posix_spawn(
            arguments[0],
            arguments,
            os.environ,
            file_actions=[(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)],
            setsid=True,
            # Python ignores the first two, a shell in the background the third; the command would go on doing so.
            setsigdef=[signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT],
        )
    except OSError as error:
        os.write(2, f"{arguments[0]}: {error.strerror}\n".encode())
        return None


def _wait(child: int, wake_read: int) -> int | None:
    """The wait status of *child*, or ``None`` when the lifeline ended first."""
    while True:
        status = _reap(child)
        if status is not None:
            return status
        readable, _, _ = select.select([0, wake_read], [], [])
        if wake_read in readable:
            os.read(wake_read, 4096)
        if 0 in readable and not os.read(0, 1):
            return None


def _reap(child: int) -> int | None:
    """The wait status of *child* if it has ended; other children that have ended are let go."""
    found = None
    while True:
        try:
            process, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return found
        if process == 0:
            return found
        if process == child:
            found = status


def _end_descendants(child: int) -> int | None:
    """Kills everything below this process; the wait status of *child* if it was still to be had."""
    found = None
    deadline = time.monotonic() + _KILL_DEADLINE_S
    while time.monotonic() < deadline:
        if _on_linux:
            survivors = _descendants()
            for process in survivors:
                with contextlib.suppress(OSError):
                    os.kill(process, signal.SIGKILL)
        else:
            survivors = _kill_group(child)
        status = _reap(child)
        found = status if status is not None else found
        if not survivors:
            break
        time.sleep(0.001)
    return found


def _descendants() -> set[int]:
    """Every process below this one, the dead that nobody has waited for included."""
    parents = dict(_parents())
    below = {os.getpid()}
    while more := {process for process, parent in parents.items() if parent in below} - below:
        below |= more
    return below - {os.getpid()}


def _parents() -> Iterator[tuple[int, int]]:
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                descriptor = os.open(f"/proc/{entry.name}/stat", os.O_RDONLY)
                try:
                    # The name in parentheses may hold spaces and parentheses of its own.
                    yield int(entry.name), int(os.read(descriptor, 4096).rpartition(b")")[2].split()[1])
                finally:
                    os.close(descriptor)


def _kill_group(group: int) -> set[int]:
    try:
        os.killpg(group, signal.SIGKILL)
    except OSError:
        return set()
    return {group}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
