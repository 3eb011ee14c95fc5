"""The database, and the few questions that are asked of it.

It lies in the user's data folder, outside any repository, so that opening a folder never brings a store along.
Every write is committed, and synced to the disk, before the caller goes on. Bodies are JSON made by whoever owns
the type: the store knows none of them.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import platformdirs

from rolecall_server.errors import NotFound, StoreUnavailable

SCHEMA_VERSION = 1
_BUSY_TIMEOUT_S = 5.0

_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS run (
    id INTEGER PRIMARY KEY AUTOINCREMENT, root TEXT NOT NULL, role TEXT NOT NULL, path TEXT NOT NULL,
    brief TEXT NOT NULL, state TEXT NOT NULL, error TEXT NOT NULL DEFAULT '', started_at REAL NOT NULL, ended_at REAL);
CREATE TABLE IF NOT EXISTS call (
    id INTEGER PRIMARY KEY AUTOINCREMENT, run_id INTEGER NOT NULL REFERENCES run, request TEXT NOT NULL,
    reply TEXT, error TEXT NOT NULL DEFAULT '', at REAL NOT NULL);
CREATE TABLE IF NOT EXISTS proposal (
    id INTEGER PRIMARY KEY AUTOINCREMENT, run_id INTEGER NOT NULL REFERENCES run, body TEXT NOT NULL,
    at REAL NOT NULL);
CREATE TABLE IF NOT EXISTS decision (
    id INTEGER PRIMARY KEY AUTOINCREMENT, proposal_id INTEGER NOT NULL REFERENCES proposal, hunk_id TEXT NOT NULL,
    state TEXT NOT NULL, reason TEXT NOT NULL DEFAULT '', at REAL NOT NULL);
CREATE INDEX IF NOT EXISTS decision_by_proposal ON decision (proposal_id);
PRAGMA user_version = {SCHEMA_VERSION};
"""


@dataclass(frozen=True)
class RunRow:
    """One run as stored."""

    id: str
    role: str
    path: str
    brief: str
    state: str
    """``running``, ``finished``, ``failed`` or ``cancelled``."""
    error: str


@dataclass(frozen=True)
class CallRow:
    """One model call as stored; *reply* is ``None`` where none came."""

    request: str
    reply: str | None
    error: str


