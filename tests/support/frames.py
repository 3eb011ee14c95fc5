"""A client that speaks bare frames, for what a proper one would never send; it checks every message it gets."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lsprotocol import converters, types

from support.patience import PATIENCE_S

SERVER = (sys.executable, "-I", "-m", "rolecall_server")

_CONVERTER = converters.get_converter()


class FrameClient:
    """One server process, and everything it has sent."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.received: list[dict[str, Any]] = []
        """Every message of the server's, in order."""
        self.broken: list[str] = []
        """What came that the protocol does not allow."""
        self._asked: dict[int | str | None, str] = {}
        self._ids = itertools.count(1)
        self._news = asyncio.Condition()
        assert process.stderr is not None
        # Read all the time: a server whose standard error is full would wait for a reader.
        self._log = asyncio.create_task(process.stderr.read())
        self._reading = asyncio.create_task(self._read())

    async def send_bytes(self, data: bytes) -> None:
        """Send anything at all."""
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        await self.process.stdin.drain()

    async def send_body(self, body: bytes) -> None:
        """Send a frame with this body."""
        await self.send_bytes(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    async def send(self, message: object) -> None:
        """Send a message of any shape."""
        await self.send_body(json.dumps(message).encode())

    async def notify(self, method: str, params: object = None) -> None:
        """Send a notification."""
        await self.send({"jsonrpc": "2.0", "method": method, "params": params})

    async def request(self, method: str, params: object = None, request_id: int | str | None = None) -> dict[str, Any]:
        """Send a request; the whole reply."""
        request_id = next(self._ids) if request_id is None else request_id
        self._asked[request_id] = method
        await self.send({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})
        return await self.reply_to(request_id)

    async def reply_to(self, request_id: int | str) -> dict[str, Any]:
        """The reply under that id, once it is there."""
        return await self.wait_for(lambda message: message.get("id") == request_id and "method" not in message)

    async def wait_for(self, wanted: Any, timeout_s: float = PATIENCE_S) -> dict[str, Any]:
        """The first message that is *wanted*, among those that came or are to come."""
        async with asyncio.timeout(timeout_s), self._news:
            while True:
                for message in self.received:
                    if wanted(message):
                        return message
                await self._news.wait()

    async def initialize(self, **params: object) -> dict[str, Any]:
        """Begin the session; the result."""
        reply = await self.request("initialize", {"processId": None, "rootUri": None, "capabilities": {}, **params})
        await self.notify("initialized", {})
        return reply["result"]

    async def answer(self, method: str, result: object, timeout_s: float = PATIENCE_S) -> dict[str, Any]:
        """Answer the server's first request of that method; its parameters, if it has any."""
        asked = await self.wait_for(lambda message: message.get("method") == method and "id" in message, timeout_s)
        await self.send({"jsonrpc": "2.0", "id": asked["id"], "result": result})
        return asked.get("params", {})

    def told(self) -> list[str]:
        """What the developer was shown."""
        return [each["params"]["message"] for each in self.received if each.get("method") == "window/showMessage"]

    def close_input(self) -> None:
        """Hang up."""
        assert self.process.stdin is not None
        self.process.stdin.close()

    async def exit_code(self, timeout_s: float = PATIENCE_S) -> int:
        """How the process ends."""
        return await asyncio.wait_for(self.process.wait(), timeout_s)

    async def log(self) -> str:
        """What it wrote to standard error, once it has ended."""
        return (await self._log).decode()

    async def kill(self) -> None:
        """End the process if it is still there, and read what is left."""
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        self.close_input()
        await asyncio.gather(self.process.wait(), self._log, self._reading)

    async def _read(self) -> None:
        assert self.process.stdout is not None
        with contextlib.suppress(asyncio.IncompleteReadError):
            while True:
                head = (await self.process.stdout.readuntil(b"\r\n\r\n")).decode("ascii")
                fields = dict(line.split(": ", 1) for line in head.split("\r\n") if line)
                body = await self.process.stdout.readexactly(int(fields["Content-Length"]))
                await self._take(json.loads(body))

    async def _take(self, message: dict[str, Any]) -> None:
        try:
            check_message(message, self._asked.get(message.get("id")))
        except Exception as error:  # noqa: BLE001 - whatever the converter says, it is a finding
            self.broken.append(f"{message}: {error!r}")
        async with self._news:
            self.received.append(message)
            self._news.notify_all()


def check_message(message: Mapping[str, Any], asked: str | None) -> None:
    """Pass where lsprotocol reads *message* and would write the same; *asked* is the method it replies to."""
    assert message["jsonrpc"] == "2.0"
    if "error" in message:
        assert set(message) <= {"jsonrpc", "id", "error"}, "an error comes without a result"
        _check(message["error"], types.ResponseError)
    elif "method" in message:
        if message["method"].startswith("rolecall/"):
            assert isinstance(message["params"], dict)
        else:
            _check(message, types.METHOD_TO_TYPES[message["method"]][0])
    elif asked == types.TEXT_DOCUMENT_CODE_ACTION:
        for action in message["result"]:  # the union with a bare command misleads lsprotocol
            _check(action, types.Command if isinstance(action.get("command"), str) else types.CodeAction)
    elif asked is not None and asked.startswith("rolecall/"):
        assert isinstance(message["result"], dict)
    elif asked is not None:
        _check(message, types.METHOD_TO_TYPES[asked][1])


def _check(value: Mapping[str, Any], kind: Any) -> None:
    again = _CONVERTER.unstructure(_CONVERTER.structure(value, kind))
    assert _without_nulls(again) == _without_nulls(value)


def _without_nulls(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _without_nulls(each) for name, each in value.items() if each is not None}
    return [_without_nulls(each) for each in value] if isinstance(value, list) else value


@contextlib.asynccontextmanager
async def connected(
    root: Path, environ: Mapping[str, str], *, command: Sequence[str] = SERVER
) -> AsyncIterator[FrameClient]:
    """A server in *root*, killed at the end if it is still there; all it sent was well-formed."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *command, cwd=root, env=dict(environ), stdin=pipe, stdout=pipe, stderr=pipe, limit=2**24
    )
    client = FrameClient(process)
    try:
        yield client
    finally:
        await client.kill()
    assert not client.broken, client.broken
