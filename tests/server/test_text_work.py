"""Work on texts of others: the event loop goes on meanwhile, and it comes to an end."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Callable

import pytest

from rolecall_server import text_work
from rolecall_server.context.redaction import Covers, unknown_covers
from rolecall_server.craft.edits.edit_blocks import apply_edit_blocks
from rolecall_server.craft.edits.replies import parse_edit_blocks
from rolecall_server.errors import TextTooHard
from rolecall_server.text_work import beside_the_loop, look_at_the_clock
from support.edits import block
from support.patience import PATIENCE_S


async def test_the_event_loop_goes_on_while_a_text_is_worked_on() -> None:
    goes_on = threading.Event()
    waiting = asyncio.create_task(beside_the_loop("Waiting", goes_on.wait, PATIENCE_S))
    await asyncio.sleep(0.01)
    goes_on.set()
    assert await waiting


def endless(ended: threading.Event) -> None:
    try:
        while True:
            look_at_the_clock()
    finally:
        ended.set()


async def test_work_that_nobody_waits_for_any_more_ends() -> None:
    ended = threading.Event()
    work = asyncio.create_task(beside_the_loop("Waiting", endless, ended))
    await asyncio.sleep(0.01)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert await asyncio.to_thread(ended.wait, PATIENCE_S)


_NUMBERS = itertools.count()
"""What was looked for in a text once is remembered."""
MANY = "".join(f"def price_{n}(): return {n}\n" for n in range(50))
HARD: dict[str, Callable[[], object]] = {
    "a reply": lambda: parse_edit_blocks("FILE: a.py\n"),
    "a name in a reply": lambda: parse_edit_blocks(block("a.py", "x\n", "y\n") + "See `b.py`.\n" + block("", "x", "y")),
    "edits": lambda: apply_edit_blocks(parse_edit_blocks("DELETE FILE: a.py\n"), {"a.py": MANY}.get),
    "lines that are not there": lambda: apply_edit_blocks(
        parse_edit_blocks(block("a.py", "def prices_7(): return 8\n", "\n")), {"a.py": MANY}.get
    ),
    "a password": lambda: Covers().cover("password = 'correct!horse9'"),
    "something watched for": lambda: Covers(watched=("correct!horse9",)).cover(f"AssertionError {next(_NUMBERS)}"),
    "names like covers": lambda: unknown_covers("REDACTED_SECRET_7", "a"),
}


@pytest.mark.parametrize("hard", HARD)
async def test_reading_covering_and_applying_look_at_the_clock(hard: str, monkeypatch: pytest.MonkeyPatch) -> None:
    HARD[hard]()  # control: where nobody has set an end there is none
    monkeypatch.setattr(text_work, "MOST_SECONDS", -1.0)
    with pytest.raises(TextTooHard, match="Reading it took more than"):
        await beside_the_loop("Reading it", HARD[hard])
