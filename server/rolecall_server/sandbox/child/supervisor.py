"""Runs one command and lets nothing of it outlive the server.

Arguments: any of ``memory BYTES``, ``processes COUNT``, ``spare FOLDER BYTES`` (limits that no system call sets for
a whole tree of processes), ``overlay OWN SIZE TARGET CHANGES ORIGINAL`` (see `namespace.py`), ``filter DESCRIPTOR
HEX`` (bytes that the command finds behind that descriptor), then ``-- COMMAND ARGUMENT...``.

The command gets a session keyring of its own, with nothing in it, where the kernel allows that.

Standard input is a lifeline that nobody writes to. It ends when the server closes it or dies, and with it ends
every process the command started, double-forked daemons in sessions of their own included: on Linux the orphans
come back to this process, because it is their subreaper. Exits like a shell: the command's own code, or 128 + n
when signal n ended it. When a limit is passed, everything is killed, and this process ends by a signal of its own
(`LIMIT_SIGNALS`), because every exit code may be the command's.

Only the standard library is imported, and little of it: this is paid for at the start of every run.
"""
# ruff: noqa: PTH208, SIM105 -- pathlib and contextlib take longer to import than all the rest.

from __future__ import annotations

import os
import select
import sys
import time

TYPE_CHECKING = False  # importing `typing` takes longer than all the rest
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LIMIT_SIGNALS = {"memory": 10, "processes": 12, "spare": 14}
"""SIGUSR1, SIGUSR2, SIGALRM: by default they end a process, and nobody sends them here."""

_PR_SET_CHILD_SUBREAPER = 36
_KEYCTL = {"x86_64": 250, "aarch64": 219}
_KEYCTL_JOIN_SESSION_KEYRING = 1
_SIGINT, _SIGKILL, _SIGPIPE, _SIGXFSZ = 2, 9, 13, 25
_CANNOT_START = 127
_KILL_DEADLINE_S = 5.0
_WATCH_INTERVAL_S = 0.1
_SCARCE_MEMORY = 0.03
"""The part of the machine's memory below which a run that has a limit is ended, whoever takes it."""

_on_linux = sys.platform == "linux"


def main(arguments: list[str]) -> int:
    """Run the command in *arguments* and return its exit code when none of its processes runs any more."""
    end = arguments.index("--")
    options, command = _read_options(arguments[:end]), arguments[end + 1 :]
    if _on_linux:
        import ctypes

        libc = ctypes.CDLL(None)
        libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        # On any other machine this is call -1, which is none and changes nothing.
        libc.syscall(_KEYCTL.get(os.uname().machine, -1), _KEYCTL_JOIN_SESSION_KEYRING, None)
    if "overlay" in options:
        import namespace  # pyright: ignore[reportMissingImports] -- it lies beside this file

        try:
            namespace.enter_with_overlay(*options["overlay"])  # pyright: ignore[reportUnknownMemberType]
        except OSError as error:
            os.write(2, f"{error.filename}: {error.strerror}\n".encode())
            return _CANNOT_START
    child = _start(command, options.get("filter"))
    if child is None:
        return _CANNOT_START
    limits = _Limits(options)
    status = _wait(child, limits)
    ended = _end_descendants(child)
    if limits.exceeded:
        os.kill(os.getpid(), LIMIT_SIGNALS[limits.exceeded])
    status = status if status is not None else ended
    code = os.waitstatus_to_exitcode(status) if status is not None else -_SIGKILL
    return 128 - code if code < 0 else code


def _read_options(arguments: list[str]) -> dict[str, list[str]]:
    lengths = {"memory": 1, "processes": 1, "spare": 2, "overlay": 5, "filter": 2}
    options: dict[str, list[str]] = {}
    while arguments:
        name, *arguments = arguments
        options[name], arguments = arguments[: lengths[name]], arguments[lengths[name] :]
    return options


def _start(arguments: list[str], given: list[str] | None) -> int | None:
    """Return the process id of the command, in a session of its own; ``None`` when it cannot be started."""
    handed = [(os.POSIX_SPAWN_DUP2, _holding(bytes.fromhex(given[1])), int(given[0]))] if given else []
    try:
        return os.posix_spawn(
            arguments[0],
            arguments,
            os.environ,
            file_actions=[(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0), *handed],
            setsid=True,
            # Python ignores the first two, a shell in the background the third; the command would go on doing so.
            setsigdef=[_SIGPIPE, _SIGXFSZ, _SIGINT],
        )
    except OSError as error:
        os.write(2, f"{arguments[0]}: {error.strerror}\n".encode())
        return None


def _holding(content: bytes) -> int:
    """Return the descriptor of a pipe that *content* can be read from; it is short enough for one to hold."""
    read, write = os.pipe()
    os.write(write, content)
    os.close(write)
    return read


