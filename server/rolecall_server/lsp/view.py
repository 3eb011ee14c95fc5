"""One folder as the editor sees it at one moment: its graph, the texts of its open documents, how positions count."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lsprotocol import types

from rolecall_analysis import Definition, Position, Snapshot, Span
from rolecall_analysis.queries import Destination, definitions_at
from rolecall_server.lsp.documents import Document
from rolecall_server.lsp.positions import Encoding, n_units, place_at
from rolecall_server.lsp.session import Folder, Session, uri_of
from rolecall_server.settings import NavigationSettings
from rolecall_server.workspace import Workspace, read_text_or_none, split_lines


@dataclass(frozen=True)
class View:
    """What a question about code is asked of. It belongs to the one thread that asks."""

    root: Path
    snapshot: Snapshot
    settings: NavigationSettings
    encoding: Encoding
    documents: Mapping[str, Document]
    """The open ones, by path."""
    _texts: dict[str, str] = field(default_factory=dict[str, str])
    _lines: dict[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])

    def uri(self, path: str) -> str:
        """The URI of *path*, in the editor's own spelling where the file is open."""
        document = self.documents.get(path)
        return document.uri if document else uri_of(self.root, path)

    def place(self, path: str, position: types.Position) -> Position:
        """Where the editor's *position* lies in *path*; past the end of a line, or of the text, it is that end."""
        return Position(*place_at(self.lines(path), position, self.encoding))

    def range(self, path: str, span: Span) -> types.Range:
        """*span* of *path* as the editor counts it."""
        return types.Range(self._position(path, span.start), self._position(path, span.end))

    def ranges_of(self, definition: Definition) -> tuple[types.Range, types.Range]:
        """The whole of *definition*, and its name within: editors refuse a name that sticks out."""
        whole, name = definition.span, definition.name_span
        whole = Span(min(whole.start, name.start), max(whole.end, name.end))
        return self.range(definition.path, whole), self.range(definition.path, name)

    def destinations(self, path: str, position: types.Position) -> list[Destination]:
        """What the name at the editor's *position* leads to: what is certain first, the rest as the settings say."""
        found = definitions_at(self.snapshot, path, self.place(path, position))
        wanted = [destination for destination in found if destination.certain or self.settings.possible]
        return sorted(wanted, key=lambda destination: not destination.certain)

    def lines(self, path: str) -> Sequence[str]:
        """The lines of *path*; none where its text cannot be read."""
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
    """*folder* as it is now, with *snapshot* for its graph."""
    placed = ((session.path_in(folder, document.uri), document) for document in session.documents.values())
    documents = {path: document for path, document in placed if path is not None}
    return View(folder.root, snapshot, session.settings.navigation, session.client.encoding, documents)
