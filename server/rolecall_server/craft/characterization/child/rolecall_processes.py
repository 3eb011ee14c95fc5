"""Work done in forked processes, so that a job that ends or hangs its process is lost alone."""

# pyright: basic, reportMissingImports=false
# It looks at objects of which nothing is known, and finds its other parts beside itself.

from __future__ import annotations

import collections
import contextlib
import json
import os
import resource
import select
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_MEMORY_BYTES = 1 << 30


def serve(
    jobs: list[Any],
    work: Callable[[Any], dict[str, Any]],
    report: Callable[[dict[str, Any]], None],
    hang_s: float,
    *,
    alone: bool = False,
) -> None:
    """Has *work* done on each of *jobs* in forked processes, with *alone* one for each; a job that ends its process
    is reported as crashed.
    """
    waiting = collections.deque(jobs)
    while waiting:
        process, answers = _fork([waiting[0]] if alone else list(waiting), work)
        ended = False
        for answer in _lines(answers, hang_s):
            # Answers come in the order of the jobs: each is about the first that waits.
            waiting.popleft()
            report(answer)
            ended = alone or bool(answer.get("pollutes"))
        _end(process)
        os.close(answers)
        if waiting and not ended:
            report({"id": waiting.popleft()["id"], "kind": "crashed"})


def _fork(jobs: list[Any], work: Callable[[Any], dict[str, Any]]) -> tuple[int, int]:
    """Fork a process that works through *jobs*; return its id and the file descriptor that its answers are
    read from.
    """
    answers, sink = os.pipe()
    process = os.fork()
    if process:
        os.close(sink)
        return process, answers
    try:
        os.close(answers)
        with contextlib.suppress(ValueError, OSError):
            # The limit is on all of the address space, of which the parent's imports have taken a part.
            limit = _in_use() + _MEMORY_BYTES
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        with os.fdopen(sink, "w", encoding="utf-8") as out:
            for job in jobs:
                answer = work(job)
                out.write(json.dumps(answer) + "\n")
                out.flush()
                if answer.get("pollutes"):
                    break
    finally:
        # The child must never get back into the code that forked it.
        os._exit(0)
    raise AssertionError


def _in_use() -> int:
    with contextlib.suppress(OSError, ValueError), Path("/proc/self/statm").open(encoding="ascii") as sizes:
        return int(sizes.read().split()[0]) * resource.getpagesize()
    return 1 << 30


def _lines(source: int, hang_s: float) -> Iterator[dict[str, Any]]:
    """Yield the answers that come from *source* until it ends or falls silent."""
    rest = b""
    while select.select([source], [], [], hang_s)[0]:
        data = os.read(source, 1 << 16)
        if not data:
            return
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            yield json.loads(line)


def _end(process: int) -> None:
    with contextlib.suppress(OSError):
        os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
