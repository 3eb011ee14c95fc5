"""The text of open documents, kept equal to the editor's.

pygls keeps one too, but splits lines at form feeds and Unicode separators, where editors do not.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from urllib.parse import urlsplit

from lsprotocol import types
from pygls import uris

from rolecall_server.errors import FileRefused
from rolecall_server.lsp.text.positions import Encoding, place_at
from rolecall_server.workspace import resolve, split_lines

logger = logging.getLogger(__name__)

_THIS_MACHINE = re.compile(r"file://localhost(?=/)", re.IGNORECASE)
_BRIEF_COMMENT = re.compile(r"(?:#|//|--|/\*|<!--)\s*+ROLECALL:(.*)")


@dataclass(frozen=True)
class OpenDocument:
    """One open document as the editor last told it."""

    uri: str
    language_id: str
    version: int
    text: str

    @cached_property
    def location(self) -> Path | None:
        """The file it is the text of, with links resolved; ``None`` where there can be none."""
        try:
            return file_path(self.uri)
        except FileRefused:
            return None


def changed(
    document: OpenDocument, version: int, changes: Iterable[types.TextDocumentContentChangeEvent], encoding: Encoding
) -> OpenDocument:
    """Return *document* after *changes*, each applied to the result of the one before, be it a whole text or
    a range.
    """
    lines = split_lines(document.text)
    for change in changes:
        if isinstance(change, types.TextDocumentContentChangePartial):
            _replace(lines, change, encoding)
        else:
            lines = split_lines(change.text)
    return replace(document, version=version, text="".join(lines))


def _replace(lines: list[str], change: types.TextDocumentContentChangePartial, encoding: Encoding) -> None:
    """Put *change* into *lines*. Only the lines it touches are split again: editors send thousands of changes at once.

    The line before them is split along, because a carriage return and a line feed that meet become one ending.
    """
    start = place_at(lines, change.range.start, encoding)
    # A range that ends before it begins counts as empty.
    end = max(start, place_at(lines, change.range.end, encoding))
    first, last = max(0, start[0] - 1), end[0] + 1
    before = "".join(lines[first : start[0]]) + "".join(lines[start[0] : start[0] + 1])[: start[1]]
    after = "".join(lines[end[0] : last])[end[1] :]
    lines[first:last] = split_lines(before + change.text + after)


def file_path(uri: str) -> Path:
    """Return the path of a ``file:`` URI, with links resolved.

    Raises:
        FileRefused: it is of another kind or another machine, or names nothing that could be a file.
    """
    if not uri.startswith("file:"):
        raise FileRefused(f"{uri.partition(':')[0]!r} is no file on this machine.", "Save it to a file first.")
    try:
        here = _THIS_MACHINE.sub("file://", uri)
        if urlsplit(here).netloc and os.name != "nt":  # only Windows has paths that begin with the name of a machine
            raise FileRefused(f"{uri!r} is on another machine.", "Open it where it is on this machine.")
        path = Path(uris.to_fs_path(here) or "")
        if not path.is_absolute():
            raise ValueError
        return resolve(path)
    except ValueError:
        raise FileRefused(f"{uri!r} names no file.", "Check how the editor writes its addresses.") from None


def folder_paths(folders: Iterable[str]) -> list[Path]:
    """Return the paths of those of *folders*, given as URIs, that are on this machine; what is wrong with a ``file:``
    URI that names none is logged.
    """
    paths: list[Path] = []
    for uri in folders:
        try:
            paths.append(file_path(uri))
        except FileRefused as error:
            logger.log(
                logging.WARNING if uri.startswith("file:") else logging.INFO, "A folder is not opened: %s", error
            )
    return paths


def brief_comment(text: str, first: int, last: int) -> str:
    """Return the brief in a ``ROLECALL:`` comment on the lines from *first* to *last*; empty where there is none."""
    for line in split_lines(text)[first : last + 1]:
        if match := _BRIEF_COMMENT.search(line):
            return match[1].strip().removesuffix("*/").removesuffix("-->").strip()
    return ""
