"""The documents of runs, in every version: the part of the store that `team.documents` uses."""

from __future__ import annotations

import json
import time
from collections.abc import Collection
from pathlib import Path

from rolecall_server.errors import NotFound
from rolecall_server.store.database import Store, row_number
from rolecall_server.store.rows import DocumentRow

_ADD_DOCUMENT = """
insert INTO document (id, version, run_id, kind, author, because, body, at)
SELECT COALESCE(MAX(id), 0) + 1, 1, :run, :kind, :author, :because, :body, :at FROM document RETURNING id
"""

_ADD_VERSION = """
insert INTO document (id, version, run_id, kind, author, because, body, at)
SELECT id, MAX(version) + 1, run_id, kind, :author, :because, :body, :at FROM document
WHERE id = :id GROUP BY id RETURNING version
"""

_IS_LATEST = "version = (SELECT MAX(version) FROM document AS other WHERE other.id = document.id)"


def add_document(store: Store, run_id: str, kind: str, body: str, *, author: str, because: Collection[str] = ()) -> str:
    """Add a document to a run, in its first version, and return its id, such as ``d4``."""
    values = {"run": row_number(run_id, "r"), "kind": kind, **_provenance(author, because, body)}
    with store.transaction() as connection:
        return f"d{connection.execute(_ADD_DOCUMENT, values).fetchone()[0]}"


def add_version(store: Store, document_id: str, body: str, *, author: str, because: Collection[str] = ()) -> int:
    """Add a version to a document, whose earlier versions stay, and return its number.

    Raises:
        NotFound: there is none of that id.
    """
    values = {"id": row_number(document_id, "d"), **_provenance(author, because, body)}
    with store.transaction() as connection:
        row = connection.execute(_ADD_VERSION, values).fetchone()
    if row is None:
        raise NotFound(f"There is no document {document_id}.")
    return row[0]


def load_versions(store: Store, document_id: str) -> tuple[DocumentRow, ...]:
    """Return every version of a document, the first one first.

    Raises:
        NotFound: there is none of that id.
    """
    rows = _documents(store, "document.id = ?", row_number(document_id, "d"))
    if not rows:
        raise NotFound(f"There is no document {document_id}.")
    return rows


def load_latest(store: Store, root: Path) -> tuple[DocumentRow, ...]:
    """Return the latest version of every document of the runs in the workspace at *root*, oldest document first."""
    return _documents(store, f"root = ? AND {_IS_LATEST}", str(root))


def load_latest_of(store: Store, run_id: str) -> tuple[DocumentRow, ...]:
    """Return the latest version of every document of a run, oldest document first."""
    return _documents(store, f"run_id = ? AND {_IS_LATEST}", row_number(run_id, "r"))


def _documents(store: Store, condition: str, value: object) -> tuple[DocumentRow, ...]:
    columns = "document.id, version, run_id, kind, author, because, body, at"
    rows = store.select(
        f"SELECT {columns} FROM document JOIN run ON run.id = run_id "  # noqa: S608 - ours
        f"WHERE {condition} ORDER BY document.id, version",
        value,
    )
    return tuple(
        DocumentRow(f"d{number}", version, f"r{run}", kind, author, tuple(json.loads(because)), body, at_s)
        for number, version, run, kind, author, because, body, at_s in rows
    )


def _provenance(author: str, because: Collection[str], body: str) -> dict[str, object]:
    return {"author": author, "because": json.dumps([*because]), "body": body, "at": time.time()}
