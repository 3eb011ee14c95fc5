"""Measure what our layer adds to a model call of one second: packing once; covering, counting, storing each time.

    python benchmarks/studies/calls.py FOLDER [PATH]

FOLDER is a repository, PATH the file to work on in it; the longest that fits if none is named. Times are the
processor's; waiting for the disk comes on top.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from rolecall_analysis import Index, definitions_in, is_test_path
from rolecall_server.context import Focus, PackSource, pack, render
from rolecall_server.model import NO_WISHES, ChatMessage, Reply, Wishes, estimate_tokens
from rolecall_server.settings import ModelSettings
from rolecall_server.store import open_store
from rolecall_server.team.model_calls.budgeted import StoredCalls
from rolecall_server.workspace import Workspace

ROUNDS = 9
CALL_S = 1.0
BUDGET_TOKENS = 8_000


class Instant:
    """A model that answers at once."""

    label = "instant"

    async def complete(self, messages: Sequence[ChatMessage], wishes: Wishes = NO_WISHES) -> Reply:
        """A reply of 200 lines."""
        return Reply("    return 1\n" * 200, "instant", 8_000, 800)

    async def aclose(self) -> None:
        """Nothing is held."""


def main() -> None:
    """Measure, and print a line for each part."""
    root = Path(sys.argv[1]).resolve()
    index = Index(root)
    index.scan()
    view = PackSource(Workspace(root), index.snapshot(), estimate_tokens)
    path = sys.argv[2] if len(sys.argv) > 2 else _longest(view)
    shown = render(pack(view, Focus(path), BUDGET_TOKENS))
    print(f"{path} in {root.name}; {estimate_tokens(shown):,} tokens are shown")
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(Path(folder) / "rolecall.db")
        calls = StoredCalls(Instant(), store, store.add_run(root, "engineer", path, ""), reply_tokens=8_000)
        messages = [ChatMessage("system", "You are the Engineer."), ChatMessage("user", shown)]
        repair = [*messages, ChatMessage("assistant", "x = 1\n" * 300), ChatMessage("user", "One test fails.")]
        packing = _median_s(lambda: render(pack(view, Focus(path), BUDGET_TOKENS)))
        first = _median_s(lambda: asyncio.run(calls.complete(messages)))
        later = _median_s(lambda: asyncio.run(calls.complete(repair)))
    for what, took_s in (
        ("packing", packing),
        ("covering, counting, storing", first),
        ("the same, a turn later", later),
        ("a first call", packing + first),
    ):
        print(f"{what:<28} {1000 * took_s:7.1f} ms, {took_s / CALL_S:5.1%} of a call of {CALL_S:g} s")


def _longest(view: PackSource) -> str:
    room = ModelSettings(context_tokens=BUDGET_TOKENS).context_tokens * 0.6
    fitting = [
        (tokens, path)
        for path in view.snapshot.files
        if definitions_in(view.snapshot, path)
        and not is_test_path(path)
        and (tokens := estimate_tokens(view.snapshot.text(path) or "")) < room
    ]
    return max(fitting)[1]


def _median_s(work: Callable[[], object]) -> float:
    times: list[float] = []
    for _ in range(ROUNDS):
        started = time.process_time()  # other programs may keep the machine busy
        work()
        times.append(time.process_time() - started)
    return statistics.median(times)


if __name__ == "__main__":
    main()
