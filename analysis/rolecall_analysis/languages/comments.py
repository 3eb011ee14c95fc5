"""The prose of comments, without the marks around it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable

_OPENING = re.compile(r"\A(?:/\*[*!]*|=begin\b.*)")
_CLOSING = re.compile(r"(?:(?<!\*)\*++/|\n=end)\s*+\Z")
_LINE_MARK = re.compile(r"^[ \t]*(?://[/!]*|#+!?|\*(?!/))", re.MULTILINE)
_NOTICE = re.compile(r"copyright|licen[cs]e|SPDX-|^(frozen_string_literal|(en)?coding|eslint|@ts-|go:)", re.IGNORECASE)


def prose(comments: Iterable[str]) -> str:
    """Return the text of adjacent *comments*, dedented; empty if they are only marks."""
    return inspect.cleandoc("\n".join(map(_unmarked, comments))).strip()


def _unmarked(comment: str) -> str:
    text = comment.replace("\r\n", "\n").strip()
    opening = _OPENING.match(text)
    if opening is not None:
        text = _CLOSING.sub("", text[opening.end() :])
    return _LINE_MARK.sub("", text)


def is_notice(text: str) -> bool:
    """Return whether a comment at the top of a file names its owner or instructs a tool, rather than explaining the
    file.
    """
    return _NOTICE.search(text) is not None
