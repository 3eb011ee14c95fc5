"""From two texts to hunks a person can decide on: one for each place that changes or definition that is added."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from rolecall_analysis import facts_of, is_python
from rolecall_server.review.proposals.difference import Range, changed_ranges
from rolecall_server.review.proposals.proposal import FileChange, Hunk
from rolecall_server.workspace import TextFile, sha256, split_lines

JOINED_LINES = 6
"""Changes with so many unchanged lines between them are one hunk, as in `git diff` with three lines of context."""

_DEFINITION = re.compile(r"(?:async[ \t]+def|def|class)\b|@")
_WORD = re.compile(r"\w+")


def file_change(path: str, base: TextFile | None, proposed: str) -> FileChange:
    """Return the change that turns *base* into *proposed*, as hunks without ids (`number_hunks` gives them).

    Lines that *proposed* adds get the line ending of *base*; lines it keeps are not touched, whatever their ending.
    """
    text = base.text if base else ""
    ending = line_ending(text)
    old, new = split_lines(text), split_lines(proposed)
    # Compared with one ending, else every line of a CRLF file would differ from what a model wrote.
    if "\r" in text or "\r" in proposed:
        old, new = [_with_ending(line, "\n") for line in old], [_with_ending(line, "\n") for line in new]
    hunks: list[Hunk] = []
    for changed in _best_places(tuple(changed_ranges(old, new)), old, new):
        for old_start, old_end, new_start, new_end in _definitions_apart(path, changed, old, new):
            added = new[new_start:new_end]
            lines = added if ending == "\n" else [_with_ending(line, ending) for line in added]
            hunks.append(Hunk(str(len(hunks)), old_start, old_end, tuple(lines)))
    lines = split_lines(text)
    if "\r" in text:
        hunks = _kept_apart(hunks, lines, ending)
    hunks = _joined(path, hunks, lines)
    has_bom = base is not None and base.has_bom
    return FileChange(path, base.text if base else None, sha256(text), tuple(hunks), has_bom=has_bom)


def number_hunks(changes: Sequence[FileChange]) -> tuple[FileChange, ...]:
    """Return the same changes with ids that run through all files; one without hunks is left out."""
    numbered: list[FileChange] = []
    count = 0
    for change in changes:
        if change.hunks:
            hunks = tuple(replace(hunk, id=f"h{count + n}") for n, hunk in enumerate(change.hunks, start=1))
            count += len(hunks)
            numbered.append(replace(change, hunks=hunks))
    return tuple(numbered)


def line_ending(text: str) -> str:
    """Return the ending most lines of *text* have; ``\\n`` for a text without any.

    A carriage return alone is it only where no line ends otherwise: the line feed of an empty line after it would
    become its own.
    """
    if "\n" not in text:
        return "\r" if "\r" in text else "\n"
    n_both = text.count("\r\n")
    return "\r\n" if n_both > text.count("\n") - n_both else "\n"


def _with_ending(line: str, ending: str) -> str:
    """Return *line* with *ending* in place of its own, if it has one."""
    content = line.rstrip("\r\n")
    return content + ending if len(content) != len(line) else line


def _kept_apart(hunks: Sequence[Hunk], lines: Sequence[str], ending: str) -> list[Hunk]:
    """Return *hunks*; one that puts an empty line after a lone carriage return also takes the line before it.

    Else the two endings would become one, and with them two lines.
    """
    apart: list[Hunk] = []
    for hunk in hunks:
        before = "".join(lines[hunk.start - 1 : hunk.start])
        following = (*hunk.new_lines, *lines[hunk.end : hunk.end + 1])
        is_free = not apart or apart[-1].end < hunk.start
        if is_free and before.endswith("\r") and following[:1] == ("\n",):
            new_lines = (_with_ending(before, ending), *hunk.new_lines)
            apart.append(replace(hunk, start=hunk.start - 1, new_lines=new_lines))
        else:
            apart.append(hunk)
    return apart


def _joined(path: str, hunks: Sequence[Hunk], lines: Sequence[str]) -> list[Hunk]:
    """Return *hunks*, those as one that are so near that git shows them as one, and that no definition parts."""
    joined: list[Hunk] = []
    for hunk in hunks:
        last = joined[-1] if joined else None
        if last is None or hunk.start - last.end > JOINED_LINES or _are_parted(path, last, hunk, lines):
            joined.append(hunk)
        else:
            new_lines = (*last.new_lines, *lines[last.end : hunk.start], *hunk.new_lines)
            joined[-1] = replace(last, end=hunk.end, new_lines=new_lines)
    return joined


def _are_parted(path: str, first: Hunk, second: Hunk, lines: Sequence[str]) -> bool:
    """Return whether another top-level definition begins between two hunks, or with the second."""
    if not is_python(path):
        return False
    heads = [_first_telling(part) for part in (second.new_lines, lines[second.start : second.end])]
    return any(map(_DEFINITION.match, (*lines[first.end : second.start], *heads)))


def _first_telling(lines: Sequence[str]) -> str:
    """Return the first line that is neither empty nor a comment."""
    return next((line for line in lines if line.strip() and not line.startswith("#")), "")


def _definitions_apart(path: str, changed: Range, old: Sequence[str], new: Sequence[str]) -> Iterator[Range]:
    """Yield the parts of *changed*, cut wherever a top-level definition begins in what it adds.

    What it removes goes with the piece that is most like it; the pieces before and after only add.
    """
    old_start, old_end, new_start, new_end = changed
    added = new[new_start:new_end]
    cuts = _first_lines(path, added)
    if not cuts:
        yield changed
        return
    heir = _heir(old[old_start:old_end], added, cuts)
    # Pieces before the heir have the blank lines after them, those behind it the ones before them: so each keeps its
    # distance from what stands on both sides, whichever of the others are accepted.
    cuts = [_past_blank(added, line) if number < heir else line for number, line in enumerate(cuts)]
    for i, (start, end) in enumerate(pairwise([0, *cuts, len(added)])):
        before, after = (old_end if i > heir else old_start), (old_start if i < heir else old_end)
        yield before, after, new_start + start, new_start + end


def _heir(removed: Sequence[str], added: Sequence[str], cuts: Sequence[int]) -> int:
    """Return the number of the piece of *added* that stands in the place of *removed*.

    Where nothing is removed it is the last if blank lines end it, as before a function, else the first, as behind one.
    """
    if any(line.strip() for line in removed):
        return _most_like(removed, [added[start:end] for start, end in pairwise([0, *cuts, len(added)])])
    return 0 if added[-1].strip() else len(cuts)


def _past_blank(lines: Sequence[str], line: int) -> int:
    while not lines[line].strip():
        line += 1
    return line


def _first_lines(path: str, added: Sequence[str]) -> list[int]:
    """Return the lines of *added* at which each top-level class and function begins, with the blank lines and comments
    above it.

    One that begins with the first line is left out.
    """
    if not is_python(path) or not any(map(_DEFINITION.match, added)):
        return []
    starts: list[int] = []
    # The added lines are read as if they were a whole module: what is not indented among them is top-level.
    for definition in facts_of(path, "".join(added)).definitions:
        if not definition.scope and definition.kind in ("class", "function"):
            line = definition.span.start.line
            while line > 0 and (not added[line - 1].strip() or added[line - 1].startswith("#")):
                line -= 1
            starts.append(line)
    return [line for line in starts if line]


def _most_like(removed: Sequence[str], pieces: Sequence[Sequence[str]]) -> int:
    """Return the index of the one of *pieces* that shares the largest part of its words with *removed*; the first if
    none does.
    """
    words = _words(removed)

    def likeness(piece: Sequence[str]) -> float:
        own = _words(piece)
        return (words & own).total() / max(1, words.total() + own.total())

    ratios = [likeness(piece) for piece in pieces]
    return ratios.index(max(ratios))


def _words(lines: Sequence[str]) -> Counter[str]:
    return Counter(_WORD.findall("".join(lines)))


def _best_places(ranges: Sequence[Range], old: Sequence[str], new: Sequence[str]) -> Iterator[Range]:
    """Yield *ranges*, each that only adds lines moved to where it reads best; the result is the same text.

    A difference may report an added function as beginning inside the one before it, where both begin or end alike.
    """
    done = 0
    for n, (at, old_end, start, end) in enumerate(ranges):
        following = ranges[n + 1][0] if n + 1 < len(ranges) else len(old)
        by = 0
        if at == old_end:
            up, down = 0, 0
            # The place may slide only as far as the changes before and behind it, or two hunks would overlap.
            while at + up > done and old[at + up - 1] == new[end + up - 1]:
                up -= 1
            while at + down < following and new[start + down] == old[at + down]:
                down += 1
            by = _best_shift(new, start, end, range(up, down + 1))
        done = old_end + by
        yield at + by, done, start + by, end + by


def _best_shift(new: Sequence[str], start: int, end: int, shifts: Sequence[int]) -> int:
    def order(by: int) -> tuple[int, bool]:
        first = start + by
        # Next to a comment or a decorator it would begin inside what those belong to.
        is_inside = first > 0 and bool(new[first - 1].strip() and new[first].strip())
        return _indent_of_first(new[first : end + by]), is_inside

    # `min` takes the first of equals: the place that is nearest to where the difference was found.
    return min(sorted(shifts, key=abs), key=order)


def _indent_of_first(lines: Sequence[str]) -> int:
    for line in lines:
        if line.strip():
            return len(line) - len(line.lstrip())
    return 0
