"""Runs on a workspace that stays as it is: one that was changed meanwhile shows neither the old nor the new."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path

from rolecall_analysis.ignored import Ignored, is_ignored
from rolecall_server.sandbox.results import TestRun
from rolecall_server.sandbox.shadow.shadow import Shadow
from rolecall_server.sandbox.shadow.trees import differences, stamps

_TRIES = 3


async def run_while_unchanged(shadow: Shadow, run: Callable[[], Awaitable[TestRun]]) -> TestRun:
    """Return the result of *run* when no file of the workspace changed during it; it is tried three times.

    A copy is changed by nobody. Files that git ignores may change: programs write logs and caches there.
    """
    if not shadow.confinement.overlays:
        return await run()
    changed: tuple[str, ...] = ()
    for _ in range(_TRIES):
        before = await asyncio.to_thread(stamps, shadow.original)
        found = await run()
        after = await asyncio.to_thread(stamps, shadow.original)
        changed = await asyncio.to_thread(_that_count, shadow.original, differences(before, after))
        if not changed:
            return found
    names = ", ".join(changed[:3]) + (", ..." if len(changed) > 3 else "")
    reason = f"The workspace changed during each of {_TRIES} runs: {names}. Run again when it is quiet."
    return TestRun("not run", reason, confinement=shadow.confinement.name)


def _that_count(root: Path, paths: Iterable[str]) -> tuple[str, ...]:
    ignored = Ignored(root)
    governing = ((path, ignored.rules_in(path.rpartition("/")[0])) for path in paths)
    return tuple(path for path, rules in governing if rules is not None and not is_ignored(path, rules))
