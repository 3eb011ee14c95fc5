"""What a hostile model endpoint sends: each call ends in a reply or a typed error, in bounded memory and time.

Every attack is tried on the client through the ledger of a run, in this process; `make attack` tries each
on the command too, as a process of its own. ROLECALL_ATTACKS=long prints what each took.
"""

from __future__ import annotations

import functools
import gzip
import itertools
import json
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest

from rolecall_server.errors import (
    ConnectionFailed,
    DeadlinePassed,
    KeyRefused,
    ProviderUnavailable,
    ReplyCut,
    ReplyMalformed,
    ReplyRefused,
    ReplyRepeats,
    RequestRefused,
    RolecallError,
)
from rolecall_server.model import ChatMessage
from rolecall_server.model.chat_completions.openai_chat import OpenAIChat
from rolecall_server.model.endpoint import Endpoint
from rolecall_server.settings import BudgetSettings
from rolecall_server.team.model_calls.budgeted import StoredCalls
from support.attacks import LONG
from support.chat_server import (
    ChatServer,
    Speech,
    Turn,
    Wire,
    calls_tools,
    fails,
    floods,
    floods_one_line,
    hangs,
    pings,
    says,
    sends_body,
    sends_bytes,
    sends_lines,
)
from support.patience import PATIENCE_S
from support.stores import open_store
from support.workspaces import contents, environment, write_workspace

MIB = 2**20
MOST_BYTES = 200 * MIB
BOMB_BYTES = 250 * MIB
TALK = b"a b c d "
LIMIT_S = 1.0
"""Of attacks that only the time ends."""
QUESTION = (ChatMessage("user", "Well?"),)
CONTROLS = "\x1b]0;title\x07\x1b[2J\x1b]8;;http://evil.example/\x1b\\click\x1b]8;;\x1b\\\u202e\x00"
REPLY = '{"choices": [{"message": {"content": "It is a reply."}, "finish_reason": "stop"}]}'
CHUNK = 'data: {"choices": [{"delta": {"content": "It is a reply."}, "finish_reason": "stop"}]}'
OK = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: "
JSON, SSE = f"{OK}application/json\r\n", f"{OK}text/event-stream\r\n"


@dataclass(frozen=True)
class Attack:
    """What an endpoint does, and how the call ends."""

    name: str
    turn: Speech
    ends: type[RolecallError] | None
    """``None``: in a reply."""
    by_time: bool = False
    """Nothing but the limit of time ends it."""


def raw(*pieces: str | bytes, every_s: float = 0.0) -> Turn:
    """These bytes instead of a response, a pause before each, and then the end of the connection."""

    def perform(wire: Wire) -> None:
        for piece in pieces:
            wire.pause(every_s)
            wire.write(piece if isinstance(piece, bytes) else piece.encode("utf-8", "surrogateescape"))

    return Turn("sends bytes", perform)


def endless(head: str, make: Callable[[int], str | bytes], every_s: float = 0.0) -> Turn:
    """*head*, and then what *make* makes of 0, 1, 2, …"""

    def perform(wire: Wire) -> None:
        wire.write(head.encode())
        for number in itertools.count():
            piece = make(number)
            if every_s:
                wire.pause(every_s)
            wire.write(piece if isinstance(piece, bytes) else piece.encode())

    return Turn("never ends", perform)


