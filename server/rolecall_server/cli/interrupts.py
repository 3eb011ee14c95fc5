"""Ending early, and tidily."""

from __future__ import annotations

import signal
from types import FrameType


def end_like_ctrl_c() -> None:
    """Have `kill` and a closed terminal end the command as Ctrl+C does, so that no copy and no process is left.

    A signal that is ignored already, as under `nohup`, stays ignored.
    """
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _interrupt)


def _interrupt(number: int, frame: FrameType | None) -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a shell's background, where `kill` must work still
        signal.default_int_handler(number, frame)
    signal.raise_signal(signal.SIGINT)
