"""`rolecall` started over and over in no time, and struck by a signal at a named moment.

A process that has everything imported forks for each command, so that 500 commands cost what they do, not what Python
takes to start. It adopts what the commands leave running, so that nothing that outlives one is overlooked.
"""

from __future__ import annotations

import atexit
import base64
import contextlib
import ctypes
import gc
import json
import os
import pickle
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import psutil

from support.patience import PATIENCE_S
from support.prepared import import_everything

_T = TypeVar("_T")
_CHANGES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.chmod", "os.chown", "shutil.rmtree"}
_STARTS = {"subprocess.Popen", "os.posix_spawn", "os.fork"}
# PR_SET_CHILD_SUBREAPER of prctl(2), for which Python has no name.
_BECOME_SUBREAPER = 36


@dataclass(frozen=True)
class Moment:
    """When a signal strikes: after so many seconds, or right before the *n*th step of that name, counted from 1."""

    name: str = ""
    """``change``, ``commit``, ``start`` or ``connect``; empty for a time."""
    n: int = 0
    after_s: float = 0.0

    def __str__(self) -> str:
        return f"before {self.name} {self.n}" if self.name else f"after {self.after_s:.3f} s"


@dataclass(frozen=True)
class Ended:
    """A command that has ended."""

    status: int
    """Its exit code, or the signal that ended it as a negative number."""
    said: str
    """What it printed, standard error included."""
    steps: tuple[str, ...]
    """The name of each step that it took; of one that was killed, none is known."""
    seconds: float


@dataclass
class Prepared:
    """The process that commands are forked from. It lives as long as the block."""

    within: Sequence[str] = ()
    """What starts it, where that is to be behind mounts of its own."""

    def __enter__(self) -> Self:
        ours, theirs = socket.socketpair()
        self._process = subprocess.Popen(
            [*self.within, sys.executable, "-m", "support.striking", str(theirs.fileno())],
            cwd=Path(__file__).parent.parent,
            stdin=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
        )
        theirs.close()
        self._orders = ours.makefile("rw")
        ours.close()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._orders.close()
        self._process.wait(PATIENCE_S)

    def run(
        self,
        arguments: Sequence[str],
        cwd: Path,
        environ: Mapping[str, str],
        number: int = 0,
        moment: Moment | None = None,
    ) -> Ended:
        """Run a command to its end, with the signal *number* at a *moment*."""
        process_id = self.start(arguments, cwd, environ, number, moment)
        if moment and not moment.name:
            time.sleep(moment.after_s)
            os.kill(process_id, number)  # it is there until it is waited for
        return self.wait(process_id)

    def start(
        self,
        arguments: Sequence[str],
        cwd: Path,
        environ: Mapping[str, str],
        number: int = 0,
        moment: Moment | None = None,
    ) -> int:
        """Start a command; its process."""
        told = [*arguments], str(cwd), dict(environ), number, vars(moment) if moment else None
        return self._order("start", *told)

    def wait(self, process_id: int) -> Ended:
        """Wait for the end of a command."""
        status, said, steps, seconds = self._order("wait", process_id)
        return Ended(status, said, tuple(steps), seconds)

    def do(self, function: Callable[..., _T], *values: Any) -> _T:
        """Return what *function*, of a module that both processes can import, returns in that process."""
        said = self._order("do", base64.b64encode(pickle.dumps((function, values))).decode())
        returned, error = pickle.loads(base64.b64decode(said))
        if error is not None:
            raise error
        return returned

    def left(self) -> list[str]:
        """Return what still runs of all that was started here, after a while in which it may end."""
        end = time.monotonic() + PATIENCE_S
        while (found := self._order("left")) and time.monotonic() < end:
            time.sleep(0.01)
        return found

    def _order(self, what: str, *values: object) -> Any:
        self._orders.write(json.dumps([what, *values]) + "\n")
        self._orders.flush()
        return json.loads(self._orders.readline())


