"""The lines that a run tells of itself, over a descriptor: in order, and each with a seal that needs a key.

The key is handed over before anything of the workspace's is imported, and lies in the memory of that one process. Who
writes to the descriptor without it is not heard, and nobody can take back a line.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import socket
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from hmac import compare_digest
from pathlib import Path
from typing import IO

MAX_REPORT_BYTES = 100_000_000
"""More than any honest suite tells; what comes after is not read."""

CHANNEL = "ROLECALL_TOLD"
"""The variable that names the descriptor."""

_FIRST_DESCRIPTOR = 64
"""Above those that a command is started with for other ends."""
_LAST_WORDS_S = 5.0


@dataclass(frozen=True)
class Hearing:
    """The place where what is heard of one run is noted."""

    noted: Path
    key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)


@contextlib.asynccontextmanager
async def listen(hearing: Hearing) -> AsyncGenerator[socket.socket]:
    """Note what is told over a socket, which is to be handed on and closed; at the end wait for the last words.

    Raises:
        OSError: there are no more descriptors, or the disk is full.
    """
    import fcntl  # not on Windows, where nothing is heard

    ours, theirs = socket.socketpair()
    with theirs:
        handed = socket.socket(fileno=fcntl.fcntl(theirs.fileno(), fcntl.F_DUPFD_CLOEXEC, _FIRST_DESCRIPTOR))
    ours.sendall(hearing.key)
    # The child reads the key once; nothing else is ever said in this direction.
    ours.shutdown(socket.SHUT_WR)
    with handed, hearing.noted.open("wb") as file:
        listener = _Listener(file)
        transport, _ = await asyncio.get_running_loop().create_unix_connection(lambda: listener, sock=ours)
        try:
            yield handed
        finally:
            # An end that is still open here would keep the stream from ending.
            handed.close()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(listener.ended.wait(), _LAST_WORDS_S)
            transport.close()


class _Listener(asyncio.Protocol):
    def __init__(self, file: IO[bytes]) -> None:
        self.ended = asyncio.Event()
        self._file = file
        self._left = MAX_REPORT_BYTES

    def data_received(self, data: bytes) -> None:
        with contextlib.suppress(OSError):  # a full disk: what is missing is seen when it is read
            self._file.write(data[: self._left])
        self._left = max(0, self._left - len(data))

    def connection_lost(self, exc: Exception | None) -> None:
        self.ended.set()


def heard(hearing: Hearing) -> Iterator[bytes | None]:
    """Yield the lines that were told by who had the key; ``None`` where some before the next are missing."""
    try:
        with hearing.noted.open("rb") as stream:
            noted = stream.read(MAX_REPORT_BYTES)
    except OSError:
        return
    n_heard = 0
    for line in noted.split(b"\n"):
        seal, _, sealed = line.partition(b" ")
        if compare_digest(seal, blake2b(sealed, digest_size=16, key=hearing.key).hexdigest().encode()):
            number, _, told = sealed.partition(b" ")
            # The seal has shown that ours wrote the line, so it does begin with a number.
            if int(number) != n_heard + 1:
                yield None
            n_heard = int(number)
            yield told