@dataclass(frozen=True)
class Store:
    """An open database. All methods commit before they return.

    Any of them raises `StoreUnavailable` where the disk is full, the file damaged or another process holds it.
    """

    path: Path
    connection: sqlite3.Connection

    def add_run(self, root: Path, role: str, path: str, brief: str) -> str:
        """The id of a new running run in the workspace at *root*, such as ``r12``."""
        started = {"state": "running", "started_at": time.time()}
        return f"r{self._insert('run', root=str(root), role=role, path=path, brief=brief, **started)}"

    def end_run(self, run_id: str, state: str, error: str = "") -> None:
        """Say how a run ended."""
        with self._transaction() as connection:
            connection.execute(
                "UPDATE run SET state = ?, error = ?, ended_at = ? WHERE id = ?",
                (state, error, time.time(), _number(run_id)),
            )

    def run(self, run_id: str) -> RunRow:
        """One run.

        Raises:
            NotFound: there is none of that id.
        """
        rows = self._select("SELECT role, path, brief, state, error FROM run WHERE id = ?", _number(run_id))
        if not rows:
            raise NotFound(f"There is no run {run_id}.")
        return RunRow(run_id, *rows[0])

    def add_call(self, run_id: str, request: str) -> int:
        """The number of a model call that is about to be made."""
        return self._insert("call", run_id=_number(run_id), request=request, at=time.time())

    def end_call(self, call_id: int, reply: str | None, error: str = "") -> None:
        """Store what came back, before anyone acts on it."""
        with self._transaction() as connection:
            connection.execute("UPDATE call SET reply = ?, error = ? WHERE id = ?", (reply, error, call_id))

    def calls(self, run_id: str) -> tuple[CallRow, ...]:
        """The model calls of a run, in order."""
        rows = self._select("SELECT request, reply, error FROM call WHERE run_id = ? ORDER BY id", _number(run_id))
        return tuple(CallRow(*row) for row in rows)

    def reserve_proposal(self, run_id: str) -> str:
        """The id of a proposal whose body follows (`save_proposal`), such as ``p7``."""
        return f"p{self._insert('proposal', run_id=_number(run_id), body='', at=time.time())}"

    def save_proposal(self, proposal_id: str, body: str) -> None:
        """Store a proposal's body."""
        with self._transaction() as connection:
            connection.execute("UPDATE proposal SET body = ? WHERE id = ?", (body, _number(proposal_id)))

    def proposals(self, root: Path) -> tuple[str, ...]:
        """The body of every proposal for the workspace at *root*, oldest first."""
        rows = self._select(
            "SELECT body FROM proposal JOIN run ON run.id = run_id WHERE root = ? AND body != '' ORDER BY proposal.id",
            str(root),
        )
        return tuple(body for (body,) in rows)

    def proposal(self, proposal_id: str) -> str:
        """The body of one proposal.

        Raises:
            NotFound: there is none of that id.
        """
        rows = self._select("SELECT body FROM proposal WHERE id = ? AND body != ''", _number(proposal_id))
        if not rows:
            raise NotFound(f"There is no proposal {proposal_id}.")
        return rows[0][0]

    def decide(self, proposal_id: str, states: Mapping[str, str], reason: str = "") -> None:
        """Store the new state of some hunks, all or none."""
        now = time.time()
        with self._transaction() as connection:
            connection.executemany(
                "INSERT INTO decision (proposal_id, hunk_id, state, reason, at) VALUES (?, ?, ?, ?, ?)",
                [(_number(proposal_id), hunk_id, state, reason, now) for hunk_id, state in states.items()],
            )

    def decisions(self, proposal_id: str) -> dict[str, str]:
        """The latest stored state of each hunk that ever left ``pending``."""
        return dict(
            self._select("SELECT hunk_id, state FROM decision WHERE proposal_id = ? ORDER BY id", _number(proposal_id))
        )

    def close(self) -> None:
        """Close the database; nothing is lost without it."""
        self.connection.close()

    def _insert(self, table: str, **values: object) -> int:
        columns, marks = ", ".join(values), ", ".join("?" * len(values))
        with self._transaction() as connection:
            statement = f"INSERT INTO {table} ({columns}) VALUES ({marks})"  # noqa: S608 - names are ours
            row_id = connection.execute(statement, tuple(values.values())).lastrowid
        assert row_id is not None
        return row_id

    def _select(self, statement: str, *values: object) -> list[Any]:
        with self._transaction() as connection:
            return connection.execute(statement, values).fetchall()

    @contextmanager
    def _transaction(self) -> Generator[sqlite3.Connection]:
        """The connection; what is done with it is committed at the end, all or none."""
        try:
            with self.connection as connection:
                yield connection
        except sqlite3.DatabaseError as error:
            if type(error) not in (sqlite3.DatabaseError, sqlite3.OperationalError):
                raise  # a mistake of the caller's
            raise StoreUnavailable(
                f"Rolecall's database {self.path} cannot be used: {error}.",
                "Free some space, or move that file away, then try again.",
            ) from error


def store_path() -> Path:
    """Where the database lies for this user."""
    return Path(platformdirs.user_data_dir("rolecall", appauthor=False)) / "rolecall.db"


def cache_path() -> Path:
    """The folder for what could be worked out again, for this user."""
    return Path(platformdirs.user_cache_dir("rolecall", appauthor=False))


def open_store(path: Path) -> Store:
    """The database at *path*, made where there is none; a damaged one is set aside and begun anew.

    Raises:
        StoreUnavailable: the folder cannot be written, or the database is of a newer Rolecall.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            return Store(path, _connect(path))
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):
                raise
            path.replace(path.with_name(f"{path.name}.damaged-{time.time_ns()}"))
            return Store(path, _connect(path))
    except (OSError, sqlite3.Error) as error:
        raise StoreUnavailable(
            f"Rolecall's database {path} cannot be opened: {error}.",
            "Make its folder writable, then restart.",
        ) from error


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=_BUSY_TIMEOUT_S, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version > SCHEMA_VERSION:
            raise StoreUnavailable(
                f"{path} was written by a newer Rolecall.", "Update Rolecall, or move that file away."
            )
        connection.executescript(_SCHEMA)
    except BaseException:
        connection.close()
        raise
    return connection


def _number(name: str) -> int:
    """The row number in an id such as ``r12`` or ``p7``."""
    digits = name[1:]
    if not digits.isascii() or not digits.isdigit():
        raise NotFound(f"{name!r} is no id.")
    return int(digits)
