"""`rolecall` in a process that kills itself, without a word, right before or after it stores its nth step.

Run as a script: ``python dying.py before|after N ARGUMENTS OF ROLECALL…``. Steps are counted in this process.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from rolecall_server.__main__ import main
from rolecall_server.team import operation

stored = operation.finish_step
n_steps = 0


when, last = sys.argv[1], int(sys.argv[2])


def store_and_die(*arguments: Any) -> list[int]:
    """Store a step; die before or after the one that was named."""
    global n_steps  # noqa: PLW0603
    n_steps += 1
    is_last = n_steps == last
    if is_last and when == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    numbers = stored(*arguments)
    if is_last:
        os.kill(os.getpid(), signal.SIGKILL)
    return numbers


if __name__ == "__main__":
    operation.finish_step = store_and_die
    sys.argv = ["rolecall", *sys.argv[3:]]
    sys.exit(main())
