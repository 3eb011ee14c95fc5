"""Named pipes in a workspace: who reads one waits for somebody who writes, which may be for ever."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def pipe_at(path: Path) -> Iterator[threading.Event]:
    """Make a pipe in place of the file *path*; the event is set once it is read, and the reader then let go."""
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    was_opened = threading.Event()

    def let_go() -> None:
        os.close(os.open(path, os.O_WRONLY))
        was_opened.set()

    waiting = threading.Thread(target=let_go)
    waiting.start()
    try:
        yield was_opened
    finally:
        # Where nobody has read the pipe, the thread still waits for a reader: this one lets it go.
        # It stays open until the thread has ended, which could find no reader otherwise.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        waiting.join()
        os.close(handle)
