"""From two texts to hunks a person can decide on: one for each place that changes or definition that is added."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from rolecall_analysis import Definition, FileFacts, facts_of, is_python
from rolecall_server.review.proposal import FileChange, Hunk
from rolecall_server.workspace import TextFile, sha256, split_lines

_NAME = re.compile(r"[^\W\d]\w*")


def file_change(path: str, base: TextFile | None, proposed: str) -> FileChange:
    """What turns *base* into *proposed*, as hunks without ids (`number_hunks` gives them).

    Lines that *proposed* adds get the line ending of *base*; lines it keeps are not touched, whatever their ending.
    """
    text = base.text if base else None
    old = split_lines(text or "")
    new = _with_endings_of(old, split_lines(proposed), line_ending(text or ""))
    places = list(_places(path, text or "", old, new))
    return FileChange(path, text, sha256(text or ""), tuple(place.hunk for place in places))


def number_hunks(changes: Sequence[FileChange]) -> tuple[FileChange, ...]:
    """The same changes with ids that run through all files, and needs across them; one without hunks is left out."""
    numbered: list[FileChange] = []
    count = 0
    for change in changes:
        names = {hunk.id: f"h{count + i}" for i, hunk in enumerate(change.hunks, start=1)}
        count += len(names)
        hunks = (
            replace(hunk, id=names[hunk.id], needs=tuple(names[need] for need in hunk.needs)) for hunk in change.hunks
        )
        if names:
            numbered.append(replace(change, hunks=tuple(hunks)))
    return tuple(replace(change, hunks=tuple(_with_needs_elsewhere(change, numbered))) for change in numbered)


def _with_needs_elsewhere(change: FileChange, changes: Sequence[FileChange]) -> Iterator[Hunk]:
    """The hunks of *change*, each needing also those of other files that add a definition whose name it brings in."""
    known = set(_NAME.findall(change.base or ""))
    added = {
        hunk.id: hunk.symbol
        for other in changes
        if other.path != change.path
        for hunk in other.hunks
        if hunk.start == hunk.end and hunk.symbol not in known
    }
    for hunk in change.hunks:
        used = set(_NAME.findall("".join(hunk.new_lines)))
        elsewhere = tuple(hunk_id for hunk_id, symbol in added.items() if symbol in used and symbol != hunk.symbol)
        yield replace(hunk, needs=hunk.needs + elsewhere)


def line_ending(text: str) -> str:
    """The ending most lines of *text* have; ``\\n`` for a text without any."""
    endings = [line[len(_content(line)) :] for line in split_lines(text)]
    return max(("\n", "\r\n", "\r"), key=endings.count)


@dataclass(frozen=True)
class _Place:
    """A hunk, and the lines of the new text it brings in."""

    hunk: Hunk
    new_start: int
    new_end: int


def _with_endings_of(old: Sequence[str], new: Sequence[str], ending: str) -> list[str]:
    """*new* with the line endings *old* has for the same lines, and *ending* elsewhere."""
    result = [_content(line) + (ending if _content(line) != line else "") for line in new]
    matcher = SequenceMatcher(None, [_content(line) for line in old], [_content(line) for line in new], autojunk=False)
    for block in matcher.get_matching_blocks():
        for i in range(block.size):
            kept, came = old[block.a + i], new[block.b + i]
            if (kept != _content(kept)) == (came != _content(came)):
                result[block.b + i] = kept
    return result


def _content(line: str) -> str:
    return line.rstrip("\r\n")


def _places(path: str, base: str, old: Sequence[str], new: Sequence[str]) -> Iterator[_Place]:
    before, after = _facts(path, base), _facts(path, "".join(new))
    starts = _first_lines(after, new)
    places: list[_Place] = []
    for change in _changes(old, new):
        for old_start, old_end, new_start, new_end in _definitions_apart(change, old, new, starts):
            symbol = _symbol(after, new, new_start, new_end) or _symbol(before, old, old_start, old_end)
            hunk = Hunk(str(len(places)), old_start, old_end, tuple(new[new_start:new_end]), symbol)
            places.append(_Place(hunk, new_start, new_end))
    bound_before = _bound_names(before, 0, len(old))
    bound = [_bound_names(after, place.new_start, place.new_end) - bound_before for place in places]
    for place in places:
        used = set(_NAME.findall("".join(place.hunk.new_lines)))
        needs = tuple(
            other.hunk.id for other, names in zip(places, bound, strict=True) if other is not place and names & used
        )
        yield replace(place, hunk=replace(place.hunk, needs=needs))


def _changes(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int, int, int]]:
    """Ranges of *old* and the ranges of *new* that replace them, in order."""
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for tag, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        if tag == "insert":
            shift = _slide(old, new, old_start, new_start, new_end)
            yield old_start + shift, old_end + shift, new_start + shift, new_end + shift
        elif tag != "equal":
            yield old_start, old_end, new_start, new_end


def _definitions_apart(
    change: tuple[int, int, int, int], old: Sequence[str], new: Sequence[str], starts: Sequence[tuple[int, int]]
) -> Iterator[tuple[int, int, int, int]]:
    """*change* cut where a top-level definition starts in what it adds.

    What it removes goes with the piece that is most like it; the pieces before and after only add.
    """
    old_start, old_end, new_start, new_end = change
    cuts = [line for line, own_line in starts if new_start < line and own_line < new_end]
    pieces = list(zip([new_start, *cuts], [*cuts, new_end], strict=True))
    removed = "".join(old[old_start:old_end])
    likeness = [SequenceMatcher(None, removed, "".join(new[a:b]), autojunk=False).ratio() for a, b in pieces if cuts]
    heir = likeness.index(max(likeness)) if removed and likeness else 0
    for i, (start, end) in enumerate(pieces):
        yield (old_end if i > heir else old_start), (old_start if i < heir else old_end), start, end


def _slide(old: Sequence[str], new: Sequence[str], at: int, start: int, end: int) -> int:
    """How many lines an insertion must move, up (negative) or down, to read best; the result is the same text.

    A matcher may report an added function as beginning inside the one before it, where both begin or end alike.
    """
    up, down = 0, 0
    while at + up > 0 and old[at + up - 1] == new[end + up - 1]:
        up -= 1
    while at + down < len(old) and new[start + down] == old[at + down]:
        down += 1
    shifts = sorted(range(up, down + 1), key=abs)
    return min(shifts, key=lambda shift: _indent_of_first(new[start + shift : end + shift]))


def _indent_of_first(lines: Sequence[str]) -> int:
    for line in lines:
        if line.strip():
            return len(line) - len(line.lstrip())
    return 0


def _facts(path: str, text: str) -> FileFacts:
    return facts_of(path, text) if is_python(path) else FileFacts(path)


def _first_lines(facts: FileFacts, lines: Sequence[str]) -> list[tuple[int, int]]:
    """Where each top-level class and function begins: with the blank lines and comments above it, and by itself."""
    starts: list[tuple[int, int]] = []
    for definition in facts.definitions:
        if not definition.scope and definition.kind in ("class", "function"):
            line = definition.span.start.line
            while line > 0 and (not lines[line - 1].strip() or lines[line - 1].startswith("#")):
                line -= 1
            starts.append((line, definition.span.start.line))
    return starts


def _symbol(facts: FileFacts, lines: Sequence[str], start: int, end: int) -> str:
    """The innermost class or function around the first telling line of a range, or the first that begins in it."""
    telling = next((line for line in range(start, end) if lines[line].strip()), None)
    if telling is None:
        return ""
    definitions = [definition for definition in facts.definitions if definition.kind != "variable"]
    around = [d for d in definitions if d.span.start.line <= telling <= d.span.end.line]
    begun = [d for d in definitions if start <= d.span.start.line < end]
    if around:
        return max(around, key=lambda d: d.span.start).qualified_name
    return min(begun, key=_line).qualified_name if begun else ""


def _line(definition: Definition) -> int:
    return definition.span.start.line


def _bound_names(facts: FileFacts, start: int, end: int) -> set[str]:
    """The names that statements beginning on these lines bind in the module."""
    names = {d.name for d in facts.definitions if not d.scope and start <= d.span.start.line < end}
    return names | {i.bound_name for i in facts.imports if not i.scope and start <= i.span.start.line < end}
