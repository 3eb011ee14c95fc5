"""One file on disk as packed facts, and how to tell that they still hold."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from msgspec import Struct

from rolecall_analysis.extraction import facts_of
from rolecall_analysis.facts.packed import pack
from rolecall_analysis.folder import Stamp, read_start
from rolecall_analysis.syntax import MAX_SOURCE_BYTES
from rolecall_analysis.text import decode
from rolecall_analysis.values import FileFacts, Problem

SETTLED_NS = 2_000_000_000
"""A file that was written less than this before it was read may be written again with the same stamp: some file
systems count in steps of two seconds."""


class FileEntry(Struct, frozen=True, array_like=True, gc=False):
    """The facts known of a file on disk."""

    stamp: Stamp | None
    """None: it could not be read, and is read again at the next occasion."""
    digest: bytes
    packed: bytes
    """Its facts."""
    has_problems: bool
    read_at_ns: int
    """Since the epoch."""


class FileReading(Struct, frozen=True, array_like=True, gc=False):
    """The result of reading one file."""

    path: str
    entry: FileEntry | None
    """None: there is no such file."""
    is_same: bool = False
    """Its content is what it was; the entry's packed facts are left empty."""


def is_current(entry: FileEntry, stamp: Stamp) -> bool:
    """Return whether a file with this *stamp* surely has the content that *entry* was read from."""
    if entry.stamp != stamp:
        return False
    # Both times: `cp -p` and `tar` give a file that is written just now an old time of modification.
    return max(stamp.modified_ns, stamp.changed_ns) + SETTLED_NS < entry.read_at_ns


def digest_of(content: bytes) -> bytes:
    """By what the content of a file is recognised."""
    return hashlib.blake2b(content, digest_size=16).digest()


def read_files(root: Path, files: Sequence[tuple[str, bytes]]) -> list[FileReading]:
    """Read the files as they are now; each comes with the digest of the content that is known, or an empty one."""
    return [read_file(root, path, digest) for path, digest in files]


def read_file(root: Path, path: str, known_digest: bytes = b"") -> FileReading:
    """Return the facts of a file on disk. What cannot be read has a problem."""
    # Before the file is read, so that a change that comes meanwhile is newer than this.
    read_at_ns = time.time_ns()
    try:
        # One byte more than the limit, by which the parser sees that the file is too large.
        found = read_start(root, path, MAX_SOURCE_BYTES + 1)
    except OSError as error:
        problem = Problem(path, f"The file cannot be read: {error.strerror}.")
        return FileReading(path, FileEntry(None, b"", pack(FileFacts(path, problems=(problem,))), True, read_at_ns))
    if found is None:
        return FileReading(path, None)
    content, stamp = found
    digest = digest_of(content)
    if digest == known_digest:
        return FileReading(path, FileEntry(stamp, digest, b"", False, read_at_ns), is_same=True)
    text, what = decode(content)
    facts = facts_of(path, text)
    if what:
        facts = replace(facts, problems=(Problem(path, what), *facts.problems))
    return FileReading(path, FileEntry(stamp, digest, pack(facts), bool(facts.problems), read_at_ns))
