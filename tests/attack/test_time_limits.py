"""Limits of time against what has no end: each is reached, and what it limits ends with it.

The long form measures with a clock and prints how long it took; the short form asks for nothing of the machine's speed.
"""

from __future__ import annotations

import asyncio
import random
import textwrap
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest
from pydantic import BaseModel

from rolecall_server.errors import DeadlinePassed, RolecallError
from rolecall_server.lsp.runs.editor_model import AskedThroughEditor, OfferedModel, take_delta
from rolecall_server.lsp.server import RolecallServer
from rolecall_server.lsp.session import Session
from rolecall_server.model import ChatMessage, Reply, ToolCall, ToolLimits, ToolSpec, use_tools
from rolecall_server.model.chat_completions.openai_chat import OpenAIChat
from rolecall_server.model.endpoint import Endpoint
from rolecall_server.sandbox import (
    Interpreter,
    MutationRun,
    NotRun,
    Shadow,
    Suite,
    choose_confinement,
    run_mutants,
    run_tests,
    shadow_workspace,
)
from rolecall_server.sandbox.python.snippet import run_snippet
from rolecall_server.workspace import Workspace
from support.attacks import LONG, size
from support.chat_server import ChatServer, Turn, Wire, hangs, pings, stalls_after
from support.scripted_model import ScriptedModel
from support.stores import open_store
from support.workspaces import environment, write_workspace

LIMIT_S = size(2, 10)
_WITHIN = 1.1
_ENDING_S = 1.0
"""What it may take to end processes, and to begin with what is limited."""
_EVERY = 1 if LONG else 4


@contextmanager
def limited(what: str, limit_s: float = LIMIT_S) -> Iterator[None]:
    """Pass where the block takes as long as its limit; less would say that the attack is none."""
    began = time.monotonic()
    yield
    took = time.monotonic() - began
    print(f"\n{what}: {took:.2f} s of {limit_s:g} s, {took / limit_s:.2f}")
    assert took > 0.8 * limit_s
    assert not LONG or took < limit_s * _WITHIN + _ENDING_S


def trickles() -> Turn:
    """New words without an end, slowly."""

    def perform(wire: Wire) -> None:
        wire.start_stream()
        while True:
            wire.send_chunk(f"{time.monotonic_ns()} ")
            wire.pause(0.1)

    return Turn("trickles", perform)


def thinks() -> Turn:
    """Thoughts without an end."""

    def perform(wire: Wire) -> None:
        wire.start_stream()
        while True:
            wire.send_chunk(reasoning_content=f"{time.monotonic_ns()} ")
            wire.pause(0.1)

    return Turn("thinks", perform)


