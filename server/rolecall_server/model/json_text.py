"""JSON objects in what a model wrote: alone, in a fence, or somewhere in its prose."""

from __future__ import annotations

import json
import re
from typing import cast

from pydantic import JsonValue

_FENCE = re.compile(
    r"^[ \t]*+```[ \t]*+(?:json\w*+)?[ \t]*+\n(?P<inside>.*?)(?:^[ \t]*+```[ \t]*+$|\Z)", re.M | re.S | re.I
)
_BRACE = re.compile(r"^[^\n{]{0,80}(?P<brace>\{)", re.M)
_MAX_TRIES = 50
_DECODER = json.JSONDecoder(strict=False)  # a line break within a string is a common slip, and clear


def find_json(text: str) -> tuple[str, dict[str, JsonValue] | None]:
    """What comes before the last JSON object in *text*, and the object; all of it and None where there is none."""
    starts = [match.start("inside") for match in _FENCE.finditer(text)]
    for start in reversed(starts[-_MAX_TRIES:]):
        if (found := _object_at(text, start)) is not None:
            return _prose(text[:start]), found[0]
    last: tuple[str, dict[str, JsonValue] | None] = (text.strip(), None)
    position = 0
    for _ in range(_MAX_TRIES):
        match = _BRACE.search(text, position)
        if match is None:
            break
        found = _object_at(text, match.start("brace"))
        if found is not None:
            last = (_prose(text[: match.start("brace")]), found[0])
        position = found[1] if found is not None else match.end()
    return last


def _object_at(text: str, start: int) -> tuple[dict[str, JsonValue], int] | None:
    """The object that begins at *start*, white space aside, and where it ends."""
    brace = len(text) - len(text[start:].lstrip())
    try:
        value, end = _DECODER.raw_decode(text, brace)
    except (ValueError, RecursionError):
        return None
    return (cast("dict[str, JsonValue]", value), end) if isinstance(value, dict) else None


def _prose(before: str) -> str:
    """*before* without the fence it ends in."""
    return re.sub(r"```[ \t]*+\w*+[ \t]*+\Z", "", before.rstrip()).strip()
