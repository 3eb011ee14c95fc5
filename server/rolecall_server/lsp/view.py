"""One folder as the editor sees it at one moment: its graph, the texts of its open documents, how positions count.

Questions about it are guarded on the event loop, answered by a thread, and given up when the editor cancels them.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from lsprotocol import types

from rolecall_analysis import Definition, Position, Snapshot, Span
from rolecall_analysis.languages import language_of
from rolecall_analysis.queries import Destination, definitions_at
from rolecall_server.errors import FileRefused
from rolecall_server.lsp.folders import begin_scan, latest_snapshot
from rolecall_server.lsp.server import RolecallServer
from rolecall_server.lsp.session import Folder, Session, uri_of
from rolecall_server.lsp.text.documents import OpenDocument
from rolecall_server.lsp.text.positions import Encoding, n_units, place_at
from rolecall_server.settings import NavigationSettings
from rolecall_server.workspace import Workspace, read_text_or_none, split_lines


@dataclass(frozen=True)
class View:
    """The state of the code that answers a question about it. It belongs to the one thread that asks."""

    root: Path
    snapshot: Snapshot
    settings: NavigationSettings
    encoding: Encoding
    documents: Mapping[str, OpenDocument]
    """The open ones, by path."""
    _texts: dict[str, str] = field(default_factory=dict[str, str])
    _lines: dict[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])

    def uri(self, path: str) -> str:
        """Return the URI of *path*, in the editor's own spelling where the file is open."""
        document = self.documents.get(path)
        return document.uri if document else uri_of(self.root, path)

    def place(self, path: str, position: types.Position) -> Position:
        """Return the place of the editor's *position* in *path*; past the end of a line, or of the text, it is that
        end.
        """
        return Position(*place_at(self.lines(path), position, self.encoding))

    def range(self, path: str, span: Span) -> types.Range:
        """Return *span* of *path* as the editor counts it."""
        return types.Range(self._position(path, span.start), self._position(path, span.end))

    def ranges_of(self, definition: Definition) -> tuple[types.Range, types.Range]:
        """Return the range of *definition*, and that of its name inside the first: editors refuse a name that is not
        inside.
        """
        whole, name = definition.span, definition.name_span
        whole = Span(min(whole.start, name.start), max(whole.end, name.end))
        return self.range(definition.path, whole), self.range(definition.path, name)

    def destinations(self, path: str, position: types.Position) -> list[Destination]:
        """Return the destinations of the name at the editor's *position*: what is certain first, the rest as the
        settings say.
        """
        found = definitions_at(self.snapshot, path, self.place(path, position))
        wanted = [destination for destination in found if destination.certain or self.settings.possible]
        return sorted(wanted, key=lambda destination: not destination.certain)

    def lines(self, path: str) -> Sequence[str]:
        """Return the lines of *path*; none where its text cannot be read."""
        if path not in self._lines:
            self._lines[path] = split_lines(self._text(path))
        return self._lines[path]

    def _text(self, path: str) -> str:
        if path not in self._texts:
            document = self.documents.get(path)
            self._texts[path] = (document.text if document else read_text_or_none(Workspace(self.root), path)) or ""
        return self._texts[path]

    def _position(self, path: str, position: Position) -> types.Position:
        if self.encoding == Encoding.Utf32 or self._text(path).isascii():
            return types.Position(position.line, position.column)
        lines = self.lines(path)
        line = lines[position.line] if position.line < len(lines) else ""
        return types.Position(position.line, n_units(line[: position.column], self.encoding))


def take_view(session: Session, folder: Folder, snapshot: Snapshot) -> View:
    """Return *folder* as it is now, with *snapshot* for its graph."""
    placed = ((session.path_in(folder, document.uri), document) for document in session.documents.values())
    documents = {path: document for path, document in placed if path is not None}
    return View(folder.root, snapshot, session.settings.navigation, session.client.encoding, documents)


_PATIENCE_S = 2.0
"""The time after a folder was opened for which a question waits for its first scan."""

Answer = TypeVar("Answer")


async def ask(ls: RolecallServer, folder: Folder, question: Callable[[View], Answer]) -> Answer:
    """Return the answer to *question* from what is known of *folder* now."""
    view = take_view(ls.session, folder, await latest_snapshot(ls.session, folder))
    return await asyncio.get_running_loop().run_in_executor(ls.thread_pool, question, view)


async def ask_when_read(ls: RolecallServer, folder: Folder, question: Callable[[View], Answer]) -> Answer:
    """As `ask`, for what other files answer: the first scan of a small folder is worth a moment, a long one is not."""
    begin_scan(ls.session, folder)
    patience_s = folder.opened_at_s + _PATIENCE_S - time.monotonic()
    if not folder.graph.ready.done() and patience_s > 0:
        await asyncio.wait([folder.graph.ready], timeout=patience_s)
    return await ask(ls, folder, question)


def known_place(ls: RolecallServer, uri: str) -> tuple[Folder, str] | None:
    """Return the folder and the path of *uri*; None where it is outside, or in a language that is not asked for."""
    try:
        folder, path = ls.session.place(uri)
    except FileRefused:
        return None
    document = ls.session.documents.get(uri)
    language_id = document.language_id if document else None
    return (folder, path) if is_wanted(ls.session.settings.navigation, path, language_id) else None


def is_wanted(settings: NavigationSettings, path: str, language_id: str | None = None) -> bool:
    """Return whether the graph reads *path* and the settings ask for its language, either by our name for it or by the
    editor's.
    """
    language = language_of(path)
    return language is not None and (
        not settings.languages or not {language, language_id}.isdisjoint(settings.languages)
    )