def sends_a_reply_byte_by_byte() -> Turn:
    """One object as long as the line holds, no stream."""

    def perform(wire: Wire) -> None:
        wire.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{")
        while True:
            wire.write(b" ")
            wire.pause(0.1)

    return Turn("sends byte by byte", perform)


ENDLESS = {
    "silence": hangs(),
    "comments": pings(),
    "a word, then silence": stalls_after("word"),
    "words": trickles(),
    "thoughts": thinks(),
    "a reply byte by byte": sends_a_reply_byte_by_byte(),
}


@pytest.mark.parametrize("name", [*ENDLESS][:: 1 if LONG else 3])
async def test_a_model_is_asked_no_longer_than_it_may_take(name: str) -> None:
    with ChatServer([ENDLESS[name]] * 50) as server:
        client = OpenAIChat(Endpoint(server.base_url), "scripted-model", LIMIT_S)
        with limited(name), pytest.raises(RolecallError):
            await client.complete([ChatMessage("user", "Well?")])
        await client.aclose()


# -- the models of an editor


PIECES: dict[str, Callable[[], str]] = {
    "no word": lambda: "",
    "words": lambda: f"{time.monotonic_ns()} ",
    "long pieces": lambda: random.randbytes(2_000).hex(),
}


@pytest.mark.parametrize("name", PIECES)
async def test_an_editors_model_is_asked_no_longer_than_it_may_take(name: str, tmp_path: Path) -> None:
    server = RolecallServer(Session(open_store(tmp_path / "rolecall.db")))
    server.protocol.set_writer(Nobody())  # pyright: ignore[reportArgumentType]
    client = AskedThroughEditor(server, OfferedModel(id="m"), LIMIT_S)
    talking = asyncio.create_task(talk(server, PIECES[name]))
    with limited(f"an editor's model: {name}"), pytest.raises(DeadlinePassed):
        await client.complete([ChatMessage("user", "Well?")])
    talking.cancel()
    assert server.session.model_calls == {}
    server.shutdown()


class Nobody:
    """An editor that answers nothing."""

    def write(self, data: bytes) -> None:
        """Hear a message."""

    def close(self) -> None:
        """Hear no more."""


async def talk(server: RolecallServer, piece: Callable[[], str]) -> None:
    """Send piece after piece of a reply that never ends."""
    while True:
        for call_id in [*server.session.model_calls]:
            take_delta(server, {"callId": call_id, "text": piece()})
        await asyncio.sleep(0.1)


# -- the repository's tests

PASSES = "def test_one():\n    pass\n"
HANGING_TESTS = {
    "a test": {"tests/test_a.py": "def test_one():\n    while True:\n        pass\n"},
    "a test that sleeps": {"tests/test_a.py": "import time\n\n\ndef test_one():\n    time.sleep(3600)\n"},
    "a module of tests": {"tests/test_a.py": f"{PASSES}\nwhile True:\n    pass\n"},
    "a conftest": {"tests/test_a.py": PASSES, "tests/conftest.py": "while True:\n    pass\n"},
    "a fixture that is left": {
        "tests/test_a.py": "import pytest, time\n\n\n@pytest.fixture\ndef slow():\n    yield\n    time.sleep(3600)\n"
        "\n\ndef test_one(slow):\n    pass\n"
    },
    "a thread": {
        "tests/test_a.py": "import threading, time\n\n\ndef test_one():\n"
        "    threading.Thread(target=time.sleep, args=(3600,)).start()\n"
    },
    "the end of Python": {"tests/test_a.py": f"import atexit, time\n\natexit.register(time.sleep, 3600)\n\n\n{PASSES}"},
    "signals that are ignored": {
        "tests/test_a.py": "import signal, time\n\n\ndef test_one():\n    for one in (2, 3, 15):\n"
        "        signal.signal(one, signal.SIG_IGN)\n    while True:\n        time.sleep(1)\n"
    },
    "children in sessions of their own": {
        "tests/test_a.py": "import subprocess\n\n\ndef test_one():\n    for _ in range(20):\n"
        "        last = subprocess.Popen(['sleep', '3600'], start_new_session=True)\n    last.wait()\n"
    },
    "output": {
        "tests/test_a.py": "import os, time\n\n\ndef test_one():\n    while True:\n"
        "        os.write(2, b'x' * 1000)\n        time.sleep(0.001)\n"
    },
    "a conftest that fails each time after a while": {
        "tests/test_a.py": PASSES,
        "conftest.py": "",
        "tests/conftest.py": f"import time\n\ntime.sleep({0.7 * LIMIT_S})\nraise ValueError\n",
        "more/conftest.py": f"import time\n\ntime.sleep({0.7 * LIMIT_S})\nraise ValueError\n",
        "more/test_b.py": PASSES,
    },
}


@asynccontextmanager
async def shadow_of(root: Path, files: dict[str, str]) -> AsyncIterator[tuple[Shadow, Interpreter]]:
    """A workspace apart behind walls, with a Python that has pytest."""
    home = environment(root.parent / "home")
    confinement = await choose_confinement("required", root)
    assert not isinstance(confinement, NotRun)
    python = Interpreter(Path(home["VIRTUAL_ENV"]) / "bin" / "python", "test")
    async with shadow_workspace(Workspace(write_workspace(root, files)), confinement) as shadow:
        assert isinstance(shadow, Shadow)
        ready = await run_snippet(shadow, python, "1", timeout_s=60)  # what is found out once does not count
        assert not isinstance(ready, NotRun)
        yield shadow, python


@pytest.mark.parametrize("name", [*HANGING_TESTS][::_EVERY])
async def test_a_run_of_tests_takes_no_longer_than_it_may(name: str, root: Path) -> None:
    suite = Suite(("tests/test_a.py",), LIMIT_S)
    async with shadow_of(root, HANGING_TESTS[name]) as (shadow, python):
        with limited(name):
            run = await run_tests(shadow, python, timeout_s=LIMIT_S, suite=suite)
    assert run.status != "ran" or run.reason or "conftest" in name


async def test_no_test_of_the_rest_begins_after_the_time_for_it(root: Path) -> None:
    slow = (
        "import time, pytest\n\n\n@pytest.mark.parametrize('n', range(500))\ndef test_slow(n):\n    time.sleep(0.1)\n"
    )
    async with shadow_of(root, {"tests/test_a.py": PASSES, "tests/test_slow.py": slow}) as (shadow, python):
        with limited("the rest of the suite"):
            run = await run_tests(shadow, python, timeout_s=20 * LIMIT_S, suite=Suite(("tests/test_a.py",), LIMIT_S))
    assert run.status == "ran"
    assert 0 < len(run.outcomes) < 500


async def test_mutants_are_tried_no_longer_than_they_may_be(root: Path) -> None:
    counting = "".join(
        f"def count_{k}(n):\n    seen = 0\n    while n > 0:\n        n -= 1\n        seen += 1\n    return seen\n\n\n"
        for k in range(30)
    )
    checking = "import counting\n\n\n" + "".join(
        f"def test_{k}():\n    assert counting.count_{k}(5) == 5\n\n\n" for k in range(30)
    )
    limit_s = size(8, 10)
    async with shadow_of(root, {"counting.py": counting, "test_counting.py": checking}) as (shadow, python):
        began = time.monotonic()
        run = await run_mutants(shadow, python, "counting.py", range(1, 300), timeout_s=limit_s)
        took = time.monotonic() - began
    assert isinstance(run, MutationRun), run
    print(
        f"\nmutants: {run.duration_s:.2f} s of {limit_s} s after {took - run.duration_s:.2f} s for the tests themselves"
    )
    assert run.untried, "there was more to try"
    assert not LONG or run.duration_s < limit_s * _WITHIN + _ENDING_S


# -- the tools of a model


class Nothing(BaseModel):
    """No arguments."""


@pytest.mark.parametrize("name", ["waits", "waits in a thread"])
async def test_a_tool_is_waited_for_no_longer_than_it_may_take(name: str) -> None:
    over = asyncio.Event()

    async def wait(asked: Nothing) -> str:
        await (over.wait() if name == "waits" else asyncio.to_thread(time.sleep, 3 * LIMIT_S))
        return "done"

    asks = Reply("", "m", 1, 1, (ToolCall("c1", "wait", "{}"),))
    tools = [ToolSpec("wait", "Waits.", Nothing, wait)]
    with limited(f"a tool that {name}"):
        talk = await use_tools(
            ScriptedModel([asks, "Done."]),
            [ChatMessage("user", "Wait.")],
            tools,
            limits=ToolLimits(tool_timeout_s=LIMIT_S),
        )
    assert talk.uses[0].result.startswith("It was not done within")


async def test_code_of_a_model_runs_no_longer_than_it_may(root: Path) -> None:
    code = textwrap.dedent("""
        import os, signal
        for one in (2, 3, 15):
            signal.signal(one, signal.SIG_IGN)
        for _ in range(5):
            os.fork()
        while True:
            pass
    """)
    async with shadow_of(root, {"a.py": ""}) as (shadow, python):
        with limited("code of a model"):
            end = await run_snippet(shadow, python, code, timeout_s=LIMIT_S)
    assert not isinstance(end, NotRun)
    assert end.timed_out
