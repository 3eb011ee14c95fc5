"""A Chat Completions endpoint on loopback that answers from a script, and misbehaves when told to.

It runs in threads of its own, so that async tests, sync tests and servers in other processes can ask it alike::

    with ChatServer(["first reply", fails(500), ends_without_finish("hal")]) as server:
        ... ask server.base_url ...
        assert server.asked[0]["messages"]
"""

from __future__ import annotations

import itertools
import json
import select
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from support.patience import PATIENCE_S

MODEL = "scripted-model"
CONDUCT_LIMIT_S = PATIENCE_S
"""However long a reply is meant to hang, the server is not held longer than that."""


class Gone(Exception):
    """The client hung up, or the server is closing."""


@dataclass(frozen=True)
class Request:
    """What a client sent."""

    path: str
    headers: Mapping[str, str]
    """By name in lower case."""
    body: Mapping[str, Any]
    """Empty for a GET."""


class Wire:
    """The connection a reply is written to; each write looks first whether somebody still listens."""

    def __init__(self, handler: _Handler, request: Request) -> None:
        self.request = request
        self._handler = handler

    @property
    def server(self) -> ChatServer:
        return self._handler.owner

    def respond(self, status: int, content: bytes, content_type: str, headers: Mapping[str, str] | None = None) -> None:
        """A response with a length, sent whole."""
        self._send_head(status, {"content-type": content_type, "content-length": str(len(content)), **(headers or {})})
        self.write(content)

    def respond_json(self, status: int, body: object, headers: Mapping[str, str] | None = None) -> None:
        self.respond(status, json.dumps(body).encode(), "application/json", headers)

    def start_stream(self) -> None:
        """The head of a streamed reply; `send_chunk` and `end_stream` follow."""
        self._send_head(200, {"content-type": "text/event-stream", "transfer-encoding": "chunked"})

    def send_line(self, line: str) -> None:
        """One server-sent event of any text."""
        data = f"{line}\n\n".encode()
        self.write(b"%x\r\n%s\r\n" % (len(data), data))

    def send_chunk(self, text: str | None = None, finish_reason: str | None = None, **delta: object) -> None:
        """One chunk of a streamed completion."""
        choice = {"index": 0, "delta": {"content": text, **delta}, "finish_reason": finish_reason}
        self.send_line("data: " + json.dumps(_completion("chat.completion.chunk", [choice])))

    def send_usage(self, usage: Mapping[str, int]) -> None:
        self.send_line("data: " + json.dumps(_completion("chat.completion.chunk", [], usage)))

    def end_stream(self, *, done: bool = True) -> None:
        """The regular end of the body, with or without the ``[DONE]`` before it."""
        if done:
            self.send_line("data: [DONE]")
        self.write(b"0\r\n\r\n")

    def write(self, data: bytes) -> None:
        """Raises: Gone: nobody listens any more."""
        self.pause(0)
        try:
            self._handler.wfile.write(data)
        except OSError:
            raise self._gone() from None

    def pause(self, seconds: float, until: threading.Event | None = None) -> None:
        """Wait, but no longer than somebody listens or *until* is set.

        Raises:
            Gone: nobody listens any more, or the server closes.
        """
        end = time.monotonic() + min(seconds, CONDUCT_LIMIT_S)
        while True:
            left = end - time.monotonic()
            if self._hung_up(min(max(left, 0), 0.02)):
                raise self._gone()
            if self.server.closing.is_set():
                raise Gone
            if left <= 0 or (until is not None and until.is_set()):
                return

    def _send_head(self, status: int, headers: Mapping[str, str]) -> None:
        self._handler.send_response(status)
        for name, value in {**headers, "connection": "close"}.items():
            self._handler.send_header(name, value)
        self._handler.end_headers()

    def _hung_up(self, wait_s: float) -> bool:
        """Whether the client closed its side; a client that waits for a reply sends nothing."""
        try:
            readable, _, _ = select.select([self._handler.connection], [], [], wait_s)
            return bool(readable) and self._handler.connection.recv(1, socket.MSG_PEEK) == b""
        # `select` raises ValueError for a socket that is closed here: its number is -1 then.
        except (OSError, ValueError):
            return True

    def _gone(self) -> Gone:
        self.server.disconnected.set()
        return Gone()


