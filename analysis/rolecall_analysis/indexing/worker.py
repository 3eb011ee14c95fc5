"""The process that reads files for another one: requests on standard input, replies on standard output.

It keeps nothing that matters: killed, it can be started again and asked the same. It ends when its input does,
so it does not outlive who started it.
"""

from __future__ import annotations

import os
import signal
import sys
from collections import OrderedDict
from pathlib import Path
from struct import Struct as Layout
from typing import IO

from msgspec import Struct, msgpack

from rolecall_analysis.extraction import Followed, follow
from rolecall_analysis.facts.packed import pack
from rolecall_analysis.indexing.file_reading import FileReading, read_files

FRAME = Layout("<I")
"""The length in bytes of the message that follows."""

NICENESS = 5
"""Who waits for an answer goes before who reads ahead."""

MAX_TREES = 32
"""Trees of open documents that are kept; another one is parsed from nothing."""


class ReadFiles(Struct, frozen=True, array_like=True, tag="files"):
    """Read files from disk; answered with a list of `FileReading`."""

    root: bytes
    """As the file system writes it."""
    files: list[tuple[str, bytes]]
    """Paths, each with the digest of the content that is known already."""


class ReadText(Struct, frozen=True, array_like=True, tag="text"):
    """Read a text that an editor holds; answered with its packed facts."""

    root: bytes
    path: str
    text: bytes
    """UTF-8, with lone surrogates where the text has them."""


Request = ReadFiles | ReadText

encode = msgpack.Encoder().encode
decode_request = msgpack.Decoder(Request).decode
decode_readings = msgpack.Decoder(list[FileReading]).decode


def main() -> None:
    """Answer until the input ends."""
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # Ctrl-C in a terminal reaches every process; ours is told by its input
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    # What a library prints must not come between the replies: from here on, descriptor 1 is standard error.
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    trees: OrderedDict[tuple[bytes, str], Followed] = OrderedDict()
    try:
        write_message(output, b"")  # says that this process runs: who started it waits for that
        while (message := read_message(sys.stdin.buffer)) is not None:
            write_message(output, _answer(decode_request(message), trees))
    except BrokenPipeError:
        # An ordinary exit would flush into the same broken pipe once more, and complain.
        os._exit(1)


def _answer(request: Request, trees: OrderedDict[tuple[bytes, str], Followed]) -> bytes:
    if isinstance(request, ReadFiles):
        return encode(read_files(Path(os.fsdecode(request.root)), request.files))
    key = request.root, request.path
    facts, followed = follow(request.path, request.text.decode("utf-8", "surrogatepass"), trees.pop(key, None))
    if followed is not None:
        trees[key] = followed
        if len(trees) > MAX_TREES:
            trees.popitem(last=False)
    return pack(facts)


def write_message(stream: IO[bytes], message: bytes) -> None:
    """Write one message and send it off."""
    stream.write(FRAME.pack(len(message)))
    stream.write(message)
    stream.flush()


def read_message(stream: IO[bytes]) -> bytes | None:
    """Return the next message; None if the stream ends before it is complete."""
    header = stream.read(FRAME.size)
    if len(header) < FRAME.size:
        return None
    (length,) = FRAME.unpack(header)
    message = stream.read(length)
    return message if len(message) == length else None
