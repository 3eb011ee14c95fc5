"""The things that the developer has at hand while they ask: uncommitted changes, open files, a selection, complaints of
tools.

It changes from one minute to the next, so it stands after everything that does not.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rolecall_analysis import is_test
from rolecall_analysis.retrieval.history.committed import committed_text
from rolecall_server.context.items import ContextItem, PackSource, lines_of, outline
from rolecall_server.errors import FileRefused
from rolecall_server.workspace import BOM, read_text_or_none, split_lines

_MAX_OPEN_FILES = 6
_MAX_COMPLAINTS = 20
_MAX_COMPLAINT_CHARACTERS = 300


@dataclass(frozen=True)
class EditorDiagnostic:
    """A message of a tool in the editor about a line."""

    line: int
    """From 1."""
    message: str
    source: str = ""
    """The tool."""


@dataclass(frozen=True)
class AtHand:
    """The selection and the complaints that the editor shows in the file in focus as the developer asks."""

    selection: tuple[int, int] | None = None
    """The first and the last line, from 1; ``None`` where nothing is selected."""
    complaints: tuple[EditorDiagnostic, ...] = ()


def at_hand(view: PackSource, path: str, hand: AtHand, others: Sequence[str] = ()) -> Iterator[ContextItem]:
    """Yield the items that concern the work on *path*: open files, uncommitted changes of it and of *others*,
    complaints, selection.

    Without a path, there are only the open files and what was changed in them.
    """
    open_paths = [each for each in view.workspace.buffers if each != path and each not in others]
    shown = [each for each in open_paths if not is_test(view.snapshot, each)][:_MAX_OPEN_FILES]
    for each in shown:
        yield from outline(view, each, "open in the editor")
    for each in [*([path] if path else []), *others, *shown]:
        yield from _uncommitted(view, each)
    if path:
        yield from _complaints(view, path, hand.complaints)
        yield from _selection(view, path, hand.selection)


def _uncommitted(view: PackSource, path: str) -> Iterator[ContextItem]:
    """Yield the changes of *path* since the last commit, as a unified diff; nothing for a file that is new."""
    before = committed_text(view.workspace.root, path)
    after = read_text_or_none(view.workspace, path)
    # What git has is not UTF-8 then, and nearly every line would seem to differ.
    if before is None or after is None or "\ufffd" in before:
        return
    # Without the first two lines, which name files.
    diff = list(difflib.unified_diff(_lines(before.removeprefix(BOM)), _lines(after), lineterm="", n=1))[2:]
    if diff:
        text = "\n".join(diff) + "\n"
        yield ContextItem(path, "changed since the last commit", "diff", text, 1, view.count_tokens(text))


def _lines(text: str) -> list[str]:
    return [line.rstrip("\r\n") for line in split_lines(text)]


def _complaints(view: PackSource, path: str, complaints: Sequence[EditorDiagnostic]) -> Iterator[ContextItem]:
    lines = [
        f"line {one.line}: {' '.join(one.message.split())[:_MAX_COMPLAINT_CHARACTERS]}"
        + (f" ({one.source})" if one.source else "")
        for one in complaints[:_MAX_COMPLAINTS]
    ]
    if lines:
        text = "\n".join(lines) + "\n"
        yield ContextItem(path, "what the editor's tools say of it", "notes", text, 1, view.count_tokens(text))


def _selection(view: PackSource, path: str, selection: tuple[int, int] | None) -> Iterator[ContextItem]:
    if selection is None:
        return
    try:
        yield lines_of(view, path, selection[0] - 1, selection[1] - 1, "what the developer selected")
    except FileRefused:
        return