@dataclass(frozen=True)
class Turn:
    """One scripted way to answer."""

    name: str
    perform: Callable[[Wire], None]


def says(
    text: str,
    *,
    finish_reason: str = "stop",
    n_pieces: int = 4,
    pause_s: float = 0.0,
    usage: tuple[int, int] | None = (7, 5),
    logprobs: Sequence[float] = (),
) -> Turn:
    """A good reply: *text* in *n_pieces* with a pause before each, or whole where no stream was asked for.

    *logprobs* come with the last chunk, where they are asked for.

    *usage* (prompt and completion tokens) is told as an endpoint does: in a stream only if the client wants it.
    """
    counts = {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage)} if usage else None

    def perform(wire: Wire) -> None:
        if not wire.request.body.get("stream"):
            choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish_reason}
            wire.respond_json(200, _completion("chat.completion", [choice], counts))
            return
        wire.start_stream()
        for piece in _pieces(text, n_pieces):
            wire.pause(pause_s)
            wire.send_chunk(piece)
        if logprobs and wire.request.body.get("logprobs"):
            told = {"content": [{"token": "?", "logprob": one, "bytes": None, "top_logprobs": []} for one in logprobs]}
            choice = {"index": 0, "delta": {}, "logprobs": told, "finish_reason": None}
            wire.send_line("data: " + json.dumps(_completion("chat.completion.chunk", [choice])))
        wire.send_chunk(finish_reason=finish_reason)
        if counts and (wire.request.body.get("stream_options") or {}).get("include_usage"):
            wire.send_usage(counts)
        wire.end_stream()

    return Turn("says", perform)


def calls_tools(*calls: tuple[str, str]) -> Turn:
    """Asks tools by name with JSON arguments, which come in two pieces each, as OpenAI streams them."""

    def perform(wire: Wire) -> None:
        wire.start_stream()
        for index, (name, arguments) in enumerate(calls):
            half = len(arguments) // 2
            function = {"name": name, "arguments": arguments[:half]}
            wire.send_chunk(tool_calls=[{"index": index, "id": f"c{index}", "type": "function", "function": function}])
            wire.send_chunk(tool_calls=[{"index": index, "function": {"arguments": arguments[half:]}}])
        wire.send_chunk(finish_reason="tool_calls")
        wire.end_stream()

    return Turn("calls tools", perform)


