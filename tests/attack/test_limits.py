"""Replies made to keep us busy: the event loop goes on, limits of time are kept, and a signal ends every command.

The long form measures with a clock and prints what it measured; the short form asks for nothing of the machine's speed.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path

import psutil
import pytest

from rolecall_server import text_work
from rolecall_server.context.redaction import Covers
from rolecall_server.craft.attempt import AttemptWork
from rolecall_server.craft.attempts import work_out
from rolecall_server.craft.edits.edit_blocks import apply_edit_blocks
from rolecall_server.craft.edits.replies import parse_edit_blocks
from rolecall_server.errors import RolecallError
from rolecall_server.model import ChatMessage, ask_for
from rolecall_server.model.replies.schema import distinct
from rolecall_server.sandbox import NotRun
from rolecall_server.team.documents import TaskList
from rolecall_server.team.model_calls.budgeted import StoredCalls
from support.attacks import LONG, size
from support.chat_server import ChatServer, Turn, Wire, says
from support.edits import block
from support.patience import PATIENCE_S
from support.scripted_model import ScriptedModel
from support.stores import open_store
from support.workspaces import FILES, environment, write_workspace

_WITHIN = 1.1
_ON_THE_LOOP_S = 1.0
"""Of computing between two turns of the event loop, at most."""
_SIGNAL_S = 5.0
_IDLE_S = 3.0
"""After which a process that computed nothing counts as waiting."""
_ENDED = (130, -signal.SIGTERM, -signal.SIGALRM)
"""Tidily, before anything had begun, or by the system because nothing in the process got to it."""
_WATCHED = tuple(f"S3cr3tV4lue{n:03}xYz" for n in range(200))


def names(seed: int, n: int) -> list[str]:
    """Return *n* words that resemble one another."""
    chance = random.Random(seed)
    return ["".join(chance.choice("abcdefgh") for _ in range(12)) for _ in range(n)]


def made_files(n: int) -> dict[str, str]:
    """Return the files that replies are about, about *n* characters each."""
    lines = [f"{word} = {word[::-1]} + call_{word}({'x, ' * 30}{word})\n" for word in names(1, n // 150)]
    return {"a.py": "".join(lines), "same.py": "a\n" * (n // 2), "blank.py": "\n" * n}


def _long_block(path: str, n: int) -> str:
    alike = "".join("a\n" if odd % 2 else f"u{odd}\n" for odd in range(n))
    return block(path, "a\n" * n, alike)


def made_replies(n: int, seed: int = 0) -> dict[str, str]:
    """Return replies of about *n* characters, each hard to read or to apply in a way of its own."""
    words = names(seed, n // 40)
    chance = random.Random(seed)
    chatter = "".join(chance.choice("<>=`\n FILE:a.py*#_") for _ in range(n))
    near = (block("a.py", f"{w} = {w[::-1]} + cell_{w}({'y, ' * 30}{w})\n", "x = 1\n") for w in words)
    return {
        "blocks that are nearly there": "".join(near)[:n],
        "blocks that are there many times": block("same.py", "a\n" * 50, "b\n") * (n // 200),
        "blocks of blank lines": block("blank.py", "\n" * 50 + "x\n", "b\n") * (n // 150),
        "one block with many dividers": block("a.py", "=======\n" * (n // 8), "x\n"),
        "lines that are compared often": block("a.py", "x\n", "y\n") + _long_block("same.py", 1_000),
        "blocks in blocks": "FILE: a.py\n" + "<<<<<<< SEARCH\n" * (n // 30) + ">>>>>>> REPLACE\n" * (n // 30),
        "ends without a beginning": "FILE: a.py\nx\n>>>>>>> REPLACE\n" * (n // 30),
        "names of files in prose": block("a.py", "x\n", "y " * n)
        + "".join(f"`{w}` " for w in words)
        + block("", "x\n", "y\n"),
        "no line end": "a" * n,
        "nothing but line ends": "\n" * n,
        "deep brackets": block("deep.py", "", "x = " + "(" * (n // 2) + ")" * (n // 2) + "\n"),
        "deep blocks of code": block("deep.py", "", "".join(f"{' ' * depth}if x:\n" for depth in range(int(n**0.5)))),
        "passwords": "".join(f"password = '{w}!{number}aB3'\n" for number, w in enumerate(words)),
        "names like covers": block("a.py", "", "".join(f"REDACTED_SECRET_{number} " for number in range(n // 20))),
        "hexadecimal digits": "".join(f"{w.encode().hex()} " for w in words),
        "renames": "".join(f"RENAME FILE: {w} -> {w}{w}\n" for w in words),
        "chatter": chatter,
    }


@contextlib.asynccontextmanager
async def turns() -> AsyncIterator[list[float]]:
    """Yield what the event loop's own thread computed between one turn and the next, in seconds, as it goes on."""
    spent: list[float] = []

    async def turn() -> None:
        while True:
            before = time.thread_time()
            await asyncio.sleep(0.01)
            spent.append(time.thread_time() - before)

    turning = asyncio.create_task(turn())
    try:
        yield spent
        await asyncio.sleep(0.02)
    finally:
        turning.cancel()


