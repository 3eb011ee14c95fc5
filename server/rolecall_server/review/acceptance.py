"""What a client must change to accept hunks: minimal edits, and the text that must come out."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from rolecall_server.errors import HunkStale
from rolecall_server.review.anchor import Anchor, Stale, locate
from rolecall_server.review.proposal import FileChange, HunkState, Proposal
from rolecall_server.workspace import split_lines


@dataclass(frozen=True)
class TextEdit:
    """Some characters of the current text replaced by others."""

    start: int
    """In code points from the start of the text."""
    end: int
    new_text: str


@dataclass(frozen=True)
class FileEdit:
    """All edits of one file, on the text they were planned for."""

    path: str
    creates: bool
    """Whether the file does not exist yet."""
    current: str
    """The text the edits count in; empty where the file does not exist."""
    edits: tuple[TextEdit, ...]
    """In order, not overlapping; no two at the same place."""
    result: str
    """The text that must come out."""


def with_needs(proposal: Proposal, states: Mapping[str, HunkState], hunk_ids: Collection[str]) -> tuple[str, ...]:
    """*hunk_ids* and the pending hunks they need, directly or through others, in the proposal's order."""
    hunks = {hunk.id: hunk for _, hunk in proposal.hunks()}
    wanted, queue = set(hunk_ids), list(hunk_ids)
    while queue:
        for need in hunks[queue.pop()].needs:
            if need not in wanted and states[need] is HunkState.PENDING:
                wanted.add(need)
                queue.append(need)
    return tuple(hunk_id for hunk_id in hunks if hunk_id in wanted)


def plan_acceptance(
    change: FileChange, accepted: Collection[str], wanted: Collection[str], current: str | None
) -> FileEdit:
    """The edit of *current* that brings in the *wanted* hunks of *change*.

    *accepted* are the hunks that are in the text already; *current* is ``None`` where the file does not exist.

    Raises:
        HunkStale: one of them can no longer be placed.
    """
    places = locate(change, accepted, current)
    text = current or ""
    lines = split_lines(text)
    offsets = _line_offsets(lines)
    edits: list[TextEdit] = []
    for hunk in change.hunks:
        if hunk.id not in wanted:
            continue
        place = places[hunk.id]
        if isinstance(place, Stale):
            raise HunkStale(f"{change.path}: {place.reason}")
        edits.append(_edit(place, "".join(hunk.new_lines), offsets))
    joined = _join_at_same_place(edits)
    return FileEdit(change.path, current is None, text, joined, apply_edits(text, joined))


def apply_edits(text: str, edits: Collection[TextEdit]) -> str:
    """*text* with *edits* applied; they count in *text* as it is."""
    parts: list[str] = []
    done = 0
    for edit in edits:
        parts += [text[done : edit.start], edit.new_text]
        done = edit.end
    return "".join([*parts, text[done:]])


def _edit(place: Anchor, new_text: str, offsets: list[int]) -> TextEdit:
    return TextEdit(offsets[place.start], offsets[place.end], new_text)


def _line_offsets(lines: list[str]) -> list[int]:
    offsets = [0]
    for line in lines:
        offsets.append(offsets[-1] + len(line))
    return offsets


def _join_at_same_place(edits: list[TextEdit]) -> tuple[TextEdit, ...]:
    """Editors need not keep the order of two insertions at one place, so they become one."""
    joined: list[TextEdit] = []
    for edit in edits:
        if joined and joined[-1].end == edit.start:
            last = joined.pop()
            joined.append(TextEdit(last.start, edit.end, last.new_text + edit.new_text))
        else:
            joined.append(edit)
    return tuple(joined)
