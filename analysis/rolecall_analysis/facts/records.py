"""The facts of many files, packed, and decoded when somebody looks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain

from msgspec import Struct

from rolecall_analysis.facts.packed import unpack
from rolecall_analysis.values import FileFacts

DECODED_BYTES = 6_000_000
"""The bytes of packed facts that stay decoded, where they take some ten times the room."""

_OVERLAY_FILES = 512
_OVERLAY_SHARE = 16
"""Changes are laid over the files that were there, until they are more than this and a sixteenth of those."""

_UNNUMBERED = -1


class Record(Struct, frozen=True, gc=False):
    """The knowledge of one version of a file: its packed facts and number, or its facts."""

    packed: bytes = b""
    version: int = _UNNUMBERED
    """Its number in the index of mentions, if it is in there."""
    facts: FileFacts | None = None
    """None: they are packed."""
    text: str | None = None
    """The text that the facts were read from; None: the file on disk."""

    @property
    def is_numbered(self) -> bool:
        """Return whether the record is in an index of mentions."""
        return self.version != _UNNUMBERED


class Decoded:
    """Facts that were asked for lately, up to a size: what was not asked for during a whole filling goes.

    A reader takes no lock: at worst two decode the same file.
    """

    def __init__(self, limit_bytes: int = DECODED_BYTES) -> None:
        self._limit_bytes = limit_bytes
        self._recent: dict[str, tuple[bytes, FileFacts]] = {}
        self._earlier: dict[str, tuple[bytes, FileFacts]] = {}
        self._size_bytes = 0

    def facts(self, path: str, packed: bytes) -> FileFacts:
        """Return the facts in *packed*, which are those of the file *path*."""
        found = self._recent.get(path)
        # The very same bytes: another version of the file, in another snapshot, has others.
        if found is not None and found[0] is packed:
            return found[1]
        found = self._earlier.get(path)
        if found is None or found[0] is not packed:
            found = packed, unpack(path, packed)
        if self._size_bytes > self._limit_bytes // 2:
            self._earlier, self._recent, self._size_bytes = self._recent, {}, 0
        self._recent[path] = found
        self._size_bytes += len(packed)
        return found[1]


class Files(Mapping[str, FileFacts]):
    """The facts of files by path. It never changes."""

    __slots__ = ("_base", "_decoded", "_length", "_loose", "_over")

    def __init__(self, decoded: Decoded) -> None:
        self._decoded = decoded
        self._base: dict[str, Record] = {}
        self._over: dict[str, Record | None] = {}
        self._loose: dict[str, Record] = {}
        self._length = 0

    def __getitem__(self, path: str) -> FileFacts:
        record = self.record(path)
        if record is None:
            raise KeyError(path)
        return record.facts if record.facts is not None else self._decoded.facts(path, record.packed)

    def __contains__(self, path: object) -> bool:
        return isinstance(path, str) and self.record(path) is not None

    def __iter__(self) -> Iterator[str]:
        if not self._over:
            return iter(self._base)
        kept = (path for path in self._base if path not in self._over)
        return chain(kept, (path for path, record in self._over.items() if record is not None))

    def __len__(self) -> int:
        return self._length

    def record(self, path: str) -> Record | None:
        """Return the record of *path*; ``None`` if there is none."""
        # None in the upper layer says that the file is removed, although the lower one still has it.
        return self._over[path] if path in self._over else self._base.get(path)

    def unnumbered(self) -> Mapping[str, Record]:
        """Return the records that are in no index of mentions, by path."""
        return self._loose

    def with_records(self, changes: Mapping[str, Record | None]) -> Files:
        """These files with some records replaced; None removes."""
        after = Files(self._decoded)
        after._base, after._over = self._base, {**self._over, **changes}
        loose = {path: record for path, record in changes.items() if record is not None and not record.is_numbered}
        kept = {path: record for path, record in self._loose.items() if path not in changes}
        after._loose = {**kept, **loose}
        n_before = sum(path in self for path in changes)
        after._length = self._length - n_before + sum(record is not None for record in changes.values())
        if len(after._over) > _OVERLAY_FILES + len(after._base) // _OVERLAY_SHARE:
            together = {**after._base, **after._over}
            after._base = {path: record for path, record in together.items() if record is not None}
            after._over = {}
        return after