async def answered(reply: str, files: Mapping[str, str], folder: Path) -> str:
    """Have a role work with a model that says *reply* again and again; return what came of it."""

    async def not_run(changed: Mapping[str, str | None]) -> NotRun:
        return NotRun("No test is run here.")

    store = open_store(folder / "rolecall.db")
    covers = Covers(watched=_WATCHED)
    calls = StoredCalls(ScriptedModel([reply] * 20), store, store.add_run(folder, "engineer", "", ""), covers=covers)
    work = AttemptWork(
        (ChatMessage("user", "Do it."),), files.get, lambda path: None, not_run, lambda: None, "Mend it."
    )
    try:
        return type(await work_out(work, calls, lambda *_: None)).__name__
    except RolecallError as error:
        return error.code
    finally:
        store.close()


@pytest.mark.parametrize("kind", made_replies(40))
async def test_a_reply_made_to_keep_us_busy_leaves_the_event_loop_free(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    n = size(30_000, 900_000)
    monkeypatch.setattr(text_work, "MOST_SECONDS", 10.0 if LONG else 0.3)
    began = time.monotonic()
    async with turns() as spent:
        end = await answered(made_replies(n)[kind], made_files(n), tmp_path)
    took = time.monotonic() - began
    print(f"\n{kind}: {end} after {took:.1f} s, at most {max(spent):.2f} s on the event loop")
    assert end in ("AttemptOutcome", "NoUsableEdit", "NothingToChange", "TextTooHard", "BudgetSpent")
    assert max(spent) < _ON_THE_LOOP_S
    if LONG and end == "TextTooHard":
        assert took < 10 * _WITHIN * 12  # each of at most a dozen pieces of work has its own limit


async def test_control_on_the_event_loop_such_a_reply_would_keep_it() -> None:
    files = {"a.py": "".join(f"{word} = {word[::-1]}\n" for word in names(1, 1_000))}
    reply = "".join(block("a.py", f"{word} = {word[::2]}\n", "x\n") for word in names(2, 40))
    async with turns() as spent:
        await asyncio.sleep(0.02)
        apply_edit_blocks(parse_edit_blocks(reply), files.get)
    assert max(spent) > _ON_THE_LOOP_S


def made_documents(n: int) -> dict[str, str]:
    """Return task lists of about *n* characters, each hard to read in a way of its own."""

    def task(number: int, **more: object) -> dict[str, object]:
        return {"id": f"T{number}", "title": "t", "serves": ["R1"], "needs": [f"T{number + 1}"], **more}

    def listed(tasks: list[object]) -> str:
        return json.dumps({"title": "t", "tasks": tasks})

    return {
        "fields that nobody asked for": json.dumps({f"field{number}": 0 for number in range(n // 15)}),
        "as many as are left out": json.dumps({f"field{number}": [0] * (n // 1_200) for number in range(400)}),
        "tasks with fields that nobody asked for": listed([task(number, x=1) for number in range(1, n // 75)]),
        "a long list of which some have such fields": listed(
            [task(number, **({"x": 1} if number <= 400 else {})) for number in range(1, n // 75)]
        ),
        "nothing but faults": listed([1] * (n // 3)),
        "faults in each of many": listed([{"id": 1}] * (n // 11)),
        "as many faults as are told": listed([{"id": number, "title": "t" * (n // 400)} for number in range(150)]),
        "lists in lists": '{"title": ' + "[" * (n // 2) + "]" * (n // 2) + "}",
        "objects in objects": '{"title": ' * (n // 12) + "1" + "}" * (n // 12),
        "braces": "{" * n,
        "braces on lines": "{\n" * (n // 2),
        "many objects": "{}\n" * (n // 3),
        "fences": "```json\n{\n```\n" * (n // 14),
        "tasks that need the next": listed([task(number) for number in range(1, n // 75)]),
    }


@pytest.mark.parametrize("kind", made_documents(40))
async def test_a_document_made_to_keep_us_busy_leaves_the_event_loop_free(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_work, "MOST_SECONDS", 10.0 if LONG else 0.3)
    reply = made_documents(size(30_000, 900_000))[kind]
    began, end = time.monotonic(), "read"
    async with turns() as spent:
        try:
            await ask_for(ScriptedModel([reply] * 4), [ChatMessage("user", "Divide it.")], TaskList)
        except RolecallError as error:
            end = error.code
    print(f"\n{kind}: {end} after {time.monotonic() - began:.1f} s, at most {max(spent):.2f} s on the event loop")
    assert end in ("read", "ReplyMisshapen", "TextTooHard")
    assert max(spent) < _ON_THE_LOOP_S


async def test_control_to_look_through_all_faults_of_such_a_document_would_keep_it() -> None:
    async with turns() as spent:
        await asyncio.sleep(0.02)
        distinct(("tasks", number, "id") for number in range(8_000))  # the time grows with the square
    assert max(spent) > _ON_THE_LOOP_S


SLOW = made_replies(size(200_000, 900_000))["blocks that are nearly there"]
COMMANDS = {
    "tests": ["tests", "shop/price.py", "--yes"],
    "implement": ["implement", "Let it be.", "--in", "shop/price.py", "--yes"],
    "run": ["run", "Let it be.", "--yes"],
    "review": ["review"],
    "graph": ["graph", "imports", "."],
    "doctor": ["doctor"],
    "serve": ["serve"],
    "tests --root /": ["tests", "--root", "/", "usr/lib/python3/abc.py"],
}


@contextlib.contextmanager
def command(words: list[str], folder: Path, base_url: str) -> Iterator[psutil.Popen]:
    """Yield `rolecall` at work in a workspace with large and odd files, which are its own text."""
    large = {"shop/large.py": made_files(size(50_000, 1_500_000))["a.py"], "shop/deep.py": "x = " + "(" * 50_000}
    root = write_workspace(folder / "shop", {**FILES, **large})
    home = environment(folder / "home", base_url)
    arguments = [sys.executable, "-I", "-m", "rolecall_server", *words]
    process = psutil.Popen(
        arguments, cwd=root, env=home, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield process
    finally:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
        process.communicate()


def wait_for_work(process: psutil.Popen, seconds: float) -> None:
    """Wait until *process* has computed for so long, waits for something, or has ended."""
    spent, since = 0.0, time.monotonic()
    with contextlib.suppress(psutil.NoSuchProcess):
        while process.poll() is None and spent < seconds and time.monotonic() < since + _IDLE_S:
            time.sleep(0.01)
            now = sum(process.cpu_times()[:2])
            spent, since = (now, time.monotonic()) if now > spent else (spent, since)


@pytest.mark.parametrize("name", COMMANDS if LONG else ["doctor", "serve", "tests --root /"])
@pytest.mark.parametrize("after_s", [0.7, 1.0, 1.5, 2.0, 3.0, 4.5][: size(1, 6)])
def test_a_signal_ends_every_command(name: str, after_s: float, tmp_path: Path) -> None:
    with ChatServer([SLOW] * 20) as server, command(COMMANDS[name], tmp_path, server.base_url) as process:
        wait_for_work(process, after_s)
        is_over = process.poll() is not None
        if not is_over:
            process.send_signal(signal.SIGTERM)
        began = time.monotonic()
        code = process.wait(PATIENCE_S)
    took = time.monotonic() - began
    print(f"\n{name}, after {after_s} s of work: {'over before' if is_over else f'{code} within {took:.2f} s'}")
    assert is_over or code in _ENDED
    assert not LONG or took < _SIGNAL_S


@pytest.mark.parametrize("repeat", range(size(1, 5)))
def test_a_signal_ends_a_command_that_applies_such_a_reply(repeat: int, tmp_path: Path) -> None:
    said = threading.Event()

    def perform(wire: Wire) -> None:
        says(SLOW).perform(wire)
        said.set()

    served, after_s = ChatServer([Turn("slow", perform)] * 20), 0.05 * (repeat + 1)
    with served as server, command(COMMANDS["implement"], tmp_path, server.base_url) as process:
        assert said.wait(PATIENCE_S)
        wait_for_work(process, sum(process.cpu_times()[:2]) + after_s)
        process.send_signal(signal.SIGTERM)
        began = time.monotonic()
        code = process.wait(PATIENCE_S)
    took = time.monotonic() - began
    print(f"\nimplement, {after_s:.2f} s into the reply: {code} within {took:.2f} s")
    assert code in _ENDED
    assert not LONG or took < _SIGNAL_S


@pytest.mark.parametrize("seconds", size(1, 3) * [6])
def test_a_run_asks_no_longer_than_it_may(seconds: int, tmp_path: Path) -> None:
    heard: list[float] = []

    def perform(wire: Wire) -> None:
        wire.start_stream()
        while True:
            heard.append(time.monotonic())
            wire.send_chunk(f"word {time.monotonic_ns()} `a.py`\n" * 20)
            wire.pause(0.05)

    words = [*COMMANDS["implement"], "--set", f"budget.secondsPerRun={seconds}"]
    with ChatServer([Turn("endless", perform)] * 20) as server, command(words, tmp_path, server.base_url) as process:
        assert process.wait(PATIENCE_S) == 1
    took = heard[-1] - heard[0]
    print(f"\nasked for {took:.2f} s of {seconds}")
    assert not LONG or took < seconds * _WITHIN
