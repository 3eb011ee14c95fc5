"""The messages of a run, who read them, and which steps were taken: the part of the store that the message pool uses.

What a step publishes, that it read its messages and that it is done are stored in one transaction: a process that is
killed has done a step wholly or not at all.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Collection
from dataclasses import dataclass, replace

from rolecall_server.errors import NotFound
from rolecall_server.store.database import Store, row_number

_SELECT = """
SELECT message.id, message.kind, subject, message.version, sender, message.because,
    COALESCE(document.body, message.body), message.at, document_id
FROM message LEFT JOIN document ON document.id = document_id AND document.version = message.version
WHERE message.run_id = ? ORDER BY message.id
"""
_ADD = """
insert INTO message (run_id, kind, subject, version, sender, because, body, at, document_id)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_ADD_DOCUMENT = """
insert INTO document (id, version, run_id, kind, author, because, body, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
"""
_EDITED = """
SELECT document.id, document.version, author, document.body, message.kind, message.subject
FROM document JOIN message ON message.document_id = document.id AND message.run_id = document.run_id
WHERE document.run_id = ? AND document.version > (SELECT MAX(version) FROM message AS other
    WHERE other.run_id = document.run_id AND other.document_id = document.id)
GROUP BY document.id, document.version ORDER BY document.id, document.version
"""


@dataclass(frozen=True)
class MessageRow:
    """One message as stored; nothing of it ever changes."""

    id: int
    kind: str
    """The type of the document it brings: ``design``."""
    subject: str
    """The one of that type, where there are several: ``S1/T2``."""
    version: int
    """From 1, for each kind and subject."""
    sender: str
    because: tuple[int, ...]
    """The messages that led to it."""
    body: str
    """JSON."""
    at_s: float
    """Seconds since the epoch."""
    document_id: str = ""
    """The document it brings, such as ``d4``, in that version; empty where it is none that is kept by itself."""

    @property
    def code(self) -> str:
        """``m12``"""
        return f"m{self.id}"


@dataclass(frozen=True)
class NewMessage:
    """A message that is not stored yet."""

    kind: str
    subject: str
    body: str
    is_document: bool = False
    """Its body is kept as a document, which the developer can open and edit."""


@dataclass(frozen=True)
class ReadingRow:
    """A note that a role read a message."""

    message_id: int
    role: str
    at_s: float


@dataclass(frozen=True)
class StepRow:
    """The result of one step of a role."""

    key: str
    """The fingerprint of the role and of what it read."""
    role: str
    subject: str
    state: str
    """``done`` or ``failed``."""
    attempt: int
    """The number of times that the developer had it taken again."""
    error: str
    read: tuple[int, ...] = ()
    """The messages it read."""


def post(
    store: Store, run_id: str, sender: str, drafts: Collection[NewMessage], because: Collection[int] = ()
) -> list[int]:
    """Store *drafts* as the next versions of what they are about, all or none; their numbers."""
    with store.transaction() as connection:
        return _post(connection, run_id, sender, drafts, because)


def take_in_edits(store: Store, run_id: str) -> list[int]:
    """Make messages of the versions of documents that somebody stored by themselves; their numbers."""
    numbers: list[int] = []
    with store.transaction() as connection:
        for number, version, author, _body, kind, subject in connection.execute(_EDITED, (row_number(run_id, "r"),)):
            # Without a body: what a document says is kept in the document alone, and `_SELECT` takes it from there.
            values = (row_number(run_id, "r"), kind, subject, version, author, "[]", "", time.time(), number)
            numbers.append(connection.execute(_ADD, values).lastrowid or 0)
    return numbers


def finish_step(store: Store, run_id: str, step: StepRow, drafts: Collection[NewMessage]) -> list[int]:
    """Store that *step* is done, who read what, and what it publishes, all or none; the numbers of its messages."""
    with store.transaction() as connection:
        now = time.time()
        connection.executemany(
            # A role may read a message in several steps: the first time is kept.
            "insert OR IGNORE INTO reading (message_id, role, at) VALUES (?, ?, ?)",
            [(number, step.role, now) for number in step.read],
        )
        _note_step(connection, run_id, step)
        return _post(connection, run_id, step.role, drafts, step.read)


def note_step(store: Store, run_id: str, step: StepRow) -> None:
    """Store what became of *step*, in the place of what was known of it."""
    with store.transaction() as connection:
        _note_step(connection, run_id, step)


def messages_of(store: Store, run_id: str) -> tuple[MessageRow, ...]:
    """Return all messages of a run, in order."""
    with store.transaction() as connection:
        rows = connection.execute(_SELECT, (row_number(run_id, "r"),)).fetchall()
    return tuple(_message(row) for row in rows)


def run_of_message(store: Store, number: int) -> str:
    """Return the run that a message belongs to.

    Raises:
        NotFound: there is no such message.
    """
    with store.transaction() as connection:
        rows = connection.execute("SELECT run_id FROM message WHERE id = ?", (number,)).fetchall()
    if not rows:
        raise NotFound(f"There is no message m{number}.", "`rolecall log RUN` lists those of a run.")
    return f"r{rows[0][0]}"


def readings_of(store: Store, run_id: str) -> tuple[ReadingRow, ...]:
    """Return the readings of a run: who read which message, in the order of the messages."""
    statement = (
        "SELECT message_id, role, reading.at FROM reading JOIN message ON message.id = message_id WHERE run_id = ? "
        "ORDER BY message_id, reading.at"
    )
    with store.transaction() as connection:
        return tuple(ReadingRow(*row) for row in connection.execute(statement, (row_number(run_id, "r"),)).fetchall())