def says_unstreamed(text: str) -> Turn:
    """A good reply of an endpoint that ignores ``stream``."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    return sends_body(json.dumps(_completion("chat.completion", [choice])))


def fails(status: int, message: str = "no", code: str | None = None, headers: Mapping[str, str] | None = None) -> Turn:
    """An error as OpenAI words it; retries of it come at once."""
    error = {"message": message, "type": "scripted", "param": None, "code": code}
    swift = {"retry-after-ms": "1", **(headers or {})}
    return Turn(f"fails with {status}", lambda wire: wire.respond_json(status, {"error": error}, swift))


def sends_body(body: str, *, status: int = 200, content_type: str = "application/json") -> Turn:
    """Any body at all."""
    headers = {"retry-after-ms": "1"}
    return Turn("sends a body", lambda wire: wire.respond(status, body.encode(), content_type, headers))


def sends_lines(*lines: str) -> Turn:
    """A stream of any lines that ends regularly."""

    def perform(wire: Wire) -> None:
        wire.start_stream()
        for line in lines:
            wire.send_line(line)
        wire.end_stream()

    return Turn("sends lines", perform)


def ends_without_finish(text: str) -> Turn:
    """A stream that ends regularly, but before the model was done."""

    def perform(wire: Wire) -> None:
        wire.start_stream()
        wire.send_chunk(text)
        wire.end_stream(done=False)

    return Turn("ends without finish", perform)


def breaks_off(text: str = "") -> Turn:
    """A stream whose connection is lost after *text*."""

    def perform(wire: Wire) -> None:
        wire.start_stream()
        if text:
            wire.send_chunk(text)
        wire.write(b"ffff\r\ndata: {")

    return Turn("breaks off", perform)


def hangs() -> Turn:
    """Nothing, for ever."""
    return Turn("hangs", lambda wire: wire.pause(CONDUCT_LIMIT_S))


def stalls_after(text: str) -> Turn:
    """*text*, then nothing for ever."""

    def perform(wire: Wire) -> None:
        wire.start_stream()
        wire.send_chunk(text)
        wire.pause(CONDUCT_LIMIT_S)

    return Turn("stalls", perform)


def never_hangs_up(text: str) -> Turn:
    """A complete reply on a connection that stays open without an end of the body."""

    def perform(wire: Wire) -> None:
        wire.start_stream()
        wire.send_chunk(text, "stop")
        wire.pause(CONDUCT_LIMIT_S)

    return Turn("never hangs up", perform)


def pings() -> Turn:
    """Keep-alive comments for ever."""

    def perform(wire: Wire) -> None:
        wire.start_stream()
        while True:
            wire.send_line(": ping")
            wire.pause(0.02)

    return Turn("pings", perform)


def floods(n_characters: int = 100_000) -> Turn:
    """Ever new text for ever, in pieces of that size, as fast as it is read."""

    def perform(wire: Wire) -> None:
        wire.start_stream()
        for number in itertools.count():
            wire.send_chunk(f"{number} ".ljust(n_characters, "x"))

    return Turn("floods", perform)


def repeats(piece: str, pause_s: float = 0.0) -> Turn:
    """The same piece for ever."""

    def perform(wire: Wire) -> None:
        wire.start_stream()
        while True:
            wire.send_chunk(piece)
            wire.pause(pause_s)

    return Turn("repeats", perform)


def sends_bytes(content: bytes, content_type: str = "text/event-stream", **headers: str) -> Turn:
    """Any bytes at all, in whatever encoding."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Turn("sends bytes", lambda wire: wire.respond(200, content, content_type, named))


def floods_one_line(block: bytes = b"x" * 1_000_000) -> Turn:
    """One line without an end, as fast as it is read."""

    def perform(wire: Wire) -> None:
        wire.start_stream()
        while True:
            wire.write(b"%x\r\n%s\r\n" % (len(block), block))

    return Turn("floods one line", perform)


def holds(text: str, until: threading.Event) -> Turn:
    """The first half of *text* at once, the rest when *until* is set."""

    def perform(wire: Wire) -> None:
        half = len(text) // 2
        wire.start_stream()
        wire.send_chunk(text[:half])
        wire.pause(CONDUCT_LIMIT_S, until)
        wire.send_chunk(text[half:])
        wire.send_chunk(finish_reason="stop")
        wire.end_stream()

    return Turn("holds", perform)


Speech = str | Turn
Script = Speech | Sequence[Speech] | Callable[[Mapping[str, Any]], Speech]
"""One speech for every call; or one for each call in order; or a function of the request's body."""


