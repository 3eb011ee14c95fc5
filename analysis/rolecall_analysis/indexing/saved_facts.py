"""Facts kept from one session to the next, in one SQLite file."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import threading
import zlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import tree_sitter
from msgspec import DecodeError, msgpack

from rolecall_analysis.indexing.file_reading import FileEntry

_LOCK_PATIENCE_S = 2.0

_PARSERS = ("msgspec", "tree_sitter")

_OUT_OF_REACH = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_READONLY,
}

_encode = msgpack.Encoder().encode
_decode = msgpack.Decoder(FileEntry).decode


class SavedFacts:
    """The store at *location*, which this makes where there is none. Any thread may ask.

    Every row says by a checksum that it is whole and of this version of the graph; one that is not is passed over.
    A store that cannot be used, because it is damaged or locked or lies where nobody may write, is no failure:
    it is built again, or done without, and `take_problems` says so.
    """

    def __init__(self, location: Path) -> None:
        self.location = location
        self._problems: list[str] = []
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._version = graph_version()
        with self._lock:
            self._open()

    def load(self) -> dict[str, FileEntry]:
        """Return the entries that were saved, by path."""
        with self._lock:
            if self._connection is None:
                return {}
            try:
                return self._load(self._connection)
            except sqlite3.DatabaseError as error:
                self._give_up(error)
                return {}

    def save(self, changes: Mapping[str, FileEntry | None]) -> bool:
        """Put these entries in the place of what was saved for their paths; None removes. Whether that was done."""
        with self._lock:
            if self._connection is None:
                return False
            try:
                self._save(self._connection, changes)
            except sqlite3.DatabaseError as error:
                self._give_up(error)
                return False
            return True

    def take_problems(self) -> list[str]:
        """Return the problems that came up since this was last asked."""
        with self._lock:
            problems, self._problems = self._problems, []
            return problems

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._disconnect()

    def _open(self) -> None:
        try:
            self.location.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._connection = _connect(self.location, self._version)
        except sqlite3.DatabaseError as error:
            self._give_up(error)
        except OSError as error:
            self._problems.append(f"Facts cannot be kept in {self.location}: {error.strerror}.")

    def _load(self, connection: sqlite3.Connection) -> dict[str, FileEntry]:
        entries: dict[str, FileEntry] = {}
        n_damaged = 0
        for path, checksum, row in connection.execute("SELECT path, checksum, entry FROM files"):
            try:
                if checksum != self._checksum(path, row):
                    raise DecodeError
                entries[path] = _decode(row)
            except (DecodeError, TypeError, AttributeError):
                n_damaged += 1
        if n_damaged:
            self._replace(f"{n_damaged} of its rows")
            if self._connection is not None:
                self._save(self._connection, entries)
        return entries

    def _save(self, connection: sqlite3.Connection, changes: Mapping[str, FileEntry | None]) -> None:
        rows = ((path, _encode(entry)) for path, entry in changes.items() if entry is not None)
        # With `isolation_level=None` Python begins no transaction of its own; `with` only ends the one begun here.
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(
                "DELETE FROM files WHERE path = ?", [(path,) for path, entry in changes.items() if entry is None]
            )
            connection.executemany(
                # In small letters: with a Turkish locale, Python before 3.13 misses the word in capitals.
                "insert OR REPLACE INTO files (path, checksum, entry) VALUES (?, ?, ?)",
                ((path, self._checksum(path, row), row) for path, row in rows),
            )

    def _checksum(self, path: str, row: bytes) -> int:
        return zlib.crc32(row, zlib.crc32(path.encode(), self._version))

    def _give_up(self, error: sqlite3.DatabaseError) -> None:
        """Go on without the store, or with a new one if it is damaged."""
        if _is_out_of_reach(error):
            self._disconnect()
            self._problems.append(f"Facts are not kept between sessions: {self.location}: {error}.")
        else:
            self._replace(str(error))

    def _replace(self, what: str) -> None:
        """Go on with a new store, because *what* is wrong with this one."""
        self._disconnect()
        try:
            for suffix in ("", "-wal", "-shm"):
                self.location.with_name(self.location.name + suffix).unlink(missing_ok=True)
            self._connection = _connect(self.location, self._version)
            self._problems.append(f"{self.location} was damaged ({what}); it is built again.")
        except (sqlite3.DatabaseError, OSError) as error:
            self._problems.append(f"{self.location} is damaged ({what}) and cannot be replaced: {error}.")

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _connect(location: Path, version: int) -> sqlite3.Connection:
    """Open a store, make sure that it has the table and no row of another version, and return the connection."""
    connection = sqlite3.connect(location, timeout=_LOCK_PATIENCE_S, check_same_thread=False, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        # A power failure may take the last commits; the files that they were about are then read again.
        connection.execute("PRAGMA synchronous = NORMAL")
        if connection.execute("PRAGMA user_version").fetchone() != (version,):
            with connection:
                connection.execute("BEGIN IMMEDIATE")
                connection.execute("DROP TABLE IF EXISTS files")
                connection.execute("CREATE TABLE files (path TEXT PRIMARY KEY, checksum INTEGER, entry BLOB)")
                connection.execute(f"PRAGMA user_version = {version:d}")
    except BaseException:
        connection.close()
        raise
    return connection


def _is_out_of_reach(error: sqlite3.DatabaseError) -> bool:
    """Return whether *error* may mean that the store is in order but not accessible to us, or not now."""
    code = getattr(error, "sqlite_errorcode", None)  # Python's own errors, about text that is none, have no code
    # The lowest byte of an extended code is the code that it extends.
    return code is not None and (code & 0xFF) in _OUT_OF_REACH


def saved_path(folder: Path, root: Path) -> Path:
    """Return the place below *folder* for the store of the repository at *root*."""
    digest = hashlib.blake2b(os.fsencode(root), digest_size=8).hexdigest()
    return folder / "graph" / f"{digest}.sqlite3"


@cache
def graph_version() -> int:
    """Return a number, 1 to 2,147,483,647, that changes with the code of this package and the grammars it
    reads with.
    """
    package = Path(__file__).parents[1]
    digest = hashlib.blake2b(digest_size=4)
    for path in sorted(package.rglob("*")):
        if path.suffix in {".py", ".scm"}:
            digest.update(path.read_bytes())
    for name in sorted(path.name for path in Path(tree_sitter.__file__).parent.parent.iterdir()):
        if name.startswith(_PARSERS) and name.endswith(".dist-info"):  # which has the version in its name
            digest.update(name.encode())
    # SQLite keeps `user_version` as a signed number of 32 bits, and it is 0 in a new file.
    return int.from_bytes(digest.digest(), "big") >> 1 or 1
