"""Documents in the store: every version is kept, and the latest one counts."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime
from pathlib import Path

from rolecall_server.errors import NotFound
from rolecall_server.store import DocumentRow, Store
from rolecall_server.store import documents as stored
from rolecall_server.team.documents.document import CONTENTS, Content, Document, Kind, kind_of

DEVELOPER = "developer"
"""The author of what the developer writes."""


def publish(store: Store, run_id: str, author: str, content: Content, because: Collection[str] = ()) -> Document:
    """Store *content* as a new document of a run; the document, in its first version."""
    kind = kind_of(content)
    document_id = stored.add_document(store, run_id, kind, content.model_dump_json(), author=author, because=because)
    return load_document(store, document_id)


def revise(store: Store, document_id: str, author: str, content: Content, because: Collection[str] = ()) -> Document:
    """Store *content* as the next version of a document, unless it says what the latest one says; the latest then.

    Raises:
        NotFound: there is no such document.
        ValueError: it is of another kind.
    """
    latest = load_document(store, document_id)
    if kind_of(content) is not latest.kind:
        raise ValueError(f"{document_id} is of the kind {latest.kind}, not {kind_of(content)}")
    if content == latest.content:
        return latest
    stored.add_version(store, document_id, content.model_dump_json(), author=author, because=because)
    return load_document(store, document_id)


def load_document(store: Store, document_id: str, version: int | None = None) -> Document:
    """Return a document in that version, or in the latest one.

    Raises:
        NotFound: there is none.
    """
    rows = [row for row in stored.load_versions(store, document_id) if version in (None, row.version)]
    if not rows:
        raise NotFound(f"{document_id} has no version {version}.")
    return _document(rows[-1])


def run_of(store: Store, document_id: str) -> str:
    """Return the run that a document belongs to.

    Raises:
        NotFound: there is no such document.
    """
    return stored.load_versions(store, document_id)[0].run_id


def versions_of(store: Store, document_id: str) -> tuple[Document, ...]:
    """Return every version of a document, the first one first.

    Raises:
        NotFound: there is no such document.
    """
    return tuple(map(_document, stored.load_versions(store, document_id)))


def documents_of(store: Store, run_id: str) -> tuple[Document, ...]:
    """Return the documents of a run in their latest versions, oldest document first."""
    return tuple(map(_document, stored.load_latest_of(store, run_id)))


def documents_in(store: Store, root: Path) -> dict[str, tuple[Document, ...]]:
    """As `documents_of`, for every run of the workspace at *root* that has any, by its id."""
    by_run: dict[str, list[Document]] = {}
    for row in stored.load_latest(store, root):
        by_run.setdefault(row.run_id, []).append(_document(row))
    return {run_id: tuple(documents) for run_id, documents in by_run.items()}


def _document(row: DocumentRow) -> Document:
    return Document(
        id=row.id,
        kind=Kind(row.kind),
        version=row.version,
        author=row.author,
        because=row.because,
        created_at=datetime.fromtimestamp(row.at_s, UTC),
        content=CONTENTS[Kind(row.kind)].model_validate_json(row.body),
    )