def steps_of(store: Store, run_id: str) -> dict[str, StepRow]:
    """Return the result of each step of a run, by its key."""
    statement = "SELECT key, role, subject, state, attempt, error, read FROM step WHERE run_id = ?"
    with store.transaction() as connection:
        rows = connection.execute(statement, (row_number(run_id, "r"),)).fetchall()
    return {str(row[0]): _step(row) for row in rows}


def copy_run(store: Store, run_id: str, new_run_id: str, left_out: Collection[int]) -> None:
    """Give *new_run_id* the messages of *run_id* but for *left_out*, who read them, and the steps that read no other.

    Versions stay what they were, so that the keys of those steps stay true.
    """
    numbers: dict[int, int] = {}
    documents: dict[str, int] = {}
    copied = [message for message in messages_of(store, run_id) if message.id not in left_out]
    readings, steps = readings_of(store, run_id), steps_of(store, run_id).values()
    with store.transaction() as connection:
        for message in copied:
            document = None
            if message.document_id:
                # Several messages may bring versions of one document: in the copy they bring those of one, too.
                document = documents.setdefault(message.document_id, _next_document(connection))
                _add_document(connection, new_run_id, document, message)
            # Messages come in order, so that what led to this one has its new number already.
            because = json.dumps([numbers[one] for one in message.because if one in numbers])
            body = "" if document else message.body
            about = (row_number(new_run_id, "r"), message.kind, message.subject, message.version)
            cursor = connection.execute(_ADD, (*about, message.sender, because, body, message.at_s, document))
            numbers[message.id] = cursor.lastrowid or 0
        connection.executemany(
            "insert OR IGNORE INTO reading (message_id, role, at) VALUES (?, ?, ?)",
            [(numbers[one.message_id], one.role, one.at_s) for one in readings if one.message_id in numbers],
        )
        for step in steps:
            if step.state == "done" and numbers.keys() >= set(step.read):
                read = tuple(numbers[number] for number in step.read)
                _note_step(connection, new_run_id, replace(step, read=read))


def is_trusted(store: Store, root: str, fingerprint: str) -> bool:
    """Return whether the developer confirmed the roles with this fingerprint for the workspace at *root*."""
    with store.transaction() as connection:
        found = connection.execute("SELECT 1 FROM trust WHERE root = ? AND fingerprint = ?", (root, fingerprint))
        return found.fetchone() is not None


def trust(store: Store, root: str, fingerprint: str) -> None:
    """Store that the developer confirmed them."""
    with store.transaction() as connection:
        connection.execute(
            "insert OR IGNORE INTO trust (root, fingerprint, at) VALUES (?, ?, ?)", (root, fingerprint, time.time())
        )


def _post(
    connection: sqlite3.Connection, run_id: str, sender: str, drafts: Collection[NewMessage], because: Collection[int]
) -> list[int]:
    """Store *drafts* as messages and return their numbers; one that says the same as its latest version adds no
    message.
    """
    known = {
        (one.kind, one.subject): one for one in map(_message, connection.execute(_SELECT, (row_number(run_id, "r"),)))
    }
    numbers: list[int] = []
    for draft in drafts:
        latest = known.get((draft.kind, draft.subject))
        if latest is not None and latest.body == draft.body:
            numbers.append(latest.id)
            continue
        version = latest.version + 1 if latest else 1
        led_to, now = tuple(sorted(because)), time.time()
        document = None
        if draft.is_document:
            document = row_number(latest.document_id, "d") if latest else _next_document(connection)
            message = MessageRow(0, draft.kind, draft.subject, version, sender, led_to, draft.body, now)
            _add_document(connection, run_id, document, message)
        body = "" if document else draft.body
        about = (row_number(run_id, "r"), draft.kind, draft.subject, version)
        cursor = connection.execute(_ADD, (*about, sender, json.dumps(led_to), body, now, document))
        numbers.append(cursor.lastrowid or 0)
    return numbers


def _next_document(connection: sqlite3.Connection) -> int:
    return connection.execute("SELECT COALESCE(MAX(id), 0) + 1 FROM document").fetchone()[0]


def _add_document(connection: sqlite3.Connection, run_id: str, number: int, message: MessageRow) -> None:
    because = json.dumps([f"m{one}" for one in message.because])
    values = (number, message.version, row_number(run_id, "r"), message.kind, message.sender, because, message.body)
    connection.execute(_ADD_DOCUMENT, (*values, message.at_s))


def _note_step(connection: sqlite3.Connection, run_id: str, step: StepRow) -> None:
    connection.execute(
        "insert OR REPLACE INTO step (run_id, key, role, subject, state, attempt, error, read) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            row_number(run_id, "r"),
            step.key,
            step.role,
            step.subject,
            step.state,
            step.attempt,
            step.error,
            json.dumps(step.read),
        ),
    )


def _message(row: tuple[int, str, str, int, str, str, str, float, int | None]) -> MessageRow:
    number, kind, subject, version, sender, because, body, at_s, document = row
    document_id = f"d{document}" if document else ""
    return MessageRow(number, kind, subject, version, sender, tuple(json.loads(because)), body, at_s, document_id)


def _step(row: tuple[str, str, str, str, int, str, str]) -> StepRow:
    key, role, subject, state, attempt, error, read = row
    return StepRow(key, role, subject, state, attempt, error, tuple(json.loads(read)))
