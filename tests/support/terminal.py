"""A program in a pseudo-terminal: what it shows, and what a person types into it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from support.patience import PATIENCE_S
from support.prepared import IN_TERMINAL

_A_DAY_S = 86_400.0
_CONTROL = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")


class Terminal:
    """One running program and its screen."""

    def __init__(self, process: subprocess.Popen[bytes], screen: int) -> None:
        self.process = process
        self.raw = b""
        """Everything it has sent, escape sequences included."""
        self._screen = screen
        self._seen = 0

    @property
    def shown(self) -> str:
        """What it has sent, without the sequences that colour text and move the cursor."""
        text = self.raw.decode("utf-8", "replace").replace("\r\n", "\n")
        return _CONTROL.sub("", text)

    def wait_for(self, text: str, timeout_s: float = PATIENCE_S) -> str:
        """Read until *text* appears, and return what came since the last call."""
        end = time.monotonic() + timeout_s
        while text not in self.shown[self._seen :]:
            assert self._read(end), f"{text!r} never came; the screen says:\n{self.shown}"
        since = self.shown[self._seen :]
        self._seen += since.index(text) + len(text)
        return since

    def type(self, text: str) -> None:
        """Type *text*; ``\\x03`` is Ctrl+C, ``\\x04`` is Ctrl+D."""
        os.write(self._screen, text.encode())

    def wait_for_end(self) -> int:
        """Read to the end, and return the exit status."""
        end = time.monotonic() + PATIENCE_S
        while self._read(end):
            pass
        return self.process.wait(max(0.1, end - time.monotonic()))

    def watch(self) -> None:
        """Read all that comes until the program ends; for a thread of its own, because nobody else may read then."""
        while self._read(time.monotonic() + _A_DAY_S):
            pass

    def _read(self, end: float) -> bool:
        """Take in what has come; whether more may follow."""
        readable, _, _ = select.select([self._screen], [], [], max(0.0, end - time.monotonic()))
        if not readable:
            return False
        try:
            data = os.read(self._screen, 65536)
        except OSError:  # how Linux says that the other side is closed
            data = b""
        self.raw += data
        return bool(data)


@contextlib.contextmanager
def in_terminal(
    command: Sequence[str | Path], cwd: Path, environ: Mapping[str, str], *, columns: int = 120
) -> Iterator[Terminal]:
    """Run *command* in a terminal of its own; it is ended when the context is left."""
    screen, program_side = os.openpty()
    fcntl.ioctl(program_side, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    try:
        process = subprocess.Popen(
            [*IN_TERMINAL, *map(str, command)],
            cwd=cwd,
            env={"TERM": "xterm-256color", **environ},
            stdin=program_side,
            stdout=program_side,
            stderr=program_side,
            start_new_session=True,
        )
        # While this process holds it too, the screen never says that the program has ended.
        os.close(program_side)
        try:
            yield Terminal(process, screen)
        finally:
            process.kill()
            process.wait()
    finally:
        os.close(screen)
