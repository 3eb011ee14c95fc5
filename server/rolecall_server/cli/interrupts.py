"""Ending early: tidily where that is quick, and soon in any case."""

from __future__ import annotations

import _thread
import asyncio
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, TypeVar

_T = TypeVar("_T")
_ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""The signals that end a command from outside; Windows has no SIGHUP."""
_TIDYING_S = 4.0
"""The time to clean up after a command was asked to end; what it leaves then, the next command takes away."""
_BACKSTOP_S = 4.8
"""When the system ends it, should it not even get to ending itself."""
_OUT_OF_THE_WAY_S = 0.05
"""The time after which the main thread has left the place where a signal was lost."""
STOPPED = 130
"""The exit code of a command that was stopped."""

_cancel: list[Callable[[], object]] = []
"""The function that cancels the work under way in an event loop; empty where none is."""
_came: list[int] = []
"""The signals that asked this process to end."""


class _Threads(ThreadPoolExecutor):
    """The threads beside an event loop. A command that was stopped does not wait for them: no thread can be cancelled,
    and what one leaves half done is what a killed command leaves.
    """

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the threads that have nothing to do."""
        super().shutdown(wait and not _came, cancel_futures=cancel_futures or bool(_came))


def end_like_ctrl_c() -> None:
    """Have `kill` and a closed terminal end the command as Ctrl+C does, so that no copy and no process is left.

    A signal that is ignored already, as under `nohup`, stays ignored.
    """
    for number in _ENDING:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _interrupt)
    sys.unraisablehook = _raise_again


def _raise_again(lost: sys.UnraisableHookArgs) -> None:
    """Have a signal strike again that struck where no exception can be raised, as in a compiled library's callback."""
    if lost.exc_type is KeyboardInterrupt and _came:
        _thread.start_new_thread(_strike_again, (_came[-1],))
    else:
        sys.__unraisablehook__(lost)


def _strike_again(number: int) -> None:
    time.sleep(_OUT_OF_THE_WAY_S)  # at once it would strike in the hook, and be lost again
    _thread.interrupt_main(signal.Signals(number))


@contextmanager
def held_back() -> Generator[None, None, None]:
    """Have a signal end the command only when the block is left, so that what is changed within is changed whole."""
    came: list[int] = []
    # Python lets the main thread alone set handlers.
    handlers = {number: signal.getsignal(number) for number in _ENDING} if _is_main_thread() else {}
    # None stands for a handler that Python did not set; Python could not put it back.
    heard = {number: handler for number, handler in handlers.items() if handler not in (signal.SIG_IGN, None)}
    for number in heard:
        signal.signal(number, lambda number, frame: came.append(number))
    try:
        yield
    finally:
        for number, handler in heard.items():
            signal.signal(number, handler)
        for number in came[:1]:
            signal.raise_signal(number)


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def run_until_interrupted(work: Coroutine[Any, Any, _T]) -> _T:
    """Run *work*, which a signal cancels, and return its result.

    Raises:
        KeyboardInterrupt: a signal came, perhaps too late to cancel the last of it.
    """
    try:
        with asyncio.Runner() as runner:
            runner.get_loop().set_default_executor(_Threads())
            result = runner.run(_cancelled_by_signals(work))
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    if _came:
        raise KeyboardInterrupt
    return result


async def _cancelled_by_signals(work: Coroutine[Any, Any, _T]) -> _T:
    """Await *work*; an exception raised by a handler may strike, and be lost, in somebody else's clean-up."""
    task, loop = asyncio.current_task(), asyncio.get_running_loop()
    assert task is not None
    _cancel.append(lambda: loop.call_soon_threadsafe(task.cancel))
    try:
        # Else a signal that comes just before the loop begins to wait is noticed only after that wait.
        with _signals_as_bytes() as came:
            with suppress(NotImplementedError):  # Windows' loops do so by themselves
                loop.add_reader(came, os.read, came, 64)
            try:
                return await work
            finally:
                with suppress(NotImplementedError):
                    loop.remove_reader(came)
    finally:
        _cancel.pop()


def typed_with(read: Callable[[], str]) -> str:
    """Return what *read* reads from standard input, where a person types; Ctrl+C is heard however early it comes.

    A signal that comes after Python last looked for one, and before the system waits for input, would go unnoticed
    until the next line is typed. So it is waited for together with the input, until there is something to read.

    Raises:
        KeyboardInterrupt: a signal came.
        EOFError: the input has ended.
    """
    if not (hasattr(signal, "setitimer") and sys.stdin.isatty()):  # Windows cannot wait for a terminal
        return read()
    with _signals_raise(), _signals_as_bytes() as came:
        while sys.stdin not in select.select([sys.stdin, came], [], [])[0]:
            os.read(came, 64)
        return read()


@contextmanager
def _signals_raise() -> Generator[None, None, None]:
    """Have a signal raise at once, as no event loop runs meanwhile that could cancel its work."""
    held = _cancel.copy()
    _cancel.clear()
    try:
        yield
    finally:
        _cancel.extend(held)


@contextmanager
def _signals_as_bytes() -> Generator[int, None, None]:
    """Yield a descriptor that becomes readable when a signal comes."""
    reading, writing = os.pipe()
    # `set_wakeup_fd` refuses a descriptor that blocks.
    os.set_blocking(writing, False)
    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    try:
        yield reading
    finally:
        signal.set_wakeup_fd(before)
        os.close(reading)
        os.close(writing)


def _interrupt(number: int, frame: FrameType | None) -> None:
    _came.append(number)
    _end_in_any_case()
    if _cancel:
        _cancel[-1]()
    else:
        signal.default_int_handler(number, frame)


def end_without_threads(code: int) -> None:
    """End the process, where it was stopped and threads still work; Python would wait for them."""
    others = [one for one in threading.enumerate() if one is not threading.main_thread() and not one.daemon]
    if not (_came and others):
        return
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def _end_in_any_case() -> None:
    """Have the process end soon, whatever waits for whatever: a thread cannot be cancelled."""
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, _BACKSTOP_S)
    # `threading` takes locks that the code which a signal interrupts may hold
    _thread.start_new_thread(_end_at_last, ())


def _end_at_last() -> None:
    time.sleep(_TIDYING_S)
    with suppress(OSError):
        # Not through `sys.stderr`: the code that hangs may hold its lock.
        os.write(2, b"\nStopped; what was under way was broken off.\n")
    os._exit(STOPPED)
