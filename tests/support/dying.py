"""`rolecall` in a process that kills itself, without a word, right before or after it stores its nth step.

``before|after N ARGUMENTS OF ROLECALL…`` is what `DyingPopen` is told in place of the arguments. Steps are counted in
its own process.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

from rolecall_server.__main__ import main
from rolecall_server.team.engine import scheduler
from support.prepared import PreparedPopen


class DyingPopen(PreparedPopen):
    """`subprocess.Popen`, but for Rolecall, which is forked and dies."""

    program = f"import sys; sys.path.append({str(Path(__file__).parents[1])!r}); from support.dying import die; die()"


def die() -> None:
    """Be `rolecall`, but for the step before or after which this process dies."""
    when, last, *arguments = sys.argv[1:]
    stored, n_steps = scheduler.finish_step, 0

    def store_and_die(*values: Any) -> list[int]:
        nonlocal n_steps
        n_steps += 1
        is_last = n_steps == int(last)
        if is_last and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        numbers = stored(*values)
        if is_last:
            os.kill(os.getpid(), signal.SIGKILL)
        return numbers

    scheduler.finish_step = store_and_die
    sys.argv = ["rolecall", *arguments]
    sys.exit(main())
