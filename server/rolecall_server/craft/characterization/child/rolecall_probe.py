"""Evaluates calls of one module and tells what each did: ``rolecall_probe.py REQUEST REPORT``.

Runs in the workspace's own interpreter, so only the standard library of Python 3.8 and later is used. The request is
a JSON object, the report one JSON object a line. Every call is made in a forked process with a deadline, so one that
hangs or kills its interpreter is lost alone; a call that changes the module's own state is the last of its process.
"""

# pyright: basic, reportMissingImports=false
# It looks at objects of which nothing is known, and finds its other parts beside itself.

from __future__ import annotations

import gc
import json
import signal
import sys
from pathlib import Path
from typing import Any

import rolecall_environment as environment
from rolecall_altered import Mutations
from rolecall_calls import Probe, classes_of
from rolecall_guard import Guard, Overtime, shift_clock, watch_chance, watch_descriptors
from rolecall_processes import serve

# A call that hangs in C never sees the alarm: after so many times its limit its process is ended.
_HANG_FACTOR = 4


def _on_alarm(number: int, frame: Any) -> None:
    raise Overtime


def _prepare(request: dict[str, Any]) -> None:
    # Python puts the folder of this file first on its path; the workspace's modules come from PYTHONPATH.
    sys.path[:] = [entry for entry in sys.path if entry != str(Path(__file__).parent)]
    sys.dont_write_bytecode = True
    signal.signal(signal.SIGALRM, _on_alarm)
    if request["clock_shift_days"]:
        shift_clock(request["clock_shift_days"])


def main(request_path: str, report_path: str) -> int:
    """Answers the request; the exit code."""
    request = json.loads(Path(request_path).read_text("utf-8"))
    _prepare(request)
    guard = Guard()
    watch_descriptors(guard)
    if request["trace"]:
        watch_chance(guard)
        environment.watch(guard, request["root"])
    with Path(report_path).open("w", encoding="utf-8") as out:

        def report(answer: dict[str, Any]) -> None:
            out.write(json.dumps(answer) + "\n")
            out.flush()

        try:
            worker = Mutations(request, guard) if request["mutants"] else Probe(request, guard)
        except BaseException as error:  # noqa: BLE001
            report({"failed": f"{type(error).__name__}: {error}"})
            return 1
        imported = worker.imported if isinstance(worker, Probe) else []
        lines = sorted({line for arc in imported for line in arc if line > 0})
        report({"lines": lines, "classes": classes_of(sys.modules[request["module"]])})
        # Else a fork that looks for garbage would write to all pages that it shares with this process.
        gc.collect()
        gc.freeze()
        if isinstance(worker, Mutations):
            hang_s = request["mutant_timeout_s"] * _HANG_FACTOR
            serve(request["mutants"], worker.judge, report, hang_s)
        else:
            hang_s = request["call_timeout_s"] * _HANG_FACTOR
            serve(request["calls"], worker.observe, report, hang_s, alone=request["alone"])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
