"""Recorded replies without the lines that they quote of a library: taken out to publish them, put back to replay."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from rolecall_server.model.recordings.recording import Exchange

_LEAST_CHARACTERS = 20
"""A run of lines with fewer, such as a lone ``else:``, is nobody's in particular."""
_TEXT = (".py", ".pyi", ".rst", ".md", ".txt")
_MARK = re.compile(r"^⟪(.+):(\d+)-(\d+)⟫$")

Lines = Mapping[str, Sequence[str]]
"""The lines of each file of a library, by its path."""


def read_lines(root: Path) -> Lines:
    """The lines of all text files below *root*."""
    files = (
        path for path in sorted(root.rglob("*")) if path.is_file() and path.suffix in (".py", ".rst", ".md", ".txt")
    )
    return {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8").split("\n") for path in files}


def without_quotes(exchanges: Iterable[Exchange], library: Lines) -> list[Exchange]:
    """*exchanges* where each run of the library's lines in what the model said is a mark that says where it stands."""
    places: dict[str, list[tuple[str, int]]] = {}
    for path, lines in library.items():
        for number, line in enumerate(lines):
            places.setdefault(line, []).append((path, number))
    return [_changed(one, lambda text: "\n".join(_marked(text.split("\n"), library, places))) for one in exchanges]


def with_quotes(exchanges: Iterable[Exchange], library: Lines) -> list[Exchange]:
    """What `without_quotes` was given."""
    return [_changed(one, lambda text: "\n".join(_unmarked(text.split("\n"), library))) for one in exchanges]


def _changed(exchange: Exchange, change: Callable[[str], str]) -> Exchange:
    said = (replace(one, text=change(one.text)) if one.role == "assistant" else one for one in exchange.messages)
    return replace(exchange, messages=tuple(said), reply=replace(exchange.reply, text=change(exchange.reply.text)))


def _marked(said: Sequence[str], library: Lines, places: Mapping[str, Sequence[tuple[str, int]]]) -> Iterator[str]:
    at = 0
    while at < len(said):
        # What looks like a mark would be replaced when the quotes are put back.
        assert not _MARK.match(said[at]), said[at]
        runs = ((_common(said[at:], library[path][first:]), path, first) for path, first in places.get(said[at], ()))
        n, path, first = max(runs, key=lambda run: run[0], default=(0, "", 0))
        if sum(len(line.strip()) for line in said[at : at + n]) >= _LEAST_CHARACTERS:
            yield f"⟪{path}:{first + 1}-{first + n}⟫"
            at += n
        else:
            yield said[at]
            at += 1


def _common(said: Sequence[str], there: Sequence[str]) -> int:
    """How many lines are the same from the first on."""
    pairs = enumerate(zip(said, there, strict=False))
    return next((n for n, (one, other) in pairs if one != other), min(len(said), len(there)))


def _unmarked(said: Iterable[str], library: Lines) -> Iterator[str]:
    for line in said:
        if mark := _MARK.match(line):
            yield from library[mark[1]][int(mark[2]) - 1 : int(mark[3])]
        else:
            yield line
