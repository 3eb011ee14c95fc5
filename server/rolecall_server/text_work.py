"""Work on texts of others, beside the event loop and with an end.

A thread cannot be ended from outside. Such work therefore looks at the clock itself (`look_at_the_clock`), between
pieces that each take little, and gives up when its time is over or nobody waits for it any more.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

from rolecall_server.errors import TextTooHard

_P = ParamSpec("_P")
_T = TypeVar("_T")

MOST_SECONDS = 10.0
"""Ordinary texts take milliseconds."""


@dataclass
class _Work:
    what: str
    ends_at_s: float = math.inf
    """Known when a thread has begun; others may keep all threads busy until then."""


_under_way: ContextVar[_Work | None] = ContextVar("_under_way", default=None)


async def beside_the_loop(what: str, work: Callable[_P, _T], *args: _P.args, **keywords: _P.kwargs) -> _T:
    """Return what *work* returns, which a thread does while the event loop goes on; *what* it does is said in errors.

    When the caller is cancelled, the work ends at its next look at the clock.

    Raises:
        TextTooHard: it took longer than `MOST_SECONDS`.
    """
    under_way = _Work(what)

    def begin() -> _T:
        under_way.ends_at_s = min(under_way.ends_at_s, time.monotonic() + MOST_SECONDS)
        return work(*args, **keywords)

    token = _under_way.set(under_way)
    try:
        return await asyncio.to_thread(begin)  # which hands the context on
    finally:
        # Also when the caller was cancelled: its thread goes on, and ends at its next look.
        under_way.ends_at_s = 0
        _under_way.reset(token)


def look_at_the_clock() -> None:
    """Go on, unless the work that this is a part of has used up its time.

    Raises:
        TextTooHard: it has.
    """
    under_way = _under_way.get()
    if under_way is not None and time.monotonic() > under_way.ends_at_s:
        raise TextTooHard(f"{under_way.what} took more than {MOST_SECONDS:.0f} seconds and was given up.")
