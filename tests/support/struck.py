"""A process that a signal strikes when it is about to change a file for the nth time.

Run as a script, it is `rolecall`: ``python struck.py SIGNAL N FOLDER ARGUMENTS…``; changes in *FOLDER* are counted.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

_CHANGES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.chmod", "os.chown"}


def strike(number: int, n: int, folder: Path) -> None:
    """Have the signal *number* come just before the *n*th change, counted from 1, of a file in *folder* from now on."""
    seen = 0

    def count(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal seen
        changes = event in _CHANGES or (event == "open" and bool(arguments[2] & (os.O_WRONLY | os.O_RDWR)))
        if changes and str(arguments[0]).startswith(f"{folder}/"):
            seen += 1
            if seen == n:
                os.kill(os.getpid(), number)

    sys.addaudithook(count)


if __name__ == "__main__":
    from rolecall_server.__main__ import main

    strike(signal.Signals[sys.argv[1]], int(sys.argv[2]), Path(sys.argv[3]))
    sys.argv = ["rolecall", *sys.argv[4:]]
    sys.exit(main())