@functools.cache
def packed(unit: bytes, wbits: int) -> bytes:
    """*unit* again and again, far more often than memory should be taken for, packed."""
    packer = zlib.compressobj(1, zlib.DEFLATED, wbits)
    block = unit * (MIB // len(unit))
    return b"".join([*(packer.compress(block) for _ in range(BOMB_BYTES // MIB + 1)), packer.flush()])


def unpacks(
    unit: bytes = b"\0", packing: str = "gzip", content_type: str = "application/json", status: int = 200
) -> Turn:
    """A body that is a thousand times as long as it looks."""

    def perform(wire: Wire) -> None:
        body = packed(unit, zlib.MAX_WBITS if packing == "deflate" else zlib.MAX_WBITS | 16)
        wire.respond(
            status, gzip.compress(body) if "," in packing else body, content_type, {"content-encoding": packing}
        )

    return Turn("unpacks", perform)


def deltas(**delta: object) -> Callable[[int], str]:
    """Chunks of a stream with this in them; ``%`` in a text stands for one that never repeats."""
    made = "data: " + json.dumps({"choices": [{"index": 0, "delta": delta}]}) + "\n\n"
    return lambda number: made.replace("%", random.Random(number).randbytes(10_000).hex())


def redirects(location: str) -> Turn:
    return Turn("redirects", lambda wire: wire.respond(307, b"", "text/plain", {"location": location}))


def resets(wire: Wire) -> None:
    """Half an event, and the connection is reset."""
    wire.start_stream()
    wire.write(b"20\r\ndata: {")
    connection = wire._handler.connection  # pyright: ignore[reportPrivateUsage]
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    connection.close()


def half_closes(wire: Wire) -> None:
    """Half an event; then nothing is sent any more, and the connection stays."""
    wire.start_stream()
    wire.write(b"20\r\ndata: {")
    wire._handler.connection.shutdown(socket.SHUT_WR)  # pyright: ignore[reportPrivateUsage]
    wire.pause(PATIENCE_S)


def chunk(**fields: object) -> str:
    """The only event of a stream, with these *fields* besides."""
    choice = {"delta": {"content": "It is a reply."}, "finish_reason": "stop"}
    return "data: " + json.dumps({"choices": [choice], **fields})


def asks_for(calls: list[dict[str, Any]]) -> Turn:
    """These pieces of tool calls, in one event."""
    choice = {"delta": {"tool_calls": calls}, "finish_reason": "tool_calls"}
    return sends_lines("data: " + json.dumps({"choices": [choice]}))


def tool(name: str, arguments: str, n: int = 1) -> Turn:
    return calls_tools(*[(name, arguments)] * n)


TWO_LENGTHS = f"{JSON}content-length: {len(REPLY)}\r\ncontent-length: 5\r\n\r\n{REPLY}"

ATTACKS = [
    # bombs
    Attack("gzip", unpacks(TALK), ReplyMalformed),
    Attack("gzip of nothing", unpacks(), ReplyMalformed),
    Attack("gzip of pings", unpacks(b": ping\n\n", content_type="text/event-stream"), DeadlinePassed, by_time=True),
    Attack("deflate", unpacks(packing="deflate"), ReplyMalformed),
    Attack("gzip in gzip", unpacks(packing="gzip, gzip"), ReplyMalformed),
    Attack("brotli", unpacks(packing="br"), ReplyMalformed),
    Attack("zstandard", unpacks(packing="zstd"), ReplyMalformed),
    Attack("a bomb as an error", unpacks(status=400), ReplyMalformed),
    Attack("a bomb as a limit", unpacks(status=429), ReplyMalformed),
    Attack("a bomb as a failure", unpacks(status=500), ReplyMalformed),
    # without an end
    Attack("one line", floods_one_line(), ReplyMalformed),
    Attack("text", floods(3_000), ReplyMalformed),
    Attack("the same text", floods(), ReplyRepeats),
    Attack("thoughts", endless(f"{SSE}\r\n", deltas(reasoning_content="%")), ReplyMalformed),
    Attack("refusals", endless(f"{SSE}\r\n", deltas(refusal="%")), ReplyMalformed),
    Attack(
        "arguments",
        endless(f"{SSE}\r\n", deltas(tool_calls=[{"index": 0, "function": {"name": "f", "arguments": "%"}}])),
        ReplyMalformed,
    ),
    Attack(
        "tool calls without a name",
        endless(f"{SSE}\r\n", lambda n: deltas(tool_calls=[{"index": n}])(n)),
        ReplyMalformed,
    ),
    Attack(
        "empty chunks",
        endless(f"{SSE}\r\n", lambda _: b'data: {"choices": [{"delta": {}}]}\n\n' * 1000),
        DeadlinePassed,
        by_time=True,
    ),
    Attack("other fields", endless(f"{SSE}\r\n", lambda _: b"id: 1\nevent: x\nretry: 0\n" * 1000), ReplyMalformed),
    Attack("headers", endless("HTTP/1.1 200 OK\r\n", lambda n: f"x-{n}: {'a' * 1000}\r\n"), ConnectionFailed),
    Attack("one header", endless("HTTP/1.1 200 OK\r\nx: ", lambda _: b"a" * 100_000), ConnectionFailed),
    Attack("a body without a type", endless("HTTP/1.1 200 OK\r\n\r\n", lambda _: b"a" * 100_000), ReplyMalformed),
    Attack("an error", endless("HTTP/1.1 500 no\r\n\r\n", lambda _: b"a" * 100_000), ReplyMalformed),
    # slow
    Attack("nothing", hangs(), DeadlinePassed, by_time=True),
    Attack("pings", pings(), DeadlinePassed, by_time=True),
    Attack(
        "a byte now and then", endless(f"{JSON}content-length: 500\r\n\r\n", lambda _: b" ", 0.5), DeadlinePassed, True
    ),
    Attack("a word now and then", endless(f"{SSE}\r\n", deltas(content="% "), 0.5), DeadlinePassed, by_time=True),
    Attack(
        "a header now and then", endless("HTTP/1.1 200 OK\r\n", lambda n: f"x-{n}: y\r\n", 0.5), DeadlinePassed, True
    ),
    Attack("patience", endless("", lambda _: b"HTTP/1.1 100 Continue\r\n\r\n", 0.1), DeadlinePassed, by_time=True),
    Attack("come back later", fails(429, "later", headers={"retry-after-ms": "59000"}), DeadlinePassed, by_time=True),
    Attack("too long a length", raw(f"{JSON}content-length: 999999\r\n\r\n{REPLY}"), ConnectionFailed),
    Attack("half closed", Turn("half closes", half_closes), ConnectionFailed),
    Attack("reset", Turn("resets", resets), ConnectionFailed),
    # shapes
    Attack("deep JSON", sends_body("[" * 10**6), ReplyMalformed),
    Attack("deep objects in a chunk", sends_lines("data: " + '{"a":' * 200_000), ReplyMalformed),
    Attack("a deep error", sends_body('{"error":' * 100_000, status=400), RequestRefused),
    Attack("duplicate keys", sends_body(REPLY.replace("{", '{"choices": 5, "choices": null, ', 1)), None),
    Attack("huge numbers", sends_lines(chunk(usage={"prompt_tokens": 10**30, "completion_tokens": 2**63})), None),
    Attack(
        "numbers below nothing", sends_lines(chunk(usage={"prompt_tokens": -(10**12), "completion_tokens": -5})), None
    ),
    Attack(
        "numbers without an end",
        sends_lines(chunk().replace("}]}", '}], "usage": {"prompt_tokens": 1e999}}')),
        ReplyMalformed,
    ),
    Attack(
        "digits without an end",
        sends_lines(chunk().replace("}]}", '}], "created": %s}' % ("9" * 100_000))),
        ReplyMalformed,
    ),
    Attack("not a number", sends_lines(chunk(usage={"prompt_tokens": float("nan")})), ReplyMalformed),
    Attack(
        "invalid UTF-8",
        sends_bytes(b'data: {"choices": [{"delta": {"content": "\xff\xfe\xc0\x80"}}]}\n\n'),
        ReplyMalformed,
    ),
    Attack("halves of characters", sends_lines(CHUNK.replace("It", r"\ud800\udc00\udc00\ud800")), None),
    Attack("a huge model", sends_lines(chunk(model="m" * 3_000_000)), None),
    Attack(
        "a huge reason",
        sends_lines(
            'data: {"choices": [{"finish_reason": "%s"}]}'
            % (CONTROLS.encode("unicode_escape").decode().replace("\\x", "\\u00") + "r" * 3_000_000)
        ),
        ReplyMalformed,
    ),
    Attack(
        "a huge refusal",
        sends_lines('data: {"choices": [{"delta": {"refusal": "%s"}}]}' % ("no " * 300_000)),
        ReplyRefused,
    ),
    Attack("a huge error", fails(400, "model input api key context " * 100_000), RequestRefused),
    Attack("a huge code", fails(400, "no", "c" * 3_000_000), RequestRefused),
    Attack("a huge status", raw(f"HTTP/1.1 400 {'no ' * 20_000}\r\n\r\n"), RequestRefused),
    # tools
    Attack("thousands of tools", tool("read", "{}", 5_000), ReplyMalformed),
    Attack("a tool by a huge name", tool("x" * 3_000_000, "{}"), ReplyMalformed),
    Attack("huge arguments", tool("read", '{"path": "%s"}' % ("a" * 5_000_000)), ReplyMalformed),
    Attack("deep arguments", tool("read", "[" * 500_000), None),
    Attack(
        "ids that repeat",
        asks_for([{"id": "same", "function": {"name": "read", "arguments": "{}"}}] * 100),
        None,
    ),
    Attack(
        "an index beyond",
        asks_for([{"index": 2**63, "function": {"name": "read"}}, {"index": -1}]),
        None,
    ),
    # elsewhere
    Attack("a redirect to a file", redirects("file:///etc/passwd"), RequestRefused),
    Attack("a redirect on this host", redirects("/v1/other"), RequestRefused),
    Attack("a redirect in circles", redirects("/v1/chat/completions"), RequestRefused),
    Attack("a redirect to nowhere", redirects("http://[::1"), RequestRefused),
    Attack(
        "a redirect of megabytes", raw(f"HTTP/1.1 307 x\r\nlocation: http://h/{'a' * 60_000}\r\n\r\n"), RequestRefused
    ),
    # the connection
    Attack("controls in an error", fails(400, CONTROLS), RequestRefused),
    Attack("controls in a key error", fails(401, CONTROLS), KeyRefused),
    Attack("controls in a code", fails(400, "no", CONTROLS), RequestRefused),
    Attack("controls in a reply", says(f"Look: {CONTROLS}"), None),
    Attack("an image", sends_bytes(bytes(range(256)) * 100, "image/png"), ReplyMalformed),
    Attack("a web page", sends_body(f"<html>{CONTROLS}", content_type="text/html"), ReplyMalformed),
    Attack("JSON that is a stream", sends_bytes(f"{CHUNK}\n\n".encode(), "application/json"), ReplyMalformed),
    Attack("a type of megabytes", raw(f"{OK}{'a' * 50_000}\r\n\r\n{REPLY}"), ReplyMalformed),
    Attack("two lengths", raw(TWO_LENGTHS), ConnectionFailed),
    Attack("a length below nothing", raw(f"{JSON}content-length: -5\r\n\r\n{REPLY}"), ConnectionFailed),
    Attack("no length", raw(f"{JSON}content-length: many\r\n\r\n{REPLY}"), ConnectionFailed),
    Attack("a broken chunk", raw(f"{SSE}transfer-encoding: chunked\r\n\r\nzz\r\ndata"), ConnectionFailed),
    Attack(
        "a chunk of exabytes", raw(f"{SSE}transfer-encoding: chunked\r\n\r\nffffffffffffffff\r\ndata"), ConnectionFailed
    ),
    Attack(
        "endless chunk extensions",
        endless(f"{SSE}transfer-encoding: chunked\r\n\r\n5;", lambda _: b"a" * 100_000),
        ConnectionFailed,
    ),
    Attack("no HTTP", raw(b"\x00\xff\xfe\r\n\r\n" * 1000), ConnectionFailed),
    Attack("another version", raw(f"HTTP/9.9 200 OK\r\n\r\n{REPLY}"), ReplyMalformed),
    Attack("an odd status", raw(f"HTTP/1.1 999 what\r\n\r\n{REPLY}"), ProviderUnavailable),
    Attack(
        "a switch of protocols",
        raw("HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n", b"x" * 1000),
        ConnectionFailed,
    ),
]


async def outcome(base_url: str, root: Path, limit_s: float) -> RolecallError | None:
    """How a call of a run ends: in an error, or in a reply."""
    store = open_store(root / "rolecall.db")
    run_id = store.add_run(root, "engineer", "", "")
    client = OpenAIChat(Endpoint(base_url, "sk-secret-0123456789"), "scripted-model", limit_s)
    calls = StoredCalls(client, store, run_id, BudgetSettings(tokens_per_run=100_000), 1000)
    try:
        await calls.complete(QUESTION)
    except RolecallError as error:
        return error
    finally:
        await calls.aclose()
        assert store.spent(run_id).tokens >= 0
        store.close()
    return None


def peak_bytes() -> int:
    """The most memory that this process has had since it was forgotten."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) * 1024  # pyright: ignore[reportOptionalSubscript]


@contextmanager
def measured(name: str) -> Iterator[dict[str, float]]:
    """Have the most memory that is taken meanwhile in ``bytes``; the long form prints that and the time."""
    Path("/proc/self/clear_refs").write_text("5")  # the peak is forgotten
    found: dict[str, float] = {}
    before, begun, cpu_s = psutil.Process().memory_info().rss, time.monotonic(), time.process_time()
    yield found
    found["bytes"] = peak_bytes() - before
    took = (found["bytes"] / MIB, time.monotonic() - begun, time.process_time() - cpu_s)
    if LONG:
        print(f"{name}: +%.0f MiB, %.2f s, of which %.2f s computing" % took)


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name.replace(" ", "-"))
async def test_an_endpoint_can_do_no_more_than_fail(attack: Attack, tmp_path: Path) -> None:
    with ChatServer(attack.turn) as server, measured(attack.name) as took:
        error = await outcome(server.base_url, tmp_path, LIMIT_S if attack.by_time else PATIENCE_S)
    assert type(error) is (attack.ends or type(None)), error
    assert took["bytes"] < MOST_BYTES
    if error is not None:
        assert error.next_step
        assert len(str(error)) < 2_000
        assert "sk-secret" not in str(error)


def test_without_limits_the_bomb_takes_the_memory_and_the_redirect_is_followed() -> None:
    with (
        ChatServer(unpacks(TALK)) as server,
        httpx2.Client(timeout=PATIENCE_S) as client,
        measured("the control") as took,
    ):
        assert len(client.post(f"{server.base_url}/chat/completions", json={}).content) > MOST_BYTES
    assert took["bytes"] > MOST_BYTES
    with ChatServer("I am somebody else.") as elsewhere:
        sends_on = redirects(f"{elsewhere.base_url}/chat/completions")
        with ChatServer(sends_on) as server, httpx2.Client(follow_redirects=True, timeout=PATIENCE_S) as client:
            client.post(f"{server.base_url}/chat/completions", json={"of": "mine"})
        assert elsewhere.asked == [{"of": "mine"}]


@contextmanager
def listener(reply: bytes) -> Iterator[int]:
    """The port of a server that sends *reply* again and again to whoever connects, until they hang up."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection, suppress(OSError):
                    while True:
                        connection.sendall(reply)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield server.getsockname()[1]
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()


@pytest.mark.parametrize(
    "reply",
    [
        b"HTTP/1.1 200 OK\r\n\r\n",
        b"\x16\x03\x03\xff\xff" + b"\0" * 65_535,
        b"\x15\x03\x03\x00\x02\x01\x00",
        b"\xff" * 1000,
    ],
    ids=["plain HTTP", "an endless handshake", "endless warnings", "noise"],
)
async def test_what_is_no_secure_connection_is_an_error(reply: bytes, tmp_path: Path) -> None:
    with listener(reply) as port, measured(repr(reply[:10])) as took:
        error = await outcome(f"https://127.0.0.1:{port}/v1", tmp_path, PATIENCE_S)
    assert isinstance(error, ConnectionFailed)
    assert error.next_step
    assert took["bytes"] < MOST_BYTES


OF_COMMANDS = [attack for attack in ATTACKS if LONG or attack.name in ("gzip", "a huge reason", "controls in an error")]


@pytest.mark.parametrize("attack", OF_COMMANDS, ids=lambda attack: attack.name.replace(" ", "-"))
def test_a_command_tells_of_it_and_ends(attack: Attack, root: Path, tmp_path: Path) -> None:
    with ChatServer(attack.turn) as server, command(root, tmp_path, server.base_url) as process:
        most_bytes = 0
        while process.poll() is None:
            with suppress(psutil.Error):
                most_bytes = max(most_bytes, psutil.Process(process.pid).memory_info().rss)
            time.sleep(0.01)
        said = process.communicate()[0]
    assert process.returncode in (0, 1, 3), said
    assert "Traceback" not in said
    assert len(said) < 10_000
    assert not set(CONTROLS) & set(said) - set(" /:.[]0123456789;abcdefghijklmnopqrstuvwxyzJ\\"), said
    assert most_bytes < PLAIN_BYTES + MOST_BYTES
    if attack.ends is not None:
        of_its_length = ReplyCut.__name__  # a command allows a reply so many tokens besides
        assert attack.ends.__name__ in said or of_its_length in said


PLAIN_BYTES = 150 * MIB
"""What a command takes without an attack."""


@pytest.mark.parametrize(
    "attack", [hangs(), pings(), endless(f"{SSE}\r\n", deltas(content="% "), 0.1)], ids=["nothing", "pings", "words"]
)
def test_a_command_that_waits_for_an_endpoint_is_ended_by_sigterm(attack: Turn, root: Path, tmp_path: Path) -> None:
    with ChatServer(attack) as server, command(root, tmp_path, server.base_url) as process:
        before = contents(root)
        server.wait_until_asked()
        begun = time.monotonic()
        process.send_signal(signal.SIGTERM)
        said = process.communicate(timeout=PATIENCE_S)[0]
        if LONG:
            print(f"{attack.name}: ended {time.monotonic() - begun:.2f} s after SIGTERM")
    assert process.returncode in (130, -signal.SIGALRM), (
        said
    )  # the latter where a busy machine takes seconds to tidy up
    assert contents(root) == before


@contextmanager
def command(root: Path, home: Path, base_url: str) -> Iterator[subprocess.Popen[str]]:
    """`rolecall implement`, which asks that endpoint; what it says on either stream is one."""
    write_workspace(root)
    environ = environment(home, base_url, OPENAI_API_KEY="sk-secret-0123456789")
    told = [sys.executable, "-I", "-m", "rolecall_server", "implement", "add a tax", "--in", "shop/price.py"]
    process = subprocess.Popen(
        [*told, "--set", "tests.run=false", "--set", "model.timeoutSeconds=20"],
        cwd=root,
        env=environ,
        text=True,
        errors="surrogateescape",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()
