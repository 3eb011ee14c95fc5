"""Work that must be carried through whoever loses interest: killing processes, removing folders."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

Result = TypeVar("Result")


async def complete(work: Awaitable[Result]) -> Result:
    """Await *work* to its end, even when the caller is cancelled once or several times, and return its result.

    Raises:
        CancelledError: the caller was cancelled meanwhile; *work* is done.
    """
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            # Unlike an `await` of the task, this does not cancel the task when the caller is cancelled.
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
    return task.result()