class _Parent:
    """What runs in the prepared process."""

    def __init__(self, orders: socket.socket) -> None:
        self.orders = orders
        self.began: dict[int, float] = {}
        self.folder = Path(tempfile.mkdtemp(prefix="prepared-"))
        self.ended: dict[int, tuple[int, float]] = {}

    def serve(self) -> None:
        with self.orders.makefile("r") as lines, self.orders.makefile("w") as replies:
            for line in lines:
                what, *values = json.loads(line)
                replies.write(json.dumps(getattr(self, what)(*values)) + "\n")
                replies.flush()
        for path in self.folder.iterdir():
            path.unlink()
        self.folder.rmdir()

    def start(self, arguments: list[str], cwd: str, environ: dict[str, str], number: int, moment: Any) -> int:
        process_id = os.fork()
        if process_id == 0:
            self.orders.close()
            _become(arguments, cwd, environ, self.folder, Moment(**moment) if moment else Moment(), number)
        self.began[process_id] = time.monotonic()
        return process_id

    def wait(self, process_id: int) -> tuple[int, str, list[str], float]:
        while process_id not in self.ended:
            self._reap(0)
        status, at = self.ended.pop(process_id)
        said, steps = (self._written(f"{kind}-{process_id}") for kind in ("said", "steps"))
        return status, said, steps.split(), at - self.began[process_id]

    def _written(self, name: str) -> str:
        """Return what a command wrote there, if it came to that."""
        path = self.folder / name
        return path.read_text("utf-8", "replace") if path.exists() else ""

    def do(self, what: str) -> str:
        function, values = pickle.loads(base64.b64decode(what))
        returned, error = None, None
        try:
            returned = function(*values)
        except Exception as raised:  # noqa: BLE001 - whoever asked is told
            error = raised
        return base64.b64encode(pickle.dumps((returned, error))).decode()

    def left(self) -> list[str]:
        while self._reap(os.WNOHANG):
            pass
        found: list[str] = []
        for process in psutil.Process().children(recursive=True):
            with contextlib.suppress(psutil.Error):
                found.append(f"{process.pid} {' '.join(process.cmdline())[:200]}")
        return found

    def _reap(self, options: int) -> bool:
        try:
            # Of any child, adopted ones too: nobody else waits for those.
            process_id, status = os.waitpid(-1, options)
        except ChildProcessError:
            return False
        if process_id in self.began:
            self.ended[process_id] = os.waitstatus_to_exitcode(status), time.monotonic()
        return process_id != 0


def _become(
    arguments: Sequence[str], cwd: str, environ: Mapping[str, str], folder: Path, moment: Moment, number: int
) -> None:
    """Be the command, in place of the process that everything was imported in."""
    from rolecall_server.__main__ import main

    os.setsid()
    said = os.open(folder / f"said-{os.getpid()}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    for descriptor in (1, 2):
        os.dup2(said, descriptor)
    os.close(said)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environ)
    # The process that this one was forked from has chosen its own, by another TMPDIR.
    tempfile.tempdir = None
    sys.argv = ["rolecall", *arguments]
    _strike(number, moment, folder / f"steps-{os.getpid()}", Path(environ["HOME"]).parent)
    sys.exit(main())


def _strike(number: int, moment: Moment, record: Path, folder: Path) -> None:
    """Have the signal come at its *moment*, and keep in *record* which steps the command took."""
    from rolecall_server.store import Store

    own, steps, transaction = os.getpid(), list[str](), Store.transaction

    def step(name: str) -> None:
        steps.append(name)
        if name == moment.name and steps.count(name) == moment.n:
            os.kill(own, number)

    def hear(event: str, arguments: tuple[Any, ...]) -> None:
        # A hook cannot be taken away, and processes that are forked from this one have it as well.
        if os.getpid() != own:
            return
        writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
        if (event in _CHANGES or writes) and str(arguments[0]).startswith(f"{folder}/"):
            step("change")
        elif event in _STARTS:
            step("start")
        elif event == "socket.connect":
            step("connect")

    def store(self: Store) -> Any:
        step("commit")
        return transaction(self)

    Store.transaction = store
    sys.addaudithook(hear)
    atexit.register(lambda: record.write_text(" ".join(steps)) if os.getpid() == own else None)


if __name__ == "__main__":
    import_everything()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    gc.freeze()  # what is imported stays: nobody looks whether it is garbage
    ctypes.CDLL(None).prctl(_BECOME_SUBREAPER, 1, 0, 0, 0)
    _Parent(socket.socket(fileno=int(sys.argv[1]))).serve()
