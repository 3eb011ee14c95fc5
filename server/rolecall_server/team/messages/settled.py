"""Answers that the developer gave before work on a brief began: roles are told of them, attempts are held to them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from rolecall_server.sandbox import NotRun, TestResult
from rolecall_server.store.messages import MessageRow
from rolecall_server.team.messages.board import body_of
from rolecall_server.team.messages.edits import SharedBench
from rolecall_server.team.messages.rendering import settled_by
from rolecall_server.team.request import Desk


def with_settled(desk: Desk, messages: Iterable[MessageRow]) -> Desk:
    """Return *desk* with what *messages* settle of the brief."""
    doubts = [message for message in messages if message.kind == "doubt"]
    examples = [example for message in doubts if (example := body_of(message).get("example"))]
    held = partial(_failing, desk.bench, examples[-1]) if examples else desk.also_try
    return replace(desk, settled=settled_by(doubts), also_try=held)


async def _failing(bench: object, stored: Any, files: Mapping[str, str | None]) -> Sequence[TestResult]:
    """Return the calls of an example, as it is *stored*, that end otherwise with *files* laid over the workspace."""
    from rolecall_server.craft.doubt.example import EXAMPLE_JSON, failing_ends  # slow to import, and seldom needed

    assert isinstance(bench, SharedBench)
    if bench.why_no_snippet is not None or isinstance(bench.shadow, NotRun) or isinstance(bench.interpreter, NotRun):
        return ()
    async with bench.turn:
        bench.lay({**bench.below, **files})
        return await failing_ends(EXAMPLE_JSON.validate_python(stored), bench.shadow, bench.interpreter)
