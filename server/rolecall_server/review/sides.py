"""The two sides of a file of a proposal: the text as it stands, and as it would stand with all hunks on offer.

The right side can be edited: each change of it belongs to a hunk, or is none that the proposal can hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rolecall_server.errors import FileRefused, HunkStale
from rolecall_server.review.acceptance import plan_edit
from rolecall_server.review.proposals.anchor import Anchor, Places, locate, path_now
from rolecall_server.review.proposals.difference import Range, changed_ranges
from rolecall_server.review.proposals.proposal import FileChange, Hunk, HunkKind
from rolecall_server.review.proposals.proposal_store import Reviewed
from rolecall_server.workspace import BOM, sha256, split_lines

Lines = tuple[int, int]
"""The first line, from 0, and the line after the last."""


@dataclass(frozen=True)
class HunkSides:
    """The lines that a hunk replaces, and those that it brings in."""

    hunk_id: str
    kind: HunkKind
    left: Lines
    right: Lines


@dataclass(frozen=True)
class Sides:
    """A file without and with what is on offer of one proposal; no byte order mark is part of a text."""

    left_path: str
    right_path: str
    left: str | None
    """``None`` where the file does not exist yet."""
    right: str | None
    """``None`` where the file goes."""
    hunks: tuple[HunkSides, ...]
    """Those on offer, in order. What was accepted is on both sides, what was rejected or is stale on neither."""

    @property
    def of_text(self) -> tuple[HunkSides, ...]:
        """Return those that are about lines, and not about the file as a whole."""
        return tuple(hunk for hunk in self.hunks if hunk.kind is HunkKind.TEXT)

    @property
    def version(self) -> str:
        """Return by what the right side is known."""
        return sha256(self.right or "")


def sides_of(reviewed: Reviewed, change: FileChange, current: str | None) -> Sides:
    """Return the sides of the file of *change*; *current* is its text now, ``None`` where there is no such file."""
    places = locate(change, reviewed.accepted, current)
    coming = [h for h in change.hunks if h.id in reviewed.offered and isinstance(places[h.id], Anchor)]
    try:
        edit = plan_edit(change, reviewed.accepted, current, bring_in=[hunk.id for hunk in coming])
    except HunkStale:
        # A file that holds more than was accepted is not deleted (`plan_edit`): both sides show it as it is.
        coming, edit = [], plan_edit(change, reviewed.accepted, current)
    path = path_now(change, reviewed.accepted)
    return Sides(path, edit.path_after, _plain(current), _plain(edit.result), tuple(_placed(coming, places)))


def texts_from(sides: Sides, text: str) -> dict[str, str]:
    """Return what each hunk brings in if *text* is the right side, by id; those that stay as they are left out.

    White space that an editor takes off, or puts, at the end of lines of no hunk is passed over.

    Raises:
        FileRefused: lines of no hunk were changed.
    """
    old, new = split_lines(sides.right or ""), split_lines(text)
    owners = {line: hunk.hunk_id for hunk in sides.of_text for line in range(*hunk.right)}
    found: dict[str, list[str]] = {hunk.hunk_id: [] for hunk in sides.of_text}
    done = (0, 0)
    # The empty range at the end has the loop go through the lines behind the last change, too.
    for changed in (*_held_ranges(sides, old, new), (len(old), len(old), len(new), len(new))):
        start, end, new_start, new_end = changed
        for n in range(start - done[0]):
            if (owner := owners.get(done[0] + n)) is not None:
                found[owner].append(new[done[1] + n])
        if new_start < new_end:
            found[_holder(sides, start, end)].extend(new[new_start:new_end])
        done = end, new_end
    was = {hunk.hunk_id: old[slice(*hunk.right)] for hunk in sides.of_text}
    return {hunk_id: "".join(lines) for hunk_id, lines in found.items() if _bare(lines) != _bare(was[hunk_id])}


def _placed(hunks: Sequence[Hunk], places: Places) -> Iterator[HunkSides]:
    shift = 0
    for hunk in hunks:
        place = places[hunk.id]
        if hunk.kind is HunkKind.TEXT and isinstance(place, Anchor):
            right = place.start + shift, place.start + shift + len(hunk.new_lines)
            yield HunkSides(hunk.id, hunk.kind, (place.start, place.end), right)
            shift += len(hunk.new_lines) - (place.end - place.start)
        else:
            left = (hunk.start, hunk.end) if hunk.kind is HunkKind.DELETE else (0, 0)
            yield HunkSides(hunk.id, hunk.kind, left, (0, 0))


def _held_ranges(sides: Sides, old: Sequence[str], new: Sequence[str]) -> Iterator[Range]:
    """Yield what differs, each range moved to where a hunk holds it.

    Raises:
        FileRefused: no hunk does.
    """
    old, new = [line.rstrip() for line in old], [line.rstrip() for line in new]
    ranges = list(changed_ranges(old, new))
    done = 0
    for n, changed in enumerate(ranges):
        limit = ranges[n + 1][0] if n + 1 < len(ranges) else len(old)
        held = next((one for one in _moved(changed, old, new, done, limit) if _holder(sides, *one[:2])), None)
        if held is None:
            where = f"Line {changed[2] + 1} of {sides.right_path} as you wrote it belongs to no hunk"
            raise FileRefused(where, "Take that change back here, and make it in the file itself.")
        done = held[1]
        yield held


def _moved(changed: Range, old: Sequence[str], new: Sequence[str], done: int, limit: int) -> Iterator[Range]:
    """Yield *changed*; where it only adds or only removes, also the other places that make the same text of it."""
    start, end, new_start, new_end = changed
    yield changed
    if start != end and new_start != new_end:
        return
    lines, first, last = (new, new_start, new_end) if start == end else (old, start, end)
    by = 0
    while start + by > done and lines[first + by - 1] == lines[last + by - 1]:
        by -= 1
        yield start + by, end + by, new_start + by, new_end + by
    by = 0
    while end + by < limit and lines[first + by] == lines[last + by]:
        by += 1
        yield start + by, end + by, new_start + by, new_end + by


def _holder(sides: Sides, start: int, end: int) -> str:
    """Return the hunk that holds these lines of the right side, the first of several; empty where one is in none."""
    if start == end:
        touching = [hunk for hunk in sides.of_text if hunk.right[0] <= start <= hunk.right[1]]
        return touching[0].hunk_id if touching else ""
    owners = [next((h.hunk_id for h in sides.of_text if h.right[0] <= n < h.right[1]), "") for n in range(start, end)]
    return owners[0] if all(owners) else ""


def _bare(lines: Sequence[str]) -> list[str]:
    """Return *lines* without their endings, which are those of the file, whatever an editor wrote."""
    return [line.rstrip("\r\n") for line in lines]


def _plain(text: str | None) -> str | None:
    return text if text is None else text.removeprefix(BOM)
