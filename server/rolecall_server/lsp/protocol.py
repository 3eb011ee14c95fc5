"""What pygls leaves open of the base protocol, closed.

Requests before `initialize`, after `shutdown` or with parameters of the wrong shape get the error the specification
names; `exit` without `shutdown` ends with code 1; replies carry no traceback; a broken frame ends the server, because
nothing after it can be read.
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Awaitable, Generator, Mapping
from typing import Any, cast

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.io_ import StdinAsyncReader
from pygls.protocol import LanguageServerProtocol
from pygls.protocol.json_rpc import JsonRPCNotification, RPCMessage
from pygls.protocol.language_server import lsp_method

from rolecall_server.lsp.positions import choose_encoding

logger = logging.getLogger(__name__)

PROPOSAL_SCHEME = "rolecall-proposal"
"""The scheme of proposals that an editor reads as documents."""

RUN_SCHEME = "rolecall-run"
"""The scheme of what is known of a run."""

_HEADER = re.compile(rb"[A-Za-z-]+: [^\r\n]*\r\n|\r\n")
_LENGTH = re.compile(rb"content-length:", re.IGNORECASE)
_VALID_LENGTH = re.compile(rb"Content-Length: \d{1,10}\r\n")
_IGNORED = "$/rolecall/ignored"
_INTERNAL = "Something went wrong inside; the server's log has the details."


class FrameError(Exception):
    """The client sent a header that is none: what follows cannot be told apart."""


class FrameReader(StdinAsyncReader):
    """Standard input, with each header line checked."""

    def readline(self) -> Awaitable[bytes]:
        """The next header line; empty at the end of the input.

        Raises:
            FrameError: it is no header line.
        """
        return self._checked(super().readline())

    async def _checked(self, coming: Awaitable[bytes]) -> bytes:
        line = await coming
        if line and (not _HEADER.fullmatch(line) or (_LENGTH.match(line) and not _VALID_LENGTH.fullmatch(line))):
            raise FrameError(f"Not a header of the base protocol: {line[:60]!r}")
        return line


class RolecallProtocol(LanguageServerProtocol):
    """pygls' protocol with documents of our own and the specification's errors."""

    exit_code = 1
    """What the process ends with: 0 once `exit` has come after `shutdown`."""
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

    def structure_message(self, data: dict[str, Any]) -> Any:
        """*data* as a message; one of the wrong shape is answered here and goes no further."""
        try:
            if "jsonrpc" in data and not isinstance(data.get("id", 0), (int, str)):
                raise JsonRpcException("An id is a number or a text.")
            return super().structure_message(data)
        except JsonRpcException:
            self._refuse_shape(data)
            return JsonRPCNotification(_IGNORED, "2.0", None)

    def _refuse_shape(self, data: Mapping[str, Any]) -> None:
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
            case _:
                logger.warning("A message of the wrong shape is ignored: %s", data.get("method"))

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

    def _send_response(
        self, msg_id: str | int, result: Any | None = None, error: types.ResponseError | None = None
    ) -> None:
        """Answer a request. What pygls says of an exception (its words, a traceback) belongs in the log."""
        if error is not None:
            internal = error.code == types.ErrorCodes.InternalError
            error = types.ResponseError(error.code, _INTERNAL if internal else error.message)
        super()._send_response(msg_id, result, error)

    @lsp_method(types.INITIALIZE)
    def lsp_initialize(self, params: types.InitializeParams) -> Generator[Any, Any, types.InitializeResult]:
        """What pygls announces, with the position encoding of the session, and the documents we can give."""
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
