"""Ending early, and tidily."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from contextlib import suppress
from types import FrameType
from typing import Any, TypeVar

_T = TypeVar("_T")
_ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
"""What ends a command from outside; Windows has no SIGHUP."""


def end_like_ctrl_c() -> None:
    """Have `kill` and a closed terminal end the command as Ctrl+C does, so that no copy and no process is left.

    A signal that is ignored already, as under `nohup`, stays ignored.
    """
    for number in _ENDING:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _interrupt)


def run_until_interrupted(work: Coroutine[Any, Any, _T]) -> _T:
    """The result of *work*, which a signal cancels.

    Raises:
        KeyboardInterrupt: a signal did.
    """
    try:
        return asyncio.run(_cancelled_by_signals(work))
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


async def _cancelled_by_signals(work: Coroutine[Any, Any, _T]) -> _T:
    """Await *work*; an exception raised by a handler may strike, and be lost, in somebody else's clean-up."""
    task = asyncio.current_task()
    assert task is not None
    for number in _ENDING:
        if signal.getsignal(number) is _interrupt:
            with suppress(NotImplementedError):  # Windows' loops take no handlers: there `_interrupt` raises instead
                asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    return await work


def _interrupt(number: int, frame: FrameType | None) -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a shell's background, where `kill` must work still
        signal.default_int_handler(number, frame)
    signal.raise_signal(signal.SIGINT)
