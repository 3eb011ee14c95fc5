"""Bodies of responses, read no further than their limits: what is counted is what they unpack to, as it comes."""

from __future__ import annotations

import asyncio
import re
import zlib
from collections.abc import AsyncIterator, Iterator

import httpx2

from rolecall_server.errors import ReplyMalformed
from rolecall_server.model.client import MAX_REPLY_CHARACTERS

MAX_BODY_BYTES = 64_000_000
"""Of one response, unpacked: room for a long reply of which each token comes in a chunk of its own."""
_MAX_EVENT_BYTES = 16 * MAX_REPLY_CHARACTERS
"""Of what is read at one go: an event of a stream, or a reply that comes whole. A character takes up to twelve."""
_MAX_EVENT_LINES = 200
"""Of an event of a stream, which has one or two; the SDK copies what it has of an event with each line."""
_PIECE_BYTES = 1 << 16
_BLANK_LINE = re.compile(rb"\n\r?\n|\r\r")


def bound(response: httpx2.Response, source: str, max_bytes: int = MAX_BODY_BYTES) -> None:
    """Have the body of *response*, which comes from *source*, end in `ReplyMalformed` where it passes a limit."""
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    # Taken out of the headers, or httpx would unpack the body as well, and without a limit.
    packing = response.headers.pop("content-encoding", "").strip().lower()
    is_stream = "event-stream" in response.headers.get("content-type", "")
    response.stream = _Bounded(response.stream, packing, source, max_bytes, _MAX_EVENT_LINES if is_stream else 0)


class _Bounded(httpx2.AsyncByteStream):
    """A body, unpacked, that ends in an error when it does not end by itself."""

    def __init__(self, body: httpx2.AsyncByteStream, packing: str, source: str, max_bytes: int, max_lines: int) -> None:
        self._body, self._packing, self._source = body, packing, source
        self._max_bytes, self._max_lines = max_bytes, max_lines
        self._n_bytes = self._n_since = self._n_lines = 0
        self._tail = b""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        unpack = self._unpacker()
        async for chunk in self._body:
            for piece in unpack(chunk) if unpack is not None else (chunk,):
                self._count(piece)
                yield piece
                await asyncio.sleep(0)  # a chunk may unpack to so much that a limit of time passes meanwhile

    async def aclose(self) -> None:
        await self._body.aclose()

    def _unpacker(self) -> _Unpacker | None:
        """Return what unpacks the body; plain ones are asked for, but some who answer pack all the same."""
        if self._packing in ("", "identity"):
            return None
        if self._packing in ("gzip", "x-gzip", "deflate"):
            return _Unpacker()
        raise ReplyMalformed(f"{self._source} packed its answer as {self._packing[:40]!r}, which was not asked for.")

    def _count(self, piece: bytes) -> None:
        self._n_bytes += len(piece)
        self._n_since += len(piece)
        self._n_lines += piece.count(b"\n") + piece.count(b"\r")
        seen = self._tail + piece
        self._tail = seen[-3:]  # a blank line may begin in one piece and end in the next
        for end in _BLANK_LINE.finditer(seen):
            self._n_since, self._n_lines = len(seen) - end.end(), 0
        if self._n_bytes > self._max_bytes:
            raise ReplyMalformed(f"{self._source} sent more than {self._max_bytes:,} bytes and was stopped.")
        if self._n_since > _MAX_EVENT_BYTES:
            raise ReplyMalformed(f"{self._source} sent more than {_MAX_EVENT_BYTES:,} bytes at one go and was stopped.")
        if self._max_lines and self._n_lines > self._max_lines:
            raise ReplyMalformed(f"{self._source} sent an event of more than {self._max_lines} lines and was stopped.")


class _Unpacker:
    """Unpacks gzip and zlib piece by piece, so that no chunk becomes a thousand times as long at once."""

    def __init__(self) -> None:
        # With 32, zlib tells by the header whether it is gzip or zlib.
        self._packed = zlib.decompressobj(zlib.MAX_WBITS | 32)

    def __call__(self, chunk: bytes) -> Iterator[bytes]:
        while chunk and not self._packed.eof:
            try:
                yield self._packed.decompress(chunk, _PIECE_BYTES)
            except zlib.error as error:
                raise httpx2.DecodingError(str(error)) from None
            chunk = self._packed.unconsumed_tail
