"""The files and functions that a brief is most likely about, where the developer named no file."""

from __future__ import annotations

from collections.abc import Iterator

from rolecall_analysis import find_definition
from rolecall_analysis.retrieval import Corpus, Query, Ranked, rank
from rolecall_server.context.items import ContextItem, LeftOut, PackSource, body, check_shown, outline, whole_file
from rolecall_server.errors import FileRefused

_MAX_WHOLE_FILES = 4
_MAX_FILES = 40
_MAX_FUNCTIONS = 60
_LARGEST_SHARE = 0.25
"""Of the room: one file or function that takes more would crowd out the next three."""
_SHARE_OF_TEXT = 0.8
"""Of the room, for files and functions; what is left names the files that may be meant as well."""


def found(view: PackSource, brief: str, room_tokens: int) -> Iterator[ContextItem | LeftOut]:
    """Yield the files and functions *brief* is most likely about, the likeliest first, then what other files define.

    A short file among the best is shown whole; of longer ones the functions that the brief is about. Tests are
    left out.
    """
    corpus = view.corpus or Corpus(view.workspace.root)
    files = rank(corpus, view.snapshot, Query(brief, limit=_MAX_FILES))
    left = int(room_tokens * _SHARE_OF_TEXT)
    most = int(room_tokens * _LARGEST_SHARE)
    whole: set[str] = set()
    readable: list[str] = []
    for one in files:
        item = _file(view, one)
        if isinstance(item, LeftOut):
            yield item
            continue
        if not item.text:
            continue
        readable.append(item.path)
        if len(readable) <= _MAX_WHOLE_FILES and item.tokens <= min(most, left):
            whole.add(item.path)
            left -= item.tokens
            yield item
    for one in rank(corpus, view.snapshot, Query(brief, level="function", limit=_MAX_FUNCTIONS)):
        definition = find_definition(view.snapshot, one.path, one.name)
        if one.path in whole or one.path not in readable or definition is None:
            continue
        item = body(view, definition, _why(one))
        if item.tokens <= min(most, left):
            left -= item.tokens
            yield item
    for path in readable:
        if path not in whole:
            yield from outline(view, path, "an outline")


def _file(view: PackSource, ranked: Ranked) -> ContextItem | LeftOut:
    try:
        check_shown(view, ranked.path)
        return whole_file(view, ranked.path, _why(ranked))
    except FileRefused as error:
        return LeftOut(ranked.path, _why(ranked), "file", 1, 0, error.what)


def _why(ranked: Ranked) -> str:
    return next(iter(ranked.reasons), "the brief is about it")
