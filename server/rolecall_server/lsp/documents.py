"""The text of open documents, kept equal to the editor's.

pygls keeps one too, but splits lines at form feeds and Unicode separators, where editors do not.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from lsprotocol import types

from rolecall_server.lsp.positions import Encoding, offset_at


@dataclass(frozen=True)
class Document:
    """One open document as the editor last told it."""

    uri: str
    language_id: str
    version: int
    text: str


def changed(
    document: Document, version: int, changes: Iterable[types.TextDocumentContentChangeEvent], encoding: Encoding
) -> Document:
    """*document* after *changes*, each on the result of the one before; whole texts and ranges both."""
    text = document.text
    for change in changes:
        if isinstance(change, types.TextDocumentContentChangePartial):
            start = offset_at(text, change.range.start, encoding)
            end = offset_at(text, change.range.end, encoding)
            text = text[:start] + change.text + text[max(start, end) :]
        else:
            text = change.text
    return replace(document, version=version, text=text)
