"""Processes that read files beside this one: tree-sitter holds the interpreter's lock while it parses."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from queue import SimpleQueue

from rolecall_analysis.facts.packed import pack
from rolecall_analysis.indexing.file_reading import FileEntry, FileReading, read_files
from rolecall_analysis.indexing.worker import (
    ReadFiles,
    ReadText,
    Request,
    decode_readings,
    encode,
    read_message,
    write_message,
)
from rolecall_analysis.values import FileFacts, Problem

Batch = Sequence[tuple[str, bytes]]
"""Paths, each with the digest of the content that is known already."""

MAX_WORKERS = 8

WORKER = "from rolecall_analysis.indexing.worker import main; main()"

_FIND_MODULES = "import json, sys; sys.path[:] = json.loads(sys.argv[1])"
_RETRY_START_S = 60.0


class WorkersClosed(Exception):
    """Nobody reads any more: this side ended it."""


class _CannotStart(Exception):
    """The system lets no process start, or it ends before it says a word."""


class _Lost(Exception):
    """The process ended, twice, over one request."""


class Workers:
    """Up to *n* processes that read files, and one that reads the text of open documents. Any thread may ask.

    They start when there is work and end with `rest`, with `close`, and with this process, however that ends.
    Where none can be started, this process reads.
    """

    def __init__(self, n: int | None = None, program: str = WORKER, patience_per_file_s: float = 4.0) -> None:
        """*program* is what the processes run, in Python. One that takes longer for a request than the patience for
        its files, and ten more, is replaced."""
        self.n = n or min(MAX_WORKERS, _n_processors())
        self.problem = ""
        """Why the last process could not be started; empty if it could."""
        self._patience_per_file_s = patience_per_file_s
        self._all = [_Worker(program) for _ in range(self.n)]
        self._free: SimpleQueue[_Worker] = SimpleQueue()
        for worker in self._all:
            self._free.put(worker)
        # One of its own: an edit waits behind no batch, and finds the tree of the text before it in the same process.
        self._documents = _Worker(program)
        self._lock = threading.Lock()
        self._n_readers = 0
        self._trusted_from_s = 0.0

    def read_files(self, root: Path, batches: Sequence[Batch]) -> Iterator[list[FileReading]]:
        """Yield the readings of the files below *root* as they are now, batch by batch as they are done.

        Raises:
            WorkersClosed: `close` was called.
        """
        with self._lock:
            self._n_readers += 1
        threads = ThreadPoolExecutor(self.n, "rolecall-reading")
        try:
            for future in as_completed([threads.submit(self._read, root, batch) for batch in batches]):
                yield future.result()
        finally:
            threads.shutdown(cancel_futures=True)
            with self._lock:
                self._n_readers -= 1

    def read_text(self, root: Path, path: str, text: str) -> bytes | None:
        """Return the packed facts of the text an editor holds; None where it has to be read in this process.

        Raises:
            WorkersClosed: `close` was called.
        """
        request = ReadText(os.fsencode(root), path, text.encode("utf-8", "surrogatepass"))
        try:
            return self._ask(self._documents, request, 1)
        except (_CannotStart, _Lost):
            return None

    def rest(self) -> None:
        """End the processes that read files, unless somebody waits for them; they start again when needed."""
        with self._lock:
            if not self._n_readers:
                for worker in self._all:
                    worker.end()

    def close(self) -> None:
        """End all processes, whatever they are doing."""
        for worker in (*self._all, self._documents):
            worker.close()

    def process_ids(self) -> tuple[int, ...]:
        """Return the ids of the processes that run."""
        ids = (worker.process_id for worker in (*self._all, self._documents))
        return tuple(found for found in ids if found is not None)

    def _read(self, root: Path, batch: Batch) -> list[FileReading]:
        """Return the readings of the files of *batch*; one that ends the process that reads it, twice, has a problem
        instead.
        """
        found: list[FileReading] = []
        waiting = [batch]
        while waiting:
            current = waiting.pop()
            try:
                found.extend(self._read_in_worker(root, current))
            except _CannotStart:
                found.extend(read_files(root, current))
            except _Lost:
                if len(current) == 1:
                    found.append(_unreadable(current[0][0]))
                else:
                    # Which file it was is not known: the halves are asked for until it stands alone.
                    middle = len(current) // 2
                    waiting.extend([current[middle:], current[:middle]])
        return found

    def _read_in_worker(self, root: Path, batch: Batch) -> list[FileReading]:
        worker = self._free.get()
        try:
            return decode_readings(self._ask(worker, ReadFiles(os.fsencode(root), list(batch)), len(batch)))
        finally:
            self._free.put(worker)

    def _ask(self, worker: _Worker, request: Request, n_files: int) -> bytes:
        # Without this, every batch would try to start a process in vain.
        if time.monotonic() < self._trusted_from_s:
            raise _CannotStart
        try:
            reply = worker.ask(encode(request), (n_files + 10) * self._patience_per_file_s)
        except _CannotStart as error:
            self.problem = f"No process can be started ({error}); this one reads the files, and may answer late."
            self._trusted_from_s = time.monotonic() + _RETRY_START_S
            raise
        self.problem = ""
        return reply


class _Worker:
    """One process, started when it is asked and started again when it ended. Those who ask take turns."""

    def __init__(self, program: str) -> None:
        self._program = program
        self._turn = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._is_closed = False

    @property
    def process_id(self) -> int | None:
        # Another thread may end the process between two looks at the attribute.
        process = self._process
        return process.pid if process is not None and process.poll() is None else None

    def ask(self, message: bytes, patience_s: float) -> bytes:
        """Return the reply to *message*.

        Raises:
            WorkersClosed: it was closed, perhaps while it was reading.
            _CannotStart: there is no process.
            _Lost: it ended, or did not answer in time, and did so again when it was asked once more.
        """
        with self._turn:
            for _ in range(2):
                reply = self._exchange(message, patience_s)
                if reply is not None:
                    return reply
                self._stop()
            raise _Lost

    def end(self) -> None:
        """End the process once it has answered."""
        with self._turn:
            self._stop()

    def close(self) -> None:
        """End the process now, for good."""
        # Before the kill: by this, the thread that waits for a reply tells a close from a crash.
        self._is_closed = True
        process = self._process
        if process is not None:
            process.kill()
        self.end()

    def _exchange(self, message: bytes, patience_s: float) -> bytes | None:
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        # A read from a pipe has no time limit; the death of the process ends it.
        killer = threading.Timer(patience_s, process.kill)
        killer.daemon = True
        killer.start()
        try:
            write_message(process.stdin, message)
            reply = read_message(process.stdout)
        except OSError:
            reply = None
        finally:
            killer.cancel()
        if reply is None and self._is_closed:
            self._stop()
            raise WorkersClosed
        return reply

    def _started(self) -> subprocess.Popen[bytes]:
        if self._is_closed:
            raise WorkersClosed
        if self._process is None:
            self._process = _start(self._program)
            if self._is_closed:  # while it started
                self._stop()
                raise WorkersClosed
        return self._process

    def _stop(self) -> None:
        if self._process is not None:
            _end(self._process)
            self._process = None


def _start(program: str) -> subprocess.Popen[bytes]:
    """Start a process that runs *program*, and return it once it has reported that it runs.

    It finds modules where this process does, the opened folder excepted, and looks at no ``PYTHON*`` variable.

    Raises:
        _CannotStart: there is none.
    """
    package = str(Path(__file__).parents[2])
    # A relative entry, such as the empty one, would be the folder that was opened.
    places = [place for place in sys.path if Path(place).is_absolute()]
    command = [
        sys.executable,
        "-I",
        "-c",
        f"{_FIND_MODULES}\n{program}",
        json.dumps([*places, *({package} - {*places})]),
    ]
    try:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: S603 - our own
    except (OSError, ValueError) as error:
        raise _CannotStart(str(error)) from None
    assert process.stdout is not None
    if read_message(process.stdout) is None:
        _end(process)
        raise _CannotStart(f"it ended at once, with {process.returncode}")
    return process


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()
    process.wait()


def _unreadable(path: str) -> FileReading:
    problem = Problem(path, "Reading it ends the process that reads it; it was left out.")
    return FileReading(path, FileEntry(None, b"", pack(FileFacts(path, problems=(problem,))), True, time.time_ns()))


def _n_processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
