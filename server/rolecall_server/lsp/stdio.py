"""The server as a process: standard input and output, and the end of it when the editor is gone."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import sys
from collections.abc import Sequence
from typing import BinaryIO

import psutil
from pygls.io_ import StdoutWriter

from rolecall_analysis import Workers
from rolecall_server.errors import RolecallError, StoreDamaged
from rolecall_server.lsp.protocol import FrameError, FrameReader, RolecallProtocol
from rolecall_server.lsp.registration import import_handlers, register
from rolecall_server.lsp.runs.progress import ScanProgress
from rolecall_server.lsp.server import RolecallServer
from rolecall_server.lsp.session import Patience, Session
from rolecall_server.review.proposals.rendering import visible
from rolecall_server.store import Store, cache_path, open_store, store_path
from rolecall_server.team.engine.abandoned import mark_interrupted_runs

logger = logging.getLogger(__name__)

_PARENT_CHECK_S = 1.0
_SWITCH_S = 0.001
"""The longest time for which a thread that computes keeps the event loop waiting; Python's own 5 ms add up."""
_ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
_TIDYING_S = 4.8
"""The time after a signal to end runs and remove what they made; then the system ends the process."""
_STOPPED = 130
"""The exit code after a signal, as of every other command."""


def serve(patience: Patience | None = None, told: Sequence[str] = ()) -> int:
    """Speak with an editor over standard input and output until it ends the session; the exit code."""
    logging.basicConfig(stream=sys.stderr, level=os.environ.get("ROLECALL_LOG", "WARNING").upper())
    for handler in logging.getLogger().handlers:
        handler.setFormatter(CoveringFormatter(logging.BASIC_FORMAT))
    logging.getLogger("pygls").setLevel(logging.ERROR)
    sys.setswitchinterval(_SWITCH_S)
    gc.freeze()  # all that was imported stays; looking whether it is garbage takes more than a frame
    gc.enable()
    output = _take_output()
    try:
        store, damage = _open_store()
        mark_interrupted_runs(store)
    except RolecallError as error:
        sys.stderr.write(visible(f"rolecall: {error}") + "\n")
        return 2
    server = RolecallServer(Session(store, Workers(), cache_path(), patience=patience or Patience()))
    server.session.store_damage = damage
    server.session.told_first = (*told,)
    register(server)
    server.once_answered = _get_ready
    server.session.report_scan = ScanProgress(server).report
    server.protocol.set_writer(StdoutWriter(output))
    try:
        asyncio.run(_converse(server))
    except FrameError as error:
        sys.stderr.write(visible(f"rolecall: {error}") + "\n")
        server.rolecall_protocol.exit_code = 2
    except (BrokenPipeError, KeyboardInterrupt):
        pass
    store.close()
    # A thread may still wait in a read of standard input, and would keep the interpreter from ending.
    sys.stderr.flush()
    os._exit(server.rolecall_protocol.exit_code)


def _open_store() -> tuple[Store, str]:
    """Return the user's store, and what was wrong with the one before, should that have been set aside just now."""
    try:
        return open_store(store_path()), ""
    except StoreDamaged as error:
        return open_store(store_path()), f"{error.what} An empty one takes its place."


class CoveringFormatter(logging.Formatter):
    """A formatter of what is logged, tracebacks included, without the secrets in it."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as a line, or as several where it has a traceback."""
        from rolecall_server.context.redaction import Covers  # few sessions log anything, and none at its start

        return Covers().cover(super().format(record))


def _take_output() -> BinaryIO:
    """Standard output, for the protocol alone: what other code or a child process prints goes to standard error."""
    output = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    sys.stdout = sys.stderr
    return output


async def _converse(server: RolecallServer) -> None:
    watch = asyncio.create_task(_watch_parent(server))
    reading = asyncio.create_task(_read(server.rolecall_protocol))
    stopped = asyncio.create_task(_wait_for_signal())
    try:
        done, _ = await asyncio.wait([watch, reading, stopped], return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            # This raises what ended it, a broken frame for one.
            task.result()
        if stopped in done:
            server.rolecall_protocol.exit_code = _STOPPED
    finally:
        await server.session.stop_runs()
        await asyncio.to_thread(server.session.close)
        await asyncio.to_thread(_clean_up)  # an editor may hang up before the server got ready


async def _read(protocol: RolecallProtocol) -> None:
    """Deal with what the editor sends, until it says `exit` or hangs up."""
    async for body in FrameReader(sys.stdin.buffer).bodies():
        protocol.take(body)
        if protocol.ended.is_set():
            return


async def _get_ready() -> None:
    """Import what the editor will ask for next, and remove what a server that was killed could not."""
    await import_handlers()
    gc.freeze()
    await asyncio.to_thread(_clean_up)


def _clean_up() -> None:
    from rolecall_server.sandbox import remove_abandoned_folders, remove_unused_copies  # no answer waits for it

    remove_abandoned_folders()
    remove_unused_copies(cache_path() / "copies")


async def _wait_for_signal() -> None:
    """Return when a signal asks the process to end, which it does soon then, even if something hangs."""
    came, loop = asyncio.Event(), asyncio.get_running_loop()

    def end_soon(number: int, frame: object) -> None:
        # Nobody handles SIGALRM: it ends the process also where no line of Python gets its turn any more.
        signal.setitimer(signal.ITIMER_REAL, _TIDYING_S)
        loop.call_soon_threadsafe(came.set)

    if hasattr(signal, "setitimer"):  # Windows ends a process without a word
        for number in _ENDING:
            # A signal that is ignored already stays ignored, as under `nohup`.
            if signal.getsignal(number) not in (signal.SIG_IGN, None):
                signal.signal(number, end_soon)
    await came.wait()


async def _watch_parent(server: RolecallServer) -> None:
    """Return when the editor that started us is gone."""
    # Of an editor that named no process, the end of its messages is all that tells.
    while server.process_id is None or _is_alive(server.process_id):
        await asyncio.sleep(_PARENT_CHECK_S)


def _is_alive(process_id: int) -> bool:
    """Return whether a process runs; one that ended and that nobody has asked about yet does not."""
    try:
        return psutil.Process(process_id).status() != psutil.STATUS_ZOMBIE
    except psutil.AccessDenied:
        return True
    # An editor may send a number that no process can have: that is the ValueError.
    except (psutil.NoSuchProcess, ValueError):
        return False