@dataclass
class ChatServer:
    """The endpoint; a context manager that listens while it is open."""

    script: Script
    models: Sequence[str] | None = (MODEL,)
    """What ``/models`` lists; ``None``: there is no such path."""
    pages: Mapping[str, Turn] = field(default_factory=dict)
    """What is at other paths, or in place of the usual."""
    requests: list[Request] = field(default_factory=list)
    """Everything that came, in order, `GET` included."""
    disconnected: threading.Event = field(default_factory=threading.Event)
    """Set once a client hung up before its reply was complete."""
    closing: threading.Event = field(default_factory=threading.Event)
    problems: list[str] = field(default_factory=list)
    """What went wrong in the server itself; told when it closes."""
    _n_told: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __enter__(self) -> Self:
        self._http = _Listener(self)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), name="chat-server")
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.closing.set()
        self._http.shutdown()
        self._thread.join()
        # Before `server_close`, which waits for all threads, also those to which no request comes.
        self._http.hang_up()
        self._http.server_close()
        assert not self.problems, self.problems

    @property
    def port(self) -> int:
        return self._http.server_address[1]

    @property
    def base_url(self) -> str:
        """What a client is told: the address up to ``/v1``."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def asked(self) -> list[Mapping[str, Any]]:
        """The bodies of the chat requests, in order."""
        return [request.body for request in self.requests if request.path.endswith("/chat/completions")]

    def wait_until_asked(self, n_requests: int = 1, timeout_s: float = PATIENCE_S) -> None:
        """Wait for that many chat requests; for tests that act in the middle of one."""
        end = time.monotonic() + timeout_s
        while len(self.asked) < n_requests:
            assert time.monotonic() < end, f"only {len(self.asked)} of {n_requests} requests came"
            time.sleep(0.01)

    def answer(self, wire: Wire) -> None:
        """Perform what the script says to this request."""
        path = wire.request.path
        if path in self.pages:
            self.pages[path].perform(wire)
        elif path.endswith("/models") and self.models is not None:
            listed = [{"id": name, "object": "model", "created": 0, "owned_by": "tests"} for name in self.models]
            wire.respond_json(200, {"object": "list", "data": listed})
        elif path.endswith("/chat/completions"):
            speech = self._next_speech(wire.request.body)
            turn = says(speech) if isinstance(speech, str) else speech
            turn.perform(wire)
        else:
            wire.respond_json(404, {"error": {"message": f"no {path} here"}})

    def _next_speech(self, body: Mapping[str, Any]) -> Speech:
        if isinstance(self.script, str | Turn):
            return self.script
        if not isinstance(self.script, Sequence):
            return self.script(body)
        with self._lock:
            self._n_told += 1
            if self._n_told <= len(self.script):
                return self.script[self._n_told - 1]
        # The client would ask again after a 500, and tell late that the script is too short.
        return fails(500, "the test's script has no reply left", headers={"x-should-retry": "false"})


class _Listener(ThreadingHTTPServer):
    daemon_threads = False  # so that closing waits for every reply to end
    request_queue_size = 64

    def __init__(self, owner: ChatServer) -> None:
        self.owner = owner
        self._open: set[socket.socket] = set()
        super().__init__(("127.0.0.1", 0), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def close_request(self, request: Any) -> None:
        self._open.discard(request)
        super().close_request(request)

    def hang_up(self) -> None:
        """End the connections on which no request has come yet."""
        for connection in tuple(self._open):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue

    def handle_error(self, request: Any, client_address: Any) -> None:
        error = sys.exception()
        if not isinstance(error, OSError):
            self.owner.problems.append(repr(error))


class _Handler(BaseHTTPRequestHandler):
    # From this version on a reply may come in chunks.
    protocol_version = "HTTP/1.1"

    @property
    def owner(self) -> ChatServer:
        assert isinstance(self.server, _Listener)
        return self.server.owner

    def do_GET(self) -> None:
        self._answer({})

    def do_POST(self) -> None:
        self._answer(json.loads(self.rfile.read(int(self.headers["content-length"]))))

    def log_message(self, *_args: object, **_named: object) -> None:
        """Keep the tests' output free of it."""

    def _answer(self, body: Mapping[str, Any]) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.path, headers, body)
        self.owner.requests.append(request)
        self.close_connection = True
        try:
            self.owner.answer(Wire(self, request))
        except Gone:
            return


def _completion(kind: str, choices: list[Any], usage: Mapping[str, int] | None = None) -> dict[str, Any]:
    body = {"id": "chatcmpl-1", "object": kind, "created": 0, "model": MODEL, "choices": choices}
    return {**body, "usage": usage} if usage else body


def _pieces(text: str, n_pieces: int) -> list[str]:
    size = max(1, -(-len(text) // n_pieces))
    return [text[start : start + size] for start in range(0, len(text), size)]
