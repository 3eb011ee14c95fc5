"""The size and the title of a brief."""

from __future__ import annotations

import re

SMALL_WORDS = 300
SMALL_WISHES = 8
"""So far the Engineer alone is chosen.

Source: three briefs of 36, 105 and 227 words, with two to six wishes, on three libraries: alone the Engineer met what
the whole team met, for a fifth of its tokens (docs/team.md). What is larger was not measured.
"""
_SHORT_WORDS = 60
_SHORT_WISHES = 2
_TITLE_CHARACTERS = 80
_FRONT_MATTER = re.compile(r"\A\ufeff?---[ \t]*\n.*?\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_HEADING = re.compile(r"^ {0,3}#{1,6}(?:[ \t].*)?$|^[^\n]+\n {0,3}(?:=+|-{2,})[ \t]*$", re.MULTILINE)
_MARKS = re.compile(r"^\s*(?:[-*+•>]|\d+[.)])\s+")
_ITEM = re.compile(r"^[ \t]*+(?:[-*+•]|\d++[.)])[ \t]++\S", re.MULTILINE)
# The escapes are the exclamation and question marks of Chinese and Japanese.
_SENTENCE = re.compile(r"[.!?。\uff01\uff1f](?:\s|$)|\n\s*\n")


def is_small(brief: str) -> bool:
    """Return whether *brief* is small enough for one role alone, without a document."""
    return len(brief.split()) <= SMALL_WORDS and count_wishes(brief) <= SMALL_WISHES


def is_short(brief: str) -> bool:
    """Return whether *brief* is so short, a sentence or two, that a chart would add nothing to it."""
    return len(brief.split()) <= _SHORT_WORDS and count_wishes(brief) <= _SHORT_WISHES


def count_wishes(brief: str) -> int:
    """Return the number of things that a brief asks for, by its list items, else by its sentences."""
    items = len(_ITEM.findall(brief))
    return items or max(1, len([part for part in _SENTENCE.split(brief.strip()) if part.strip()]))


def title_of_brief(brief: str) -> str:
    """Return the first sentence of *brief*, cut where it is long; a heading only where there is nothing else."""
    text = _without_comments(_FRONT_MATTER.sub("", brief))
    paragraphs = [part for part in re.split(r"\n\s*\n", _HEADING.sub("\n\n", text)) if re.search(r"\w", part)]
    headings = (line.strip("#=- \t") for line in text.splitlines())
    first = paragraphs[0] if paragraphs else next((line for line in headings if line), "")
    lines = _MARKS.sub("", first.strip()).splitlines()
    listed = next((number for number, line in enumerate(lines) if number and _MARKS.match(line)), len(lines))
    sentence = re.split(r"(?<=[.!?。])\s", " ".join(" ".join(lines[:listed]).split()), maxsplit=1)[0]
    title = sentence or "The brief"
    return title if len(title) <= _TITLE_CHARACTERS else f"{title[: _TITLE_CHARACTERS - 1]}…"


def _without_comments(text: str) -> str:
    """Return *text* without the comments of Markdown; one that does not end is none."""
    kept: list[str] = []
    # No pattern: it would look for an end anew from each beginning, in quadratic time where none ends.
    while (begin := text.find("<!--")) >= 0 and (end := text.find("-->", begin)) >= 0:
        kept.append(text[:begin])
        text = text[end + len("-->") :]
    return "".join([*kept, text])
