"""Ending early, and tidily."""

from __future__ import annotations

import signal


def end_like_ctrl_c() -> None:
    """Have `kill` and a closed terminal end the command as Ctrl+C does, so that no copy and no process is left.

    A signal that is ignored already, as under `nohup`, stays ignored.
    """
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, lambda _number, _frame: signal.raise_signal(signal.SIGINT))
