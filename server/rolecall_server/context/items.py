"""The pieces of a repository that a model may be shown, at three zoom levels: a file, a body, signatures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from rolecall_analysis import Definition, SelectedTests, Snapshot, definitions_in, select_tests
from rolecall_analysis.retrieval import Corpus
from rolecall_server.errors import FileRefused
from rolecall_server.workspace import Workspace, read_text_file, split_lines, why_private

Zoom = Literal["file", "parts", "body", "signature", "diff", "notes"]
"""A file, parts of it, lines of it, what it defines; what was changed in it; what is said of it."""

NO_ROOM = "there was no room for it"


@dataclass(frozen=True)
class ContextItem:
    """One piece of the repository that a model is shown."""

    path: str
    reason: str
    zoom: Zoom
    text: str
    first_line: int
    """From 1; where *text* starts in the file."""
    tokens: int
    runs: tuple[tuple[int, int], ...] = ()
    """Of a file in parts, the runs of lines that are shown."""

    @property
    def last_line(self) -> int:
        """From 1; of lines of the file themselves."""
        return self.first_line + len(split_lines(self.text)) - 1

    @property
    def lines(self) -> tuple[tuple[int, int], ...]:
        """The runs of lines of the file that are shown as they are, from 1; none of a signature, a diff or notes."""
        return ((self.first_line, self.last_line),) if self.zoom in ("file", "body") else self.runs


@dataclass(frozen=True)
class LeftOut:
    """An item that a model is not shown, though it would be of use."""

    path: str
    reason: str
    """Why it would have been shown."""
    zoom: Zoom
    first_line: int
    tokens: int
    """0 where it was not read."""
    why: str = NO_ROOM
    """Why it is not: there was no room, it is kept from models, it cannot be read."""


SelectTests = Callable[[Snapshot, Sequence[Definition]], Sequence[SelectedTests]]


@dataclass(frozen=True)
class PackSource:
    """The sources from which the pack is taken."""

    workspace: Workspace
    snapshot: Snapshot
    count_tokens: Callable[[str], int]
    corpus: Corpus | None = None
    """The words of the files, where somebody keeps them; made anew otherwise."""
    select_tests: SelectTests = select_tests
    """Selects the test files that definitions may make fail; it may know what tests ran before, too."""


def check_shown(view: PackSource, path: str) -> None:
    """Nothing, if a model may be shown *path*.

    Raises:
        FileRefused: the repository keeps it from models.
    """
    if (private := why_private(view.workspace, path)) is not None:
        raise FileRefused(private, "Choose a file that models may see.")


def whole_file(view: PackSource, path: str, reason: str) -> ContextItem:
    """Return all of *path*.

    Raises:
        FileRefused: it cannot be read.
    """
    text = read_text_file(view.workspace, path).text
    return ContextItem(path, reason, "file", text, 1, view.count_tokens(text))


def beginning(view: PackSource, path: str, reason: str, budget_tokens: int) -> ContextItem:
    """As many lines from the top of *path* as fit.

    Raises:
        FileRefused: it cannot be read.
    """
    lines = split_lines(read_text_file(view.workspace, path).text)
    kept, tokens = 0, 0
    while kept < len(lines) and tokens < budget_tokens:
        tokens += view.count_tokens(lines[kept])
        kept += 1
    said = reason if kept == len(lines) else f"{reason}: the first {kept} of {len(lines)} lines"
    return ContextItem(path, said, "file" if kept == len(lines) else "body", "".join(lines[:kept]), 1, tokens)


def body(view: PackSource, definition: Definition, reason: str) -> ContextItem:
    """Return the lines of *definition*.

    Raises:
        FileRefused: its file cannot be read.
    """
    return lines_of(view, definition.path, definition.span.start.line, definition.span.end.line, reason)


def lines_of(view: PackSource, path: str, first: int, last: int, reason: str) -> ContextItem:
    """Return the lines from *first* to *last*, both from 0, as far as *path* has them.

    Raises:
        FileRefused: it cannot be read.
    """
    start = max(0, first)
    text = "".join(split_lines(read_text_file(view.workspace, path).text)[start : last + 1])
    return ContextItem(path, reason, "body", text, start + 1, view.count_tokens(text))


def lines_around(view: PackSource, path: str, line: int, n_lines: int, reason: str) -> Iterator[ContextItem]:
    """Yield *n_lines* on either side of *line*, which is from 0; nothing where *path* cannot be read."""
    try:
        yield lines_of(view, path, line - n_lines, line + n_lines, reason)
    except FileRefused:
        return


def outline(view: PackSource, path: str, reason: str) -> Iterator[ContextItem]:
    """Yield the signatures of everything that *path* defines; yield nothing where it defines nothing."""
    lines = [
        "    " * definition.qualified_name.count(".") + definition.signature
        for definition in definitions_in(view.snapshot, path)
        if definition.kind != "variable"
    ]
    if lines:
        text = "\n".join(lines)
        yield ContextItem(path, reason, "signature", text, 1, view.count_tokens(text))


def signatures(view: PackSource, definition: Definition) -> Iterator[str]:
    """Yield the signature of *definition* and the first line of its docstring; of a class, those of its methods too."""
    indent = "    " * definition.qualified_name.count(".")
    yield indent + definition.signature
    if definition.docstring:
        yield f'{indent}    """{definition.docstring.strip().splitlines()[0]}"""'
    if definition.kind == "class":
        for member in definitions_in(view.snapshot, definition.path):
            if member.scope == definition.qualified_name and member.kind == "method":
                yield from signatures(view, member)
