"""The tables of the database, how those of an earlier Rolecall become them, and the statements of the ledger.

Statements write ``insert`` in small letters: before 3.13, Python misses it in capitals where the locale is Turkish.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from functools import cache
from pathlib import Path

from rolecall_server.errors import StoreUnavailable

SCHEMA_VERSION = 5

_SCHEMA = """
CREATE TABLE IF NOT EXISTS run (
    id INTEGER PRIMARY KEY AUTOINCREMENT, root TEXT NOT NULL, role TEXT NOT NULL, path TEXT NOT NULL,
    brief TEXT NOT NULL, state TEXT NOT NULL, error TEXT NOT NULL DEFAULT '', started_at REAL NOT NULL, ended_at REAL,
    process_id INTEGER, process_start INTEGER);
CREATE TABLE IF NOT EXISTS call (
    id INTEGER PRIMARY KEY AUTOINCREMENT, run_id INTEGER NOT NULL REFERENCES run, request TEXT NOT NULL,
    reply TEXT, error TEXT NOT NULL DEFAULT '', at REAL NOT NULL, model TEXT NOT NULL DEFAULT '',
    reserved INTEGER NOT NULL DEFAULT 0, prompt_tokens INTEGER, completion_tokens INTEGER,
    role TEXT NOT NULL DEFAULT '', endpoint TEXT NOT NULL DEFAULT '', opening TEXT NOT NULL DEFAULT '',
    estimated INTEGER NOT NULL DEFAULT 0, covered TEXT NOT NULL DEFAULT '{}', reserved_nanos INTEGER NOT NULL DEFAULT 0,
    prompt_nanos INTEGER NOT NULL DEFAULT 0, completion_nanos INTEGER NOT NULL DEFAULT 0,
    purpose TEXT NOT NULL DEFAULT '', kind TEXT NOT NULL DEFAULT '');
CREATE INDEX IF NOT EXISTS call_by_run ON call (run_id);
CREATE INDEX IF NOT EXISTS call_by_kind ON call (role, kind, endpoint);
CREATE VIEW IF NOT EXISTS ledger AS
    SELECT call.id, run_id, at, model, endpoint, COALESCE(NULLIF(call.role, ''), run.role) AS role, estimated,
        prompt_tokens, completion_tokens, COALESCE(prompt_tokens + completion_tokens, reserved) AS tokens,
        COALESCE(prompt_tokens * prompt_nanos + completion_tokens * completion_nanos, reserved_nanos) AS nanos
    FROM call JOIN run ON run.id = run_id;
CREATE TABLE IF NOT EXISTS proposal (
    id INTEGER PRIMARY KEY AUTOINCREMENT, run_id INTEGER NOT NULL REFERENCES run, body TEXT NOT NULL,
    at REAL NOT NULL);
CREATE TABLE IF NOT EXISTS decision (
    id INTEGER PRIMARY KEY AUTOINCREMENT, proposal_id INTEGER NOT NULL REFERENCES proposal, hunk_id TEXT NOT NULL,
    state TEXT NOT NULL, reason TEXT NOT NULL DEFAULT '', at REAL NOT NULL, act_id INTEGER REFERENCES act, text TEXT);
