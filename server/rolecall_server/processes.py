"""The identity of a process: its number and its start, whatever the clock says.

Numbers of processes are used again, so each goes with the start of its process. No clock that can be set is asked: a
store or a folder may be looked at after the clock was changed. psutil is imported where it is needed: every command
imports this module, few ask.
"""

from __future__ import annotations

import os
import re
import sys
from typing import NamedTuple

_NAME = re.compile(r"([0-9]{1,10})-(?:([0-9]{1,18})-)?", re.ASCII)


class ProcessId(NamedTuple):
    """A process, told apart from all that have had or will have its number."""

    number: int
    start: int | None = None
    """When it began, in hundredths of a second; ``None`` where an earlier Rolecall stored the number only."""

    def __str__(self) -> str:
        return str(self.number) if self.start is None else f"{self.number}-{self.start}"


def this_process() -> ProcessId:
    """Return the process that asks."""
    return ProcessId(os.getpid(), _start(os.getpid()))


def still_runs(process: ProcessId) -> bool:
    """Return whether *process* has not ended; where its start is not known, its number alone decides."""
    import psutil

    try:
        # It has ended, and only keeps its number until its parent asks for it.
        if psutil.Process(process.number).status() == psutil.STATUS_ZOMBIE:
            return False
        return process.start in (None, _start(process.number))
    except psutil.AccessDenied:
        return True
    except (psutil.NoSuchProcess, ValueError, OverflowError):  # the last two: no number of a process
        return False


def named_process(name: str) -> ProcessId | None:
    """Return the process that *name* begins with, as `ProcessId` is written, and a dash; ``None`` where it does not."""
    found = _NAME.match(name)
    return ProcessId(int(found[1]), int(found[2]) if found[2] else None) if found else None


def _start(number: int) -> int:
    """Return when the process of that number began, in hundredths of a second; setting the clock changes nothing of it.

    Linux counts it from boot; psutil adds the time of boot as the clock has it now, which is taken off again. macOS
    keeps what the clock said at the start.

    Raises:
        psutil.Error: there is no such process, or it may not be looked at.
    """
    import psutil

    if sys.platform != "linux":
        return round(psutil.Process(number).create_time() * 100)
    while True:
        boot_s = psutil.boot_time()
        start_s = psutil.Process(number).create_time() - boot_s
        if psutil.boot_time() == boot_s:  # else the clock was set in between
            return round(start_s * 100)
