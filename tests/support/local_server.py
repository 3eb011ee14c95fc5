"""A server in the process of the test, message by message, in which waiting takes no time."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import selectors
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rolecall_server.lsp.registration import register
from rolecall_server.lsp.server import RolecallServer
from rolecall_server.lsp.session import Session
from rolecall_server.store import Store

Message = dict[str, Any]


class HastyLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock jumps to the next thing there is to do."""

    def __init__(self) -> None:
        self.ahead_s = 0.0
        super().__init__(_HastySelector(self))

    def time(self) -> float:
        """The time on its own clock."""
        return super().time() + self.ahead_s


class _HastySelector(selectors.DefaultSelector):
    def __init__(self, loop: HastyLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> Any:
        # Nothing is planned: only another thread can wake this loop, and that takes its time.
        if timeout is None:
            return super().select(None)
        ready = super().select(0)
        if not ready:
            self._loop.ahead_s += max(timeout, 0)
        return ready


class LocalServer:
    """A server that takes messages as values; what it sends goes to `on_message`, one turn of the loop later."""

    def __init__(self, loop: HastyLoop, store: Store) -> None:
        self.loop = loop
        self.on_message: Callable[[Message], None] = lambda message: None
        self.session = Session(store)
        self.server = RolecallServer(self.session)
        register(self.server)
        self.server.protocol.set_writer(self)  # pyright: ignore[reportArgumentType]
        self.unforeseen: list[object] = []
        """What went wrong on either side while nobody looked."""
        self.server.report_server_error = lambda error, source: self.unforeseen.append(error)
        loop.set_exception_handler(lambda loop, context: self.unforeseen.append(context.get("exception", context)))
        self._ids = itertools.count(1)
        self._replies: dict[int, Message] = {}

    def write(self, data: bytes) -> None:
        """Take a frame from the server."""
        message = json.loads(data.partition(b"\r\n\r\n")[2])
        if "method" not in message:
            self._replies[message["id"]] = message
        self.loop.call_soon(self.on_message, message)

    def close(self) -> None:
        """What pygls does with a writer at the end."""

    def send(self, message: Message) -> None:
        """Have the server take *message*, after those sent before."""
        self.loop.call_soon(self.server.rolecall_protocol.take, json.dumps(message).encode())

    def start(self, root: Path, capabilities: Message) -> None:
        """Begin the session."""
        folder = {"uri": root.as_uri(), "name": root.name}
        params = {"processId": os.getpid(), "rootUri": None, "capabilities": capabilities, "workspaceFolders": [folder]}
        self.request("initialize", params)
        self.send({"jsonrpc": "2.0", "method": "initialized", "params": {}})
        self.settle()

    def request(self, method: str, params: Message) -> Any:
        """The result of a request, once all that follows from it is done."""
        number = next(self._ids)
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        self.settle()
        reply = self._replies.pop(number)
        assert "error" not in reply, reply
        return reply["result"]

    def command(self, name: str, **arguments: object) -> Any:
        """The reply to a command, once all that follows from it is done."""
        return self.request("workspace/executeCommand", {"command": name, "arguments": [arguments]})

    def settle(self) -> None:
        """Go on until nothing is left to do."""
        self.loop.run_until_complete(self._settled())
        if self.unforeseen:
            error = self.unforeseen[0]
            raise error if isinstance(error, BaseException) else AssertionError(error)

    async def _settled(self) -> None:
        # The clock jumps when nothing else is ready, so this ends after all that was begun.
        await asyncio.sleep(0.001)
        while self.session.background:
            await asyncio.wait(self.session.background)
            await asyncio.sleep(0.001)

    def end(self) -> None:
        """Let go of everything but the store, as a process that ends does."""

        async def ending() -> None:
            left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in left:
                task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.gather(*left, return_exceptions=True)
            self.session.close()
            self.server.shutdown()

        self.on_message = lambda message: None
        self.loop.run_until_complete(ending())
