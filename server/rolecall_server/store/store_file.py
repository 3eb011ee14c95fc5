"""The place of the database, and opening it: made anew where there is none, set aside where it is damaged."""

from __future__ import annotations

import sqlite3
import time
from contextlib import suppress
from pathlib import Path

import platformdirs

from rolecall_server.errors import StoreDamaged, StoreUnavailable
from rolecall_server.store.database import Store, what_to_do
from rolecall_server.store.schema import check_tables, make_tables

_BUSY_TIMEOUT_S = 5.0
_BUSY_PAUSE_S = 0.01


def store_path() -> Path:
    """Return the path of the database for this user."""
    return Path(platformdirs.user_data_dir("rolecall", appauthor=False)) / "rolecall.db"


def cache_path() -> Path:
    """Return the folder for what could be worked out again, for this user."""
    return Path(platformdirs.user_cache_dir("rolecall", appauthor=False))


def open_store(path: Path) -> Store:
    """Open the database at *path*, make it where there is none, and return it.

    Raises:
        StoreDamaged: it cannot be read; it was set aside, and the next call begins anew.
        StoreUnavailable: the folder cannot be written, or the database is of a newer Rolecall.
    """
    try:
        # What models were told lies there, code of any repository among it: nobody else on the machine may read it.
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            return Store(path, _connect(path))
        except sqlite3.DatabaseError as error:
            # A locked file or a full disk is such an error, and no damage: nothing is moved then.
            if isinstance(error, sqlite3.OperationalError):
                raise
            raise _set_aside(path, error) from error
    except (OSError, sqlite3.Error) as error:
        raise StoreUnavailable(
            f"Rolecall's database {path} cannot be opened: {error}.",
            what_to_do(error, "make its folder writable"),
        ) from error


def _set_aside(path: Path, error: sqlite3.DatabaseError) -> StoreDamaged:
    """Move the database at *path* out of the way, with what SQLite keeps beside it."""
    aside = path.with_name(f"{path.name}.damaged-{time.time_ns()}")
    path.replace(aside)
    # A log that stays behind would be taken for that of the new database.
    for suffix in ("-wal", "-shm"):
        with suppress(FileNotFoundError):
            path.with_name(path.name + suffix).replace(aside.with_name(aside.name + suffix))
    return StoreDamaged(
        f"Rolecall's database {path} is damaged ({error}), and was moved to {aside}.",
        "What ran and was decided before is in that file only. Run the command again: it begins with an empty one.",
    )


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=_BUSY_TIMEOUT_S, check_same_thread=False)  # threads take turns
    try:
        check_tables(connection, path)  # before anything is written
        _write_ahead(connection)
        # In WAL mode nothing less syncs each commit to the disk.
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        make_tables(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Have SQLite keep a log. It waits for nobody there, and others may be making the same database just now."""
    end = time.monotonic() + _BUSY_TIMEOUT_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > end:
                raise
            time.sleep(_BUSY_PAUSE_S)
        else:
            return