class _Limits:
    """The limits on what all the command's processes together may take."""

    def __init__(self, options: dict[str, list[str]]) -> None:
        self.exceeded = ""
        """The name of the limit that was passed."""
        self._memory = int(options.get("memory", "0")[0])
        self._processes = int(options.get("processes", "0")[0])
        self._folder, spare = options.get("spare", ("", "0"))
        self._spare = int(spare)
        self._next = time.monotonic() + _WATCH_INTERVAL_S
        self._watches = _on_linux and bool(options.keys() & LIMIT_SIGNALS.keys())

    def are_kept(self) -> bool:
        """Return whether no limit is exceeded; this is looked up at most once in an interval."""
        if self._watches and time.monotonic() >= self._next:
            self.exceeded = self._look()
            self._next = time.monotonic() + _WATCH_INTERVAL_S
        return not self.exceeded

    def _look(self) -> str:
        processes = _descendants(_children)
        if self._processes and len(processes) > self._processes:
            return "processes"
        if self._memory and (self._take_too_much(processes) or _memory_is_scarce()):
            return "memory"
        if self._spare:
            disk = os.statvfs(self._folder)
            return "spare" if disk.f_bavail * disk.f_frsize < self._spare else ""
        return ""

    def _take_too_much(self, processes: set[int]) -> bool:
        # What processes share is divided among them only in the second sum, which takes longer.
        return all(sum(map(memory, processes)) > self._memory for memory in (_own_memory, _part_of_memory))


def _wait(child: int, limits: _Limits) -> int | None:
    """Wait for *child* and return its wait status, or ``None`` when the lifeline ended or a limit was passed first."""
    wake, is_pipe = _wakeup(child)
    while True:
        status = _reap(child)
        if status is not None:
            return status
        if not limits.are_kept():
            return None
        readable, _, _ = select.select([0, wake], [], [], _WATCH_INTERVAL_S)
        if wake in readable and is_pipe:
            os.read(wake, 4096)
        if 0 in readable and not os.read(0, 1):
            return None


def _wakeup(child: int) -> tuple[int, bool]:
    """Return a descriptor that becomes readable when *child* has ended, and whether it is a pipe to be emptied."""
    try:
        return os.pidfd_open(child), False
    except (AttributeError, OSError):  # not Linux, or older than 5.3
        pass
    import signal  # with its enumerations, 2 ms

    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_write, False)
    signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, _wake)
    return wake_read, True


def _wake(number: int, frame: object) -> None:
    """Does nothing: a signal that has a handler is what fills the wakeup pipe."""


def _reap(child: int) -> int | None:
    """Collect the children that have ended, and return the wait status of *child* if it is among them."""
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


def _has_children() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _end_descendants(child: int) -> int | None:
    """Kills everything below this process; the wait status of *child* if it was still to be had."""
    found = None
    deadline = time.monotonic() + _KILL_DEADLINE_S
    # A subreaper without children has no descendants.
    while time.monotonic() < deadline and (not _on_linux or _has_children()):
        # Anew each time: what is killed may have forked before, and its orphans come back to this process.
        survivors = _descendants(_children_by_scanning()) if _on_linux else _kill_group(child)
        for process in survivors:
            _kill(process)
        status = _reap(child)
        found = status if status is not None else found
        if not survivors:
            break
        time.sleep(0.001)
    return found


def _kill(process: int) -> None:
    try:
        os.kill(process, _SIGKILL)
    except OSError:
        pass


def _descendants(children: Callable[[int], list[int]]) -> set[int]:
    """Return every process below this one, the dead that nobody has waited for included."""
    below: set[int] = set()
    pending = [os.getpid()]
    while pending:
        more = set(children(pending.pop())) - below
        below |= more
        pending.extend(more)
    return below


def _children(process: int) -> list[int]:
    """Return the children of *process*, quickly; some are missed while others end."""
    found: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{process}/task"):
            found += map(int, _read(f"/proc/{process}/task/{thread}/children").split())
    except OSError:
        pass
    return found


def _children_by_scanning() -> Callable[[int], list[int]]:
    """Return a function that gives the children of a process, from one look at all processes of the machine."""
    children: dict[int, list[int]] = {}
    for process, parent in _parents():
        children.setdefault(parent, []).append(process)
    return lambda process: children.get(process, [])


def _parents() -> Iterator[tuple[int, int]]:
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                # The name in parentheses may hold spaces and parentheses of its own.
                yield int(name), int(_read(f"/proc/{name}/stat").rpartition(b")")[2].split()[1])
            except OSError:
                pass


def _own_memory(process: int) -> int:
    """Return the bytes of memory of *process* that are no file's; what it shares with a fork counts for both."""
    try:
        _, resident, shared, *_ = map(int, _read(f"/proc/{process}/statm").split())
    except (OSError, ValueError):
        return 0
    return (resident - shared) * os.sysconf("SC_PAGE_SIZE")


def _part_of_memory(process: int) -> int:
    """Return the bytes of memory of *process*, what it shares divided by those who share it."""
    try:
        line = next(line for line in _read(f"/proc/{process}/smaps_rollup").splitlines() if line.startswith(b"Pss:"))
        return int(line.split()[1]) * 1024
    except (OSError, StopIteration):
        return _own_memory(process)


def _memory_is_scarce() -> bool:
    """Return whether the machine itself runs out of memory; only this notices what belongs to no process (files in
    memory, pipes).
    """
    facts = dict(line.split(b":") for line in _read("/proc/meminfo").splitlines())
    total, available = (int(facts[name].split()[0]) for name in (b"MemTotal", b"MemAvailable"))
    return available < total * _SCARCE_MEMORY


def _read(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return os.read(descriptor, 65536)
    finally:
        os.close(descriptor)


def _kill_group(group: int) -> set[int]:
    try:
        os.killpg(group, _SIGKILL)
    except OSError:
        return set()
    return {group}
