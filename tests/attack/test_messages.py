"""What a hostile or broken editor sends: every request is answered once, and the server goes on.

Messages are made from the protocol's own types and from the page of our commands, and bent out of shape; two servers
share one workspace and one store. `support.messages` makes them, from the seed that pytest prints.
"""

from __future__ import annotations

import asyncio
import collections
import json
import random
import statistics
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from support.attacks import LONG, seed_of, size
from support.chat_server import ChatServer, fails
from support.frames import SERVER
from support.local_server import HastyLoop, LocalServer
from support.messages import JUNK, Forge, Sent, stream
from support.patience import PATIENCE_S
from support.proposals import propose, store_of
from support.workspaces import FILES, environment, write_workspace

N_MESSAGES = size(1_600, 160_000)
N_SESSIONS = size(2, 100)
N_IN_A_SESSION = size(120, 400)
BATCH = 40
LONGEST_WAIT_S = 2
"""Of computing, which does not depend on what else the machine does as the wait itself does."""
MIB = 2**20
EVERYTHING_ON = {
    "navigation": dict.fromkeys(
        ["definition", "references", "documentSymbol", "workspaceSymbol", "callHierarchy", "typeHierarchy"], True
    ),
    "review": {"codeLens": True, "trace": True},
    "tests": {"run": False},
}
CAPABILITIES = {
    "workspace": {
        "applyEdit": True,
        "workspaceEdit": {"documentChanges": True, "resourceOperations": ["create", "rename", "delete"]},
        "didChangeWatchedFiles": {"dynamicRegistration": True},
        "textDocumentContent": {},
        "codeLens": {"refreshSupport": True},
    },
    "window": {"workDoneProgress": True, "showDocument": {"support": True}},
    "textDocument": {
        "hover": {},
        "codeLens": {},
        "codeAction": {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": []}}},
    },
    "experimental": {"rolecall": {"input": True, "models": False}},
}


@dataclass(frozen=True)
class Wait:
    """For the answer to a normal request."""

    request_id: str
    waited_s: float
    computing_s: float
    """How long the server computed meanwhile, for all that came before it."""


class Rude:
    """An editor that sends what it likes, answers as it likes, and counts the replies."""

    def __init__(self, process: asyncio.subprocess.Process, seed: random.Random) -> None:
        self.process, self.random = process, seed
        self.asked: dict[str, str] = {}
        """The methods of the requests, by id."""
        self.answers: collections.Counter[str] = collections.Counter()
        self.refused: set[str] = set()
        """The ids of those that were answered with an error."""
        self.internal: list[str] = []
        """What the server says went wrong inside."""
        self.waits: list[Wait] = []
        """For the answers to normal requests."""
        self._withheld: list[Any] = []
        self._news = asyncio.Condition()
        self._reading = asyncio.create_task(self._read())

    async def send_bytes(self, data: bytes) -> None:
        """Send anything at all."""
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        await self.process.stdin.drain()

    async def send_body(self, body: bytes) -> None:
        """Send a frame."""
        await self.send_bytes(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    def hear_no_more(self) -> None:
        """Close the pipe that the server writes to."""
        self._reading.cancel()
        transport = self.process._transport  # pyright: ignore
        transport.get_pipe_transport(1).close()

    async def send_made(self, message: Sent) -> None:
        """Send what was made, and remember what has to be answered."""
        if message.request_id:
            self.asked[message.request_id] = message.method
        await self.send_body(message.body)

    async def send(self, message: dict[str, Any]) -> None:
        """Send a message of one's own."""
        await self.send_body(json.dumps(message).encode())

    async def ask(self, method: str, params: Any, request_id: str) -> None:
        """Send a normal request and wait for its answer."""
        process = psutil.Process(self.process.pid)
        begun, cpu = time.monotonic(), process.cpu_times()
        body = json.dumps({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}).encode()
        await self.send_made(Sent(body, json.dumps(request_id), method))
        await self.answered(json.dumps(request_id))
        assert json.dumps(request_id) not in self.refused
        spent = process.cpu_times()
        computing_s = spent.user + spent.system - cpu.user - cpu.system
        self.waits.append(Wait(request_id, time.monotonic() - begun, computing_s))

    async def answered(self, *request_ids: str) -> None:
        """Wait for the answers to these requests, to all that were made where none is named."""
        until = time.monotonic() + PATIENCE_S
        async with self._news:
            while missing := {*(request_ids or self.asked)} - self.answers.keys():
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._news.wait(), 5)
                assert self.process.returncode is None, (self.process.returncode, missing)
                assert time.monotonic() < until, {request: self.asked[request] for request in missing}

    async def settle(self) -> None:
        """Answer what the server still waits for, until all that was asked is answered."""
        while True:
            for request_id in self._withheld:
                await self.send({"jsonrpc": "2.0", "id": request_id, "result": None})
            self._withheld = []
            try:
                async with asyncio.timeout(1):
                    await self.answered()
            except TimeoutError:
                if not self._withheld:
                    await self.answered()
            else:
                return

    async def _read(self) -> None:
        assert self.process.stdout is not None
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = await self.process.stdout.readuntil(b"\r\n\r\n")
                length = int(head.split(b"Content-Length: ")[1].split(b"\r\n")[0])
                await self._take(json.loads(await self.process.stdout.readexactly(length)))

    async def _take(self, message: dict[str, Any]) -> None:
        if "method" not in message:
            if "error" in message:
                self.refused.add(json.dumps(message["id"]))
            if message.get("error", {}).get("code") == -32603:
                self.internal.append(f"{self.asked.get(json.dumps(message['id']), '?')}: {message['error']}")
            async with self._news:
                self.answers[json.dumps(message["id"])] += 1
                self._news.notify_all()
        elif "id" in message:
            await self._reply(message)

    async def _reply(self, asked: dict[str, Any]) -> None:
        """Answer a request of the server's: rightly, wrongly, twice, or later."""
        good = {"jsonrpc": "2.0", "id": asked["id"], "result": {"applied": True} if "Edit" in asked["method"] else None}
        bad = {"jsonrpc": "2.0", "id": asked["id"], "result": self.random.choice(JUNK)}
        refusal = {"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32000, "message": "no"}}
        replies = self.random.choice([[good], [good], [good], [bad], [bad, good], [refusal], [good, good], []])
        if not replies:
            self._withheld.append(asked["id"])
        for reply in replies:
            with suppress(ConnectionError):
                await self.send(reply)

    async def close(self) -> None:
        """End the process, should it still be there."""
        with suppress(ProcessLookupError):
            self.process.kill()
        await asyncio.gather(self.process.wait(), self._reading, return_exceptions=True)


@pytest.fixture
def workspace(root: Path) -> Path:
    """A workspace with proposals that wait."""
    return write_workspace(root)


@pytest.fixture
def environ(tmp_path: Path, workspace: Path) -> Iterator[dict[str, str]]:
    """The environment of servers that share a store with proposals; their model refuses."""
    with ChatServer(fails(400, "not today")) as chat:
        made = environment(tmp_path / "home", chat.base_url, ROLECALL_LOG="CRITICAL")
        store = store_of(tmp_path / "home")
        price = FILES["shop/price.py"]
        for number in range(5):
            changed = price.replace("sum(items)", f"sum(items, {number})").replace("rate > 1", f"rate > {number}")
            propose(store, workspace, {"shop/price.py": changed, f"shop/new{number}.py": f"x = {number}\n"})
        store.close()
        yield made


@asynccontextmanager
async def rude_editor(workspace: Path, environ: dict[str, str], seed: random.Random) -> AsyncIterator[Rude]:
    """A server and an editor that has said nothing yet."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *SERVER, cwd=workspace, env=environ, stdin=pipe, stdout=pipe, stderr=asyncio.subprocess.DEVNULL, limit=2**26
    )
    editor = Rude(process, seed)
    try:
        yield editor
    finally:
        await editor.close()


def hello(workspace: Path) -> dict[str, Any]:
    folder = {"uri": workspace.as_uri(), "name": "work"}
    wanted = {"processId": None, "rootUri": None, "capabilities": CAPABILITIES, "initializationOptions": EVERYTHING_ON}
    return {**wanted, "workspaceFolders": [folder]}


def forge(workspace: Path, seed: random.Random) -> Forge:
    uris = [(workspace / path).as_uri() for path in FILES]
    inside = [(workspace / name).as_uri() for name in ("shop/none.py", "shop", "é\n.py")]
    odd = ["untitled:x", "file:///etc/passwd", "", "file://", "http://x/y", "file:///" + "a" * 5000, "file:///%00"]
    proposals = ["rolecall-proposal:/p1.diff", "rolecall-run:/r1", "git:/a?b", "file://" + "../" * 50, "file:///%ff"]
    ids = ["p1", "p2", "p5", "h1", "h2", "r1", "d1", "p0", "p99999999999999999999", "r-1", "p\u0661", ""]
    return Forge(seed, uris, [*inside, *odd, *proposals], ids)


async def storm(editor: Rude, messages: Iterator[Sent], n: int, seed: int) -> list[int]:
    """Send *messages*, *n* of them, with a normal request in between; the memory of the server after each tenth."""
    process = psutil.Process(editor.process.pid)
    memory: list[int] = []
    for number, message in enumerate(messages, 1):
        await editor.send_made(message)
        if number % BATCH == 0:
            await editor.ask("workspace/symbol", {"query": "total"}, f"{number} of seed {seed}")
        if number * 10 // n > len(memory):
            memory.append(process.memory_info().rss)
            if LONG:
                print(number, report(editor, memory), flush=True)
    return memory


async def session(workspace: Path, environ: dict[str, str], seed: int, n: int) -> tuple[Rude, list[int]]:
    """A whole session with *n* messages in a storm, which still serves a normal request at the end."""
    rnd = random.Random(seed)
    async with rude_editor(workspace, environ, random.Random(seed)) as editor:  # whose replies come when they may
        made = forge(workspace, rnd)
        early = [message for message in stream(made, 20, "early", 10**6) if message.method]
        for message in early:
            await editor.send_made(message)
        await editor.ask("initialize", hello(workspace), "hello")
        editor.waits = []  # the server was starting until now
        await editor.send({"jsonrpc": "2.0", "method": "initialized", "params": {}})
        memory = await storm(editor, stream(made, n, "in "), n, seed)
        await editor.settle()
        await editor.ask("textDocument/documentSymbol", {"textDocument": {"uri": made.uris[2]}}, "the last")
        await editor.ask("shutdown", None, "goodbye")
        for message in [message for message in stream(made, 20, "late", 2 * 10**6) if message.method]:
            await editor.send_made(message)
        await editor.answered()
    return editor, memory


def check(editor: Rude) -> None:
    """Pass where each request has exactly one answer, and nothing went wrong inside."""
    wrong = {request: n for request, n in editor.answers.items() if n != 1 and request != "null"}
    assert not wrong
    assert editor.answers.keys() - {"null"} == editor.asked.keys()
    assert editor.internal == []


async def test_every_request_of_a_storm_is_answered_once_in_level_memory(
    workspace: Path, environ: dict[str, str], pytestconfig: pytest.Config
) -> None:
    seed, n = seed_of(pytestconfig), N_MESSAGES // 2
    both = await asyncio.gather(*(session(workspace, environ, seed + number, n) for number in range(2)))
    for editor, memory in both:
        print(report(editor, memory))
        check(editor)
        assert memory[-1] - memory[0] < 100 * MIB
        assert not LONG or memory[-1] < memory[1] * 1.25 + 10 * MIB
        assert not LONG or max(wait.computing_s for wait in editor.waits) < LONGEST_WAIT_S


async def test_short_sessions_one_after_the_other_are_served_too(
    workspace: Path, environ: dict[str, str], pytestconfig: pytest.Config
) -> None:
    seed = seed_of(pytestconfig) + 1000
    for number in range(N_SESSIONS):
        editor, _ = await session(workspace, environ, seed + number, N_IN_A_SESSION)
        check(editor)


def test_nothing_is_kept_of_a_request_that_was_answered(workspace: Path, tmp_path: Path) -> None:
    store = store_of(tmp_path)
    server = LocalServer(HastyLoop(), store)
    server.start(workspace, CAPABILITIES)
    for _ in range(3):
        server.command("rolecall.run.cancel")
    server.request("rolecall/usage", {})
    waiting: dict[Any, Any] = server.server.protocol._request_futures  # pyright: ignore
    assert [future for future in waiting.values() if future.done()] == []
    server.end()
    server.loop.close()
    store.close()


@pytest.mark.parametrize("way", ["input", "half a frame", "output", "both"])
async def test_a_server_ends_when_a_pipe_is_closed_in_the_middle_of_a_storm(
    workspace: Path, environ: dict[str, str], pytestconfig: pytest.Config, way: str
) -> None:
    rnd = random.Random(seed_of(pytestconfig))
    async with rude_editor(workspace, environ, rnd) as editor:
        stdin = editor.process.stdin
        assert stdin is not None
        await editor.ask("initialize", hello(workspace), "hello")
        if way in ("output", "both"):
            editor.hear_no_more()
        with suppress(ConnectionError):
            for message in stream(forge(workspace, rnd), 60, "in "):
                await editor.send_made(message)
            if way == "half a frame":
                await editor.send_bytes(b"Content-Length: 500\r\n\r\n{")
            if way == "output":
                for _ in range(1000):  # each message is answered, until nobody is there
                    await editor.send_body(b"{")
                    await asyncio.sleep(0.02)
        if way != "output":
            stdin.close()
        assert await asyncio.wait_for(editor.process.wait(), PATIENCE_S) == 1


def report(editor: Rude, memory: list[int]) -> str:
    shown = [size // MIB for size in memory]
    longest = max(editor.waits, key=lambda wait: wait.waited_s)
    busiest = max(editor.waits, key=lambda wait: wait.computing_s)
    waits = f"waits {longest.waited_s:.2f} s at most, for '{longest.request_id}'"
    usual = f"{statistics.median(wait.waited_s for wait in editor.waits):.3f} s usually"
    computing = f"{busiest.computing_s:.2f} s of computing at most, for '{busiest.request_id}'"
    return f"{len(editor.asked)} asked; memory (MiB) {shown}; {waits}, {usual}; {computing}"