DROP INDEX IF EXISTS decision_by_proposal;
CREATE INDEX IF NOT EXISTS decision_by_hunk ON decision (proposal_id, hunk_id);
CREATE TABLE IF NOT EXISTS hunk (
    proposal_id INTEGER NOT NULL REFERENCES proposal, hunk_id TEXT NOT NULL, path TEXT NOT NULL,
    PRIMARY KEY (proposal_id, hunk_id, path)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS hunk_by_path ON hunk (path);
CREATE TABLE IF NOT EXISTS trial (
    proposal_id INTEGER NOT NULL REFERENCES proposal, texts TEXT NOT NULL, hunks TEXT NOT NULL, body TEXT NOT NULL,
    at REAL NOT NULL, PRIMARY KEY (proposal_id, texts)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS manifest (
    id INTEGER PRIMARY KEY AUTOINCREMENT, run_id INTEGER NOT NULL REFERENCES run, body TEXT NOT NULL,
    opening TEXT NOT NULL DEFAULT '');
CREATE TABLE IF NOT EXISTS act (
    id INTEGER PRIMARY KEY AUTOINCREMENT, root TEXT NOT NULL, kind TEXT NOT NULL, at REAL NOT NULL);
CREATE TABLE IF NOT EXISTS landing (
    id INTEGER PRIMARY KEY AUTOINCREMENT, root TEXT NOT NULL, path TEXT NOT NULL,
    proposal_id INTEGER NOT NULL REFERENCES proposal, brought_in TEXT NOT NULL, taken_out TEXT NOT NULL,
    before TEXT NOT NULL, after TEXT NOT NULL, process_id INTEGER NOT NULL,
    process_start INTEGER);
CREATE INDEX IF NOT EXISTS landing_by_root ON landing (root);
CREATE TABLE IF NOT EXISTS begun (
    id INTEGER PRIMARY KEY AUTOINCREMENT, root TEXT NOT NULL UNIQUE, process_id INTEGER NOT NULL,
    process_start INTEGER, at REAL NOT NULL, body TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS message (
    id INTEGER PRIMARY KEY AUTOINCREMENT, run_id INTEGER NOT NULL REFERENCES run, kind TEXT NOT NULL,
    subject TEXT NOT NULL, version INTEGER NOT NULL, sender TEXT NOT NULL, because TEXT NOT NULL, body TEXT NOT NULL,
    at REAL NOT NULL, document_id INTEGER, UNIQUE (run_id, kind, subject, version));
CREATE TABLE IF NOT EXISTS reading (
    message_id INTEGER NOT NULL REFERENCES message, role TEXT NOT NULL, at REAL NOT NULL,
    PRIMARY KEY (message_id, role));
CREATE TABLE IF NOT EXISTS step (
    run_id INTEGER NOT NULL REFERENCES run, key TEXT NOT NULL, role TEXT NOT NULL, subject TEXT NOT NULL,
    state TEXT NOT NULL, attempt INTEGER NOT NULL, error TEXT NOT NULL, read TEXT NOT NULL, PRIMARY KEY (run_id, key));
CREATE TABLE IF NOT EXISTS trust (
    root TEXT NOT NULL, fingerprint TEXT NOT NULL, at REAL NOT NULL, PRIMARY KEY (root, fingerprint));
CREATE TABLE IF NOT EXISTS endpoint (
    address TEXT NOT NULL, model TEXT NOT NULL, body TEXT NOT NULL, at REAL NOT NULL, PRIMARY KEY (address, model));
CREATE TABLE IF NOT EXISTS document (
    id INTEGER NOT NULL, version INTEGER NOT NULL, run_id INTEGER NOT NULL REFERENCES run, kind TEXT NOT NULL,
    author TEXT NOT NULL, because TEXT NOT NULL, body TEXT NOT NULL, at REAL NOT NULL, PRIMARY KEY (id, version));
CREATE INDEX IF NOT EXISTS document_by_run ON document (run_id);
CREATE TABLE IF NOT EXISTS attempt (
    call_id INTEGER PRIMARY KEY REFERENCES call, body TEXT NOT NULL, at REAL NOT NULL);
CREATE TABLE IF NOT EXISTS suite (root TEXT PRIMARY KEY, body BLOB NOT NULL, at REAL NOT NULL) WITHOUT ROWID;
"""

RESERVE = """
insert INTO call (run_id, request, at, reserved,
    role, kind, endpoint, opening, estimated, covered, prompt_nanos, completion_nanos, reserved_nanos, purpose)
SELECT :run, :request, :now, :tokens,
    :role, :kind, :endpoint, :opening, :estimated, :covered, :prompt_nanos, :completion_nanos, :most_nanos, :purpose
WHERE (:calls = 0 OR (SELECT COUNT(*) FROM call WHERE run_id = :run) < :calls)
AND (:per_run = 0 OR (SELECT COALESCE(SUM(tokens), 0) FROM ledger WHERE run_id = :run) + :tokens <= :per_run)
AND (:per_day = 0 OR (SELECT COALESCE(SUM(tokens), 0) FROM ledger WHERE at >= :midnight) + :tokens <= :per_day)
AND (:nanos_per_run = 0
    OR (SELECT COALESCE(SUM(nanos), 0) FROM ledger WHERE run_id = :run) + :most_nanos <= :nanos_per_run)
AND (:nanos_per_day = 0
    OR (SELECT COALESCE(SUM(nanos), 0) FROM ledger WHERE at >= :midnight) + :most_nanos <= :nanos_per_day)
"""
"""Stores a call that is about to be made, if its tokens and its money fit beside those of all others."""

END = """
UPDATE call SET reply = :reply, error = :error, model = :model,
    prompt_tokens = :prompt, completion_tokens = :completion,
    reserved = COALESCE(:sent + :received, reserved),
    reserved_nanos = COALESCE(:sent * prompt_nanos + :received * completion_nanos, reserved_nanos)
WHERE id = :call
"""
"""Stores how a call ended; what it is charged with takes the place of what was set aside."""

BREAK_OFF = """
UPDATE call SET error = 'Nobody waited for the reply.', reserved = estimated, reserved_nanos = estimated * prompt_nanos
WHERE run_id = ? AND reply IS NULL AND error = ''
"""
"""Charges the calls of a run that nobody waits for any more with what they sent."""

_LATER_COLUMNS = {
    "run": {"process_id": "INTEGER", "process_start": "INTEGER"},
    "landing": {"process_start": "INTEGER"},
    "begun": {"process_start": "INTEGER"},
    "decision": {"act_id": "INTEGER REFERENCES act", "text": "TEXT"},
    "call": {
        "model": "TEXT NOT NULL DEFAULT ''",
        "reserved": "INTEGER NOT NULL DEFAULT 0",
        "purpose": "TEXT NOT NULL DEFAULT ''",
        "prompt_tokens": "INTEGER",
        "completion_tokens": "INTEGER",
        "role": "TEXT NOT NULL DEFAULT ''",
        "endpoint": "TEXT NOT NULL DEFAULT ''",
        "opening": "TEXT NOT NULL DEFAULT ''",
        "estimated": "INTEGER NOT NULL DEFAULT 0",
        "covered": "TEXT NOT NULL DEFAULT '{}'",
        "reserved_nanos": "INTEGER NOT NULL DEFAULT 0",
        "prompt_nanos": "INTEGER NOT NULL DEFAULT 0",
        "completion_nanos": "INTEGER NOT NULL DEFAULT 0",
        "kind": "TEXT NOT NULL DEFAULT ''",
    },
    "manifest": {"opening": "TEXT NOT NULL DEFAULT ''"},
}
"""Columns that tables of an earlier version lack; tables that are new are made by the schema."""


_FIRST_TABLES = frozenset({"run", "call", "proposal", "decision"})
"""The tables of every version."""


def make_tables(connection: sqlite3.Connection, path: Path) -> None:
    """Bring the database at *path* to this version, in one step, whichever it has.

    Raises:
        StoreUnavailable: it is of a newer Rolecall, or of another program.
        sqlite3.DatabaseError: something of it is gone.
    """
    if _version(connection) != SCHEMA_VERSION:
        with connection:
            # Another process may change the tables until the lock is held, so they are checked once more.
            connection.execute("BEGIN IMMEDIATE")
            check_tables(connection, path)
            _update(connection)
    check_tables(connection, path)


def _version(connection: sqlite3.Connection) -> int:
    return connection.execute("PRAGMA user_version").fetchone()[0]


def _update(connection: sqlite3.Connection) -> None:
    """Add what tables of an earlier version lack; nothing where another process did that just now."""
    there = _tables(connection)
    for table, columns in _LATER_COLUMNS.items():
        # A table that is not there at all gets its columns from the schema below.
        for name in columns.keys() - there[table] if table in there else ():
            connection.execute(f"ALTER TABLE {table} ADD COLUMN {name} {columns[name]}")
    # `executescript` would commit what was begun, and all of this is one transaction.
    for statement in _SCHEMA.split(";"):
        connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def check_tables(connection: sqlite3.Connection, path: Path) -> None:
    """Pass where the database is one of Rolecall's, of this version or an earlier one, and whole.

    Raises:
        StoreUnavailable: it is of a newer Rolecall, or of another program.
        sqlite3.DatabaseError: something of it is gone.
    """
    version, there, known = _version(connection), _tables(connection), _known_tables()
    if version > SCHEMA_VERSION:
        raise StoreUnavailable(f"{path} was written by a newer Rolecall.", "Update Rolecall, or move that file away.")
    # In an older database these are still to come; where the version says they are there, they were lost.
    later = {table: {*columns} if version < SCHEMA_VERSION else set[str]() for table, columns in _LATER_COLUMNS.items()}
    lacking = sorted(f"{t}.{name}" for t in there.keys() & known for name in known[t] - there[t] - later.get(t, set()))
    # Zero is what any file has whose program sets no version, an empty one that is ours to fill included.
    if version < 0 or (version == 0 and (lacking or there.keys() - known)):
        raise StoreUnavailable(f"{path} is no database of Rolecall's.", "Move that file away, then try again.")
    needed = known.keys() if version == SCHEMA_VERSION else _FIRST_TABLES if version else set[str]()
    if gone := sorted(needed - there.keys()) + lacking:
        raise sqlite3.DatabaseError(f"it lacks {', '.join(gone)}")


def _tables(connection: sqlite3.Connection) -> dict[str, set[str]]:
    """Return the columns of each table, but for SQLite's own."""
    listed = "SELECT t.name, c.name FROM sqlite_master AS t JOIN pragma_table_info(t.name) AS c WHERE t.type = 'table'"
    found: dict[str, set[str]] = {}
    for table, column in connection.execute(listed):
        if not table.startswith("sqlite_"):
            found.setdefault(table, set()).add(column)
    return found


@cache
def _known_tables() -> dict[str, set[str]]:
    """Return the columns of each table of this version."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(_SCHEMA)
        return _tables(connection)
