"""A change in the form in which a model is to answer: edit blocks that lead from one text to the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rolecall_server.craft.edits.edit_blocks import apply_edit_blocks, parse_edit_blocks
from rolecall_server.review.proposals.difference import changed_ranges
from rolecall_server.workspace import split_lines

_MOST_CONTEXT = 20
"""Lines around a change that may be needed to make its place unique."""


def edit_blocks(before: Mapping[str, str | None], after: Mapping[str, str]) -> str:
    """Return edit blocks that make *after* of *before*, as they were tried; empty where no blocks do.

    A text of ``None`` in *before* is a file that does not exist.
    """
    blocks: list[str] = []
    for path, text in after.items():
        base = before.get(path)
        if base is None:
            blocks.append(_block(path, "", text))
        else:
            blocks += _blocks_of(path, split_lines(base), split_lines(text))
    answer = "\n".join(blocks)
    steps = parse_edit_blocks(answer)
    edited = apply_edit_blocks(steps, before.get)
    made = {path: edited.files.get(path, before.get(path)) for path in after}
    return answer if blocks and not edited.problems and made == dict(after) else ""


def searched_lines(answer: str) -> frozenset[str]:
    """Return the lines that the blocks of *answer* search for, without their indentation."""
    searching, found = False, set[str]()
    for line in answer.splitlines():
        if line.startswith(("<<<<<<<", "=======")):
            searching = line.startswith("<")
        elif searching and line.strip():
            found.add(line.strip())
    return frozenset(found)


def _blocks_of(path: str, old: Sequence[str], new: Sequence[str]) -> list[str]:
    blocks: list[str] = []
    for start, end, new_start, new_end in changed_ranges(old, new):
        around = _lines_around(old, start, end)
        before, behind = "".join(old[start - around : start]), "".join(old[end : end + around])
        found = "".join(old[start:end])
        changed = "".join(new[new_start:new_end])
        blocks.append(_block(path, before + found + behind, before + changed + behind))
    return blocks


def _lines_around(lines: Sequence[str], start: int, end: int) -> int:
    """Return how many lines before and behind make lines *start* to *end* a place of its own."""
    text = "".join(lines)
    for around in range(_MOST_CONTEXT):
        piece = "".join(lines[max(0, start - around) : end + around])
        if around <= start and piece.strip() and text.count(piece) == 1:
            return around
    return min(start, _MOST_CONTEXT)


def _block(path: str, old: str, new: str) -> str:
    old, new = (text if not text or text.endswith("\n") else f"{text}\n" for text in (old, new))
    return f"FILE: {path}\n<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE\n"
