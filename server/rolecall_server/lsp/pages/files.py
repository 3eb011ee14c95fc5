"""Documents of the team as files beside the store: an editor reads and edits them as it does any Markdown."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rolecall_server.errors import NotFound
from rolecall_server.lsp.pages.names import document_id_at, is_page, page_path
from rolecall_server.lsp.session import Folder, Session
from rolecall_server.review.proposals.proposal_store import Reviewed, load_run
from rolecall_server.team.documents import Document, parse, render
from rolecall_server.team.documents.document_store import documents_of, load_document, run_of
from rolecall_server.team.documents.links.linking import Linked, linked
from rolecall_server.team.documents.links.pages import Page


@dataclass(frozen=True)
class OpenRun:
    """A run as the developer sees it from one of its documents."""

    id: str
    folder: Folder | None
    """The workspace it is for; ``None`` where that is not open."""
    page: Page
    """The document that is looked at."""
    pages: tuple[Page, ...]
    """All of the run, that one included."""
    reviewed: tuple[Reviewed, ...]
    """Its proposals."""

    @property
    def linked(self) -> Linked:
        """Its documents and hunks as what they say of each other."""
        return linked((page.document for page in self.pages), self.reviewed)


def open_run(session: Session, uri: str) -> OpenRun | None:
    """Return the run of the document at *uri*; ``None`` where there is none of that id, or *uri* is something else."""
    document_id = document_id_at(session, uri)
    if document_id is None:
        return None
    try:
        run_id = run_of(session.store, document_id)
    except NotFound:
        return None
    pages = tuple(_page(session, document) for document in documents_of(session.store, run_id))
    page = next(page for page in pages if page.document.id == document_id)
    return OpenRun(run_id, folder_of(session, run_id), page, pages, load_run(session.store, run_id))


def folder_of(session: Session, run_id: str) -> Folder | None:
    """Return the open folder that a run was made in."""
    for folder in session.folders.values():
        if any(run.id == run_id for run in session.store.runs(folder.root)):
            return folder
    return None


def read_page(session: Session, path: Path) -> str | None:
    """Return the text of a page in the editor, else in its file; ``None`` where there is none."""
    for uri, document in session.documents.items():
        # Not compared as a whole: an editor may spell the folder otherwise.
        if uri.endswith(path.name) and is_page(session, uri):
            return document.text
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except OSError:
        return None


def write_pages(session: Session, run_id: str) -> dict[str, Path]:
    """Write the files of a run's documents, except those that the developer has edited; return all of them by document
    id.
    """
    session.pages.mkdir(mode=0o700, exist_ok=True)
    paths: dict[str, Path] = {}
    for document in documents_of(session.store, run_id):
        path = paths[document.id] = page_path(session, document)
        written = read_page(session, path)
        if written is None or _is_untouched(session, document, written):
            path.write_text(render(document), encoding="utf-8", newline="")
    return paths


def _is_untouched(session: Session, document: Document, text: str) -> bool:
    """Return whether *text* says the same as a stored version of *document*, so that none of the developer's words are
    lost with it.
    """
    written, problems = parse(document.kind, text, document)
    if written is None or problems:
        return False
    try:
        return load_document(session.store, document.id, written.version).content == written.content
    except NotFound:
        return False


def _page(session: Session, stored: Document) -> Page:
    """Return *stored* with the text that the developer sees, and with the content of that text where it can
    be parsed.
    """
    text = read_page(session, page_path(session, stored))
    if text is None:
        return Page(stored, render(stored))
    now, _ = parse(stored.kind, text, stored)
    return Page(stored if now is None else stored.model_copy(update={"content": now.content}), text)
