"""The names of the files of the team's documents, which say which document each is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from rolecall_server.errors import FileRefused
from rolecall_server.lsp.session import Session
from rolecall_server.lsp.text.documents import file_path

if TYPE_CHECKING:  # each message asks for a name, and few sessions have a document
    from rolecall_server.team.documents import Document

_NAME = re.compile(r"(d\d+)-[a-z-]+\.md")


def is_page(session: Session, uri: str) -> bool:
    """Return whether *uri* is a document of the team."""
    return document_id_at(session, uri) is not None


def document_id_at(session: Session, uri: str) -> str | None:
    """Return the id of the document at *uri*, by the name of its file."""
    match = _NAME.fullmatch(uri.rpartition("/")[2])
    try:
        return match[1] if match and file_path(uri).parent == session.pages else None
    except FileRefused:
        return None


def page_path(session: Session, document: Document) -> Path:
    """Return the file of *document*."""
    return session.pages / f"{document.id}-{document.kind.replace(' ', '-')}.md"
