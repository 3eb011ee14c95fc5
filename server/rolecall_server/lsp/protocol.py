"""The parts of the base protocol that pygls leaves open.

Requests before `initialize`, after `shutdown` or with parameters of the wrong shape get the error the specification
names; `exit` without `shutdown` ends with code 1; replies carry no traceback; what cannot be read is answered all the
same, under its id where that can be found; a broken frame ends the server, because nothing after it can be read.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import threading
import uuid
from collections.abc import AsyncIterator, Callable, Generator, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, BinaryIO, TypeVar, cast

import attrs
from cattrs import Converter
from lsprotocol import converters, types
from pygls.exceptions import JsonRpcException
from pygls.protocol import LanguageServerProtocol
from pygls.protocol.json_rpc import (
    JsonRPCNotification,
    JsonRPCRequestMessage,
    JsonRPCResponseMessage,
    RPCMessage,
)
from pygls.protocol.language_server import lsp_method

from rolecall_server.lsp.text.positions import choose_encoding

logger = logging.getLogger(__name__)

PROPOSAL_SCHEME = "rolecall-proposal"
"""The scheme of proposals that an editor reads as documents."""

RUN_SCHEME = "rolecall-run"
"""The scheme of what is known of a run."""

MAX_BODY_BYTES = 1 << 28
"""Of a message; a longer one is passed over. Room for the text of any file that somebody opens in an editor."""
_PIECE_BYTES = 1 << 20
_LONGEST_HEADER = 4_000
_LONGEST_NUMBER = 4_000
"""Digits that Python makes a number of; what an id or a place may be is far less."""
_DEEPEST = 100
"""Values within values in a message. What is read may have to be written, which takes more calls than reading it."""

_HEADER = re.compile(rb"[A-Za-z-]+: [^\r\n]*\r\n|\r\n")
_LENGTH = re.compile(rb"content-length:", re.IGNORECASE)
_VALID_LENGTH = re.compile(rb"Content-Length: \d{1,10}\r\n")
_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
# A string is taken whole, so that a bracket within one does not count.
_TOKENS = re.compile(
    rb'"(?P<name>id|method)"\s*+:\s*+(?P<value>-?\d{1,18}+|%s)|%s|[\[\]{}]' % (_STRING, _STRING), re.DOTALL
)
_IGNORED = "$/rolecall/ignored"
_Read = TypeVar("_Read")
_INTERNAL = "Something went wrong inside; the server's log has the details."


class FrameError(Exception):
    """The client sent a header that is none: what follows cannot be told apart."""


class FrameReader:
    """The frames of standard input."""

    def __init__(self, stdin: BinaryIO) -> None:
        self._stdin = stdin
        # A thread of its own: each read lasts until the editor says something.
        self._executor = ThreadPoolExecutor(1)

    async def bodies(self) -> AsyncIterator[bytes]:
        """Yield the body of each frame until the input ends; an empty one in place of one that is too long.

        Raises:
            FrameError: the client sent a header that is none.
        """
        while length := await self._read_head():
            if length > MAX_BODY_BYTES:
                await self._run(self._skip, length)
                yield b""
            elif len(body := await self._run(self._stdin.read, length)) == length:
                yield body

    async def _read_head(self) -> int:
        """Return how long the body is that follows; 0 at the end of the input."""
        length = 0
        while line := await self._run(self._stdin.readline, _LONGEST_HEADER):
            if not _HEADER.fullmatch(line) or (_LENGTH.match(line) and not _VALID_LENGTH.fullmatch(line)):
                raise FrameError(f"Not a header of the base protocol: {line[:60]!r}")
            if _LENGTH.match(line):
                length = int(line.partition(b":")[2])
            # A frame that gives no length, or none above 0, has no body: its end is passed over.
            elif length and not line.strip():
                return length
        return 0

    def _skip(self, length: int) -> None:
        while length > 0 and (piece := self._stdin.read(min(length, _PIECE_BYTES))):
            length -= len(piece)

    async def _run(self, read: Callable[[int], _Read], n_bytes: int) -> _Read:
        return await asyncio.get_running_loop().run_in_executor(self._executor, read, n_bytes)


def outline(body: bytes) -> dict[str, Any]:
    """Return the id and the method of the message in *body*, as far as they are found in what cannot be read."""
    depth, found = 0, dict[str, Any]()
    for token in _TOKENS.finditer(body):
        if token["name"] and depth == 1:
            # Not strict: a control character in a string may be why the message cannot be read.
            found[token["name"].decode()] = json.loads(token["value"].decode("utf-8", "replace"), strict=False)
        depth += {b"{": 1, b"[": 1, b"}": -1, b"]": -1}.get(token[0], 0)
    return found


def make_converter() -> Converter:
    """Return the converter of messages, which leaves what it has no type for as JSON has it.

    pygls would make a class of each object in it, which takes a hundred times as long as reading it. It stops at the
    first fault: a long text in place of a list has one for each of its letters.
    """
    made = converters.get_converter(Converter(detailed_validation=False))

    def structure(fields: Mapping[str, Any], kind: type[Any]) -> Any:
        return kind(**{field.name: fields.get(field.name) for field in attrs.fields(kind)})

    for kind in (JsonRPCRequestMessage, JsonRPCResponseMessage, JsonRPCNotification):
        made.register_structure_hook(kind, structure)
    return made


def _is_too_deep(data: object) -> bool:
    """Return whether values lie within values deeper than `_DEEPEST`."""
    # Level by level: a function that calls itself would fail on the very messages that this looks for.
    level = [data]
    for _ in range(_DEEPEST):
        level = [inner for outer in level for inner in _values_in(outer)]
        if not level:
            return False
    return True


def _values_in(value: object) -> Iterable[object]:
    """Return what lies in an object or a list of JSON."""
    if isinstance(value, dict):
        return cast("dict[str, object]", value).values()
    return cast("list[object]", value) if isinstance(value, list) else ()


def _read_number(digits: str) -> int | float:
    return int(digits) if len(digits) <= _LONGEST_NUMBER else float(digits)


class RolecallProtocol(LanguageServerProtocol):
    """pygls' protocol with documents of our own and the specification's errors."""

    exit_code = 1
    """The exit code of the process: 0 once `exit` has come after `shutdown`."""
    _initialized = False

    def __init__(self, server: Any, converter: Any) -> None:
        super().__init__(server, converter)
        builtin = cast("dict[str, Any]", self.fm.builtin_features)  # pyright: ignore[reportUnknownMemberType]
        for method in (
            types.TEXT_DOCUMENT_DID_OPEN,
            types.TEXT_DOCUMENT_DID_CHANGE,
            types.TEXT_DOCUMENT_DID_CLOSE,
        ):  # pygls would keep a second copy of every text, and stop a change that its copy cannot take
            del builtin[method]
        self.ended = threading.Event()
        """Set by `exit`: nothing is read after it."""
        self._asked: dict[str | int, Future[Any]] = {}
        """The requests that the editor has not answered yet, by id; pygls would mix them with those that it asks us."""

    def take(self, body: bytes) -> None:
        """Deal with the message in *body*; one that is none is answered all the same."""
        try:
            data = json.loads(body, parse_int=_read_number)
        except (ValueError, RecursionError):
            self._refuse(outline(body), types.ErrorCodes.ParseError, "This cannot be read.")
            return
        if not isinstance(data, dict):
            self._refuse({}, types.ErrorCodes.InvalidRequest, "A message is one object.")
            return
        try:
            self.handle_message(self.structure_message(cast("dict[str, Any]", data)))
        except Exception:
            logger.exception("A message could not be dealt with")

    def structure_message(self, data: dict[str, Any]) -> Any:
        """Return *data* as a message; answer one of the wrong shape here, and pass it no further.

        pygls would write a traceback into the log for each.
        """
        try:
            if self._is_message(data):
                return self._converter.structure(data, self._type_of(data))
        except Exception as error:  # noqa: BLE001 - whatever the converter says, the shape is wrong
            logger.debug("A message has the wrong shape: %s", error)
        self._refuse(data, types.ErrorCodes.InvalidRequest, "This is no message of JSON-RPC 2.0.")
        return JsonRPCNotification(_IGNORED, "2.0", None)

    def _is_message(self, data: Mapping[str, Any]) -> bool:
        has_fields = isinstance(data.get("method", ""), str) and isinstance(data.get("id", 0), (int, str))
        return data.get("jsonrpc") == self.VERSION and has_fields and not _is_too_deep(data)

    def _type_of(self, data: Mapping[str, Any]) -> Any:
        """Return the class of a message; one for anything where the protocol names none."""
        match data:
            case {"id": _, "error": _}:
                return types.ResponseErrorMessage
            case {"id": _, "method": method}:
                return self.get_message_type(method) or JsonRPCRequestMessage
            case {"id": request_id}:
                return (
                    request_id in self._asked and self._result_types.pop(request_id, None)
                ) or JsonRPCResponseMessage
            case _:
                return self.get_message_type(data.get("method", "")) or JsonRPCNotification

    def _refuse(self, data: Mapping[str, Any], code: int, why: str) -> None:
        """Answer the message of which *data* is known, where somebody waits for an answer."""
        match data:
            case {"id": int() | str() as request_id, "method": str()}:
                error = types.ResponseError(types.ErrorCodes.InvalidParams, "The parameters have the wrong shape.")
                self._send_response(request_id, error=error)
            case {"id": int() | str() as request_id, "method": _}:
                error = types.ResponseError(types.ErrorCodes.InvalidRequest, "The method is no text.")
                self._send_response(request_id, error=error)
            case {"id": int() | str() as request_id}:  # a reply: whoever waits for it must not wait for ever
                error = types.ResponseError(types.ErrorCodes.InvalidParams, "the reply has the wrong shape")
                self._handle_response(request_id, error=error)
            case {"method": str() as method} if "id" not in data:
                logger.warning("A message of the wrong shape is ignored: %s", method)
            case _:
                self._send_data({"jsonrpc": self.VERSION, "id": None, "error": {"code": code, "message": why}})

    def handle_message(self, message: RPCMessage) -> None:
        """Refuse what the state of the session does not allow; pass on the rest."""
        method: str = getattr(message, "method", "")
        if method == _IGNORED:
            return
        request_id = getattr(message, "id", None) if method else None
        if refusal := self._refusal(method):
            if request_id is not None:
                self._send_response(request_id, error=refusal)
            return
        self._initialized = self._initialized or method == types.INITIALIZE
        super().handle_message(message)

    def send_request(
        self,
        method: str,
        params: Any | None = None,
        callback: Callable[[Any], None] | None = None,
        msg_id: str | int | None = None,
    ) -> Future[Any]:
        """Ask the editor, and forget that when it has answered or nobody waits for it any more."""
        request_id = msg_id or str(uuid.uuid4())
        future: Future[Any] = super().send_request(method, params, callback, request_id)
        self._asked[request_id] = self._request_futures.pop(request_id)
        future.add_done_callback(lambda _: self._asked.pop(request_id, None))
        return future

    def _handle_response(
        self, msg_id: str | int, result: Any | None = None, error: types.ResponseError | None = None
    ) -> None:
        """Hand a reply to whoever waits for it; where that is nobody, it is late or made up."""
        if (future := self._asked.get(msg_id)) is None:
            logger.info("Nobody waits for a reply to %r", msg_id)
        elif error is not None:
            future.set_exception(JsonRpcException.from_error(error))
        else:
            future.set_result(result)

    def _execute_handler(
        self,
        msg_id: str | int,
        handler: Callable[..., Any],
        callback: Callable[[Any], None],
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
    ) -> None:
        """Execute a handler, and forget it when it is done; pygls would keep what each command returned."""

        def end(future: Any) -> None:
            self._request_futures.pop(msg_id, None)
            callback(future)

        super()._execute_handler(msg_id, handler, end, args, kwargs)

    def _refusal(self, method: str) -> types.ResponseError | None:
        if not method or method == types.EXIT:
            return None
        if self._shutdown:
            return types.ResponseError(types.ErrorCodes.InvalidRequest, "The server is shutting down.")
        if not self._initialized and method != types.INITIALIZE:
            return types.ResponseError(types.ErrorCodes.ServerNotInitialized, "Send `initialize` first.")
        if self._initialized and method == types.INITIALIZE:
            return types.ResponseError(types.ErrorCodes.InvalidRequest, "`initialize` was sent before.")
        return None

    def _send_data(self, data: Any) -> None:
        """Send a message; an error in place of an answer that cannot be written, which pygls would only log."""
        try:
            body = json.dumps(data, default=self._serialize_message)
        except Exception:
            logger.exception("A message could not be written")
            if hasattr(data, "result"):
                self._send_response(data.id, error=types.ResponseError(types.ErrorCodes.InternalError, _INTERNAL))
        else:
            self._write(body)

    def _write(self, body: str) -> None:
        """Write a frame; to an editor that hears nothing any more, nothing, and its next message is the last."""
        assert self.writer is not None
        # `json.dumps` escapes all that is not ASCII, so the characters of the body are as many as its bytes.
        head = f"Content-Length: {len(body)}\r\nContent-Type: {self.CONTENT_TYPE}; charset={self.CHARSET}\r\n\r\n"
        try:
            self.writer.write((head + body).encode(self.CHARSET))
        except BrokenPipeError:
            self.ended.set()

    def _send_response(
        self, msg_id: str | int, result: Any | None = None, error: types.ResponseError | None = None
    ) -> None:
        """Answer a request. What pygls says of an exception (its words, a traceback) belongs in the log."""
        if error is not None:
            internal = error.code == types.ErrorCodes.InternalError
            error = types.ResponseError(error.code, _INTERNAL if internal else error.message)
        elif isinstance(result, dict):  # plain values already: the converter would copy them one by one
            self._result_types.pop(msg_id, None)
            self._send_data({"jsonrpc": self.VERSION, "id": msg_id, "result": result})
            return
        super()._send_response(msg_id, result, error)

    @lsp_method(types.INITIALIZE)
    def lsp_initialize(self, params: types.InitializeParams) -> Generator[Any, Any, types.InitializeResult]:
        """Return the capabilities that pygls announces, with the position encoding of the session, and the documents we
        can give.
        """
        result = yield from super().lsp_initialize(params)
        result.capabilities.position_encoding = choose_encoding(params.capabilities)
        workspace = params.capabilities.workspace
        if result.capabilities.workspace and workspace and workspace.text_document_content:
            content = types.TextDocumentContentOptions([PROPOSAL_SCHEME, RUN_SCHEME])
            result.capabilities.workspace.text_document_content = content
        return result

    @lsp_method(types.EXIT)
    def lsp_exit(self, *args: Any) -> Generator[Any, Any, None]:
        """End the process, with code 0 only after `shutdown`."""
        yield from ()
        self.exit_code = 0 if self._shutdown else 1
        self.ended.set()
