"""The changes by which a client brings hunks into a file or takes them out: minimal edits, and the text that
comes out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import accumulate

from rolecall_server.errors import HunkStale
from rolecall_server.processes import this_process
from rolecall_server.review.proposals.anchor import (
    Anchor,
    Stale,
    exists_with,
    lines_of,
    locate,
    path_now,
    text_with,
    turned_to,
)
from rolecall_server.review.proposals.edit_journal import fingerprint
from rolecall_server.review.proposals.proposal import FileChange, Hunk, HunkKind, HunkState, Proposal
from rolecall_server.store import LandingRow
from rolecall_server.workspace import BOM, split_lines


@dataclass(frozen=True)
class TextEdit:
    """Some characters of the current text replaced by others."""

    start: int
    """In code points from the start of the text."""
    end: int
    new_text: str


@dataclass(frozen=True)
class FileEdit:
    """The changes of one file, on the text they were planned for."""

    path: str
    """Where the file is, or will be where it does not exist."""
    current: str | None
    """The text the edits count in; ``None`` where the file does not exist yet."""
    edits: tuple[TextEdit, ...]
    """In order, not overlapping; no two at the same place."""
    result: str | None
    """The text that must come out; ``None`` where the file is deleted."""
    moved_to: str = ""
    """The path it gets; empty where it keeps its own."""

    @property
    def creates(self) -> bool:
        """Return whether the edit creates the file."""
        return self.current is None

    @property
    def deletes(self) -> bool:
        """Return whether the edit removes the file."""
        return self.result is None

    @property
    def path_after(self) -> str:
        """Return the path of the file after the edit."""
        return self.moved_to or self.path


def with_needs(proposal: Proposal, states: Mapping[str, HunkState], hunk_ids: Collection[str]) -> tuple[str, ...]:
    """Return *hunk_ids* and the hunks on offer that they need, directly or through others, in the proposal's order."""
    hunks = {hunk.id: hunk for _, hunk in proposal.hunks()}
    wanted, queue = set(hunk_ids), list(hunk_ids)
    while queue:
        for need in hunks[queue.pop()].needs:
            if need not in wanted and states[need] in (HunkState.PENDING, HunkState.EDITED):
                wanted.add(need)
                queue.append(need)
    return tuple(hunk_id for hunk_id in hunks if hunk_id in wanted)


def needed_by(proposal: Proposal, states: Mapping[str, HunkState], hunk_ids: Collection[str]) -> tuple[str, ...]:
    """Return the accepted hunks, *hunk_ids* left out, that need one of them, directly or through others."""
    missing: set[str] = set(hunk_ids)
    found: list[str] = []
    accepted = [hunk for _, hunk in proposal.hunks() if states[hunk.id] is HunkState.ACCEPTED]
    while more := [hunk.id for hunk in accepted if hunk.id not in missing and missing & {*hunk.needs}]:
        missing.update(more)
        found += more
    return tuple(found)


def plan_edit(
    change: FileChange,
    accepted: Collection[str],
    current: str | None,
    *,
    bring_in: Collection[str] = (),
    take_out: Collection[str] = (),
) -> FileEdit:
    """Return the edit of the file of *change* that brings hunks into its text and takes others out.

    *accepted* are the hunks that are in the text already; *current* is the text at `path_now`, ``None`` where there
    is no such file.

    Raises:
        HunkStale: one of them can no longer be placed.
    """
    path = path_now(change, accepted)
    then = ({*accepted} | {*bring_in}) - {*take_out}
    moved_to = path_now(change, then)
    hunks = [hunk for hunk in change.hunks if hunk.id in bring_in or hunk.id in take_out]
    places = locate(change, accepted, current)
    for hunk in hunks:
        place = places[hunk.id]
        if isinstance(place, Stale):
            raise HunkStale(f"{path}: {place.reason}")
    if not exists_with(change, then):
        # Hunks can be placed though somebody typed elsewhere in the file; those lines would go with it.
        if not same_lines(current, text_with(change, accepted)):
            raise HunkStale(f"{path}: There is more in it than was accepted, so it is not deleted.")
        return FileEdit(path, current, (), None)
    if current is None:
        text = (BOM if change.has_bom else "") + (text_with(change, then) or "")
        return FileEdit(path, None, (TextEdit(0, 0, text),) if text else (), text)
    ending = turned_to(change, accepted, current)
    coming: dict[str, Sequence[str]] = {
        h.id: change.base_lines[h.start : h.end] if h.id in take_out else h.new_lines for h in hunks
    }
    if ending:
        coming = {hunk_id: [_with_ending(line, ending) for line in lines] for hunk_id, lines in coming.items()}
    lines = lines_of(change, current)
    offsets = _line_offsets(lines)
    if lines and lines[0].startswith(BOM):
        offsets[0] = len(BOM)  # some editors hand the mark over as part of the text; it stays where it is
    edits = _join_at_same_place(
        edit
        for hunk in hunks
        if hunk.kind is HunkKind.TEXT and isinstance(place := places[hunk.id], Anchor)
        # The parts of a hunk count lines from its own first one, so it gets the offsets from there on.
        for edit in _edits_of(change, hunk, coming[hunk.id], offsets[place.start :], is_out=hunk.id in take_out)
    )
    return FileEdit(path, current, edits, apply_edits(current, edits), "" if moved_to == path else moved_to)


def _edits_of(
    change: FileChange, hunk: Hunk, coming: Sequence[str], offsets: Sequence[int], *, is_out: bool
) -> Iterator[TextEdit]:
    """Yield what puts the lines that are *coming* in the place of a hunk; lines of it that stay are left alone."""
    for start, end, new_start, new_end in change.parts(hunk):
        gone, came = ((new_start, new_end), (start, end)) if is_out else ((start, end), (new_start, new_end))
        yield TextEdit(offsets[gone[0]], offsets[gone[1]], "".join(coming[came[0] : came[1]]))


def edit_between(path: str, current: str | None, wanted: str | None) -> FileEdit:
    """Return the edit that turns *current* into *wanted*, line by line: for putting back a text that an editor changed
    otherwise.
    """
    if current is None or wanted is None:
        edits = (TextEdit(0, 0, wanted),) if wanted else ()
        return FileEdit(path, current, edits, wanted)
    old, new = split_lines(current), split_lines(wanted)
    offsets = _line_offsets(old)
    codes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    edits = tuple(
        TextEdit(offsets[start], offsets[end], "".join(new[new_start:new_end]))
        for tag, start, end, new_start, new_end in codes
        if tag != "equal"
    )
    return FileEdit(path, current, edits, wanted)


def inverse_edit(edit: FileEdit) -> FileEdit:
    """Return the edit that takes *edit* back, on the text that came out of it; it touches no other character."""
    moved_to = edit.path if edit.moved_to else ""
    if edit.current is None or edit.result is None:
        return replace(edit_between(edit.path_after, edit.result, edit.current), moved_to=moved_to)
    edits, shift = list[TextEdit](), 0
    for each in edit.edits:
        start = each.start + shift
        edits.append(TextEdit(start, start + len(each.new_text), edit.current[each.start : each.end]))
        shift += len(each.new_text) - (each.end - each.start)
    return FileEdit(edit.path_after, edit.result, tuple(edits), edit.current, moved_to)


def steps_of(
    proposal_id: str,
    change: FileChange,
    edit: FileEdit,
    states: Mapping[str, HunkState],
    accepted: Collection[str],
) -> Iterator[LandingRow]:
    """Yield the steps that *edit* is for the files of *change*, in which hunks get new *states*.

    A file that gets another name, or its own one back, takes two: of the file with the new name, which comes out of
    nothing or goes back into it, and of the one with the old name, for the lines alone.
    """
    in_file = [hunk for hunk in change.hunks if hunk.id in states]
    brought_in = tuple(hunk.id for hunk in in_file if states[hunk.id] is HunkState.ACCEPTED)
    taken_out = tuple(hunk.id for hunk in in_file if hunk.id in accepted and hunk.id not in brought_in)
    before, after, gone = fingerprint(edit.current), fingerprint(edit.result), fingerprint(None)
    # The number 0 is a blank: the store gives it one.
    whole = LandingRow(0, edit.path, proposal_id, brought_in, taken_out, before, after, this_process())
    if not edit.moved_to:
        yield whole
        return
    is_coming = edit.moved_to == change.renamed_to
    yield replace(whole, path=edit.moved_to, before=gone) if is_coming else replace(whole, after=gone)
    lines = {hunk.id for hunk in in_file if hunk.kind is HunkKind.TEXT}
    if lines:
        came, went = (tuple(h for h in ids if h in lines) for ids in (brought_in, taken_out))
        of_lines = replace(whole, path=change.path, brought_in=came, taken_out=went)
        yield of_lines if is_coming else replace(of_lines, before=gone)


def apply_edits(text: str, edits: Collection[TextEdit]) -> str:
    """Return *text* with *edits* applied; their positions are those in *text* before any edit."""
    parts: list[str] = []
    done = 0
    for edit in edits:
        parts += [text[done : edit.start], edit.new_text]
        done = edit.end
    return "".join([*parts, text[done:]])


def same_lines(one: str | None, other: str | None) -> bool:
    """Return whether two texts differ in nothing but what editors do on opening a file.

    They may make all line endings alike, and some show the byte order mark as part of the text.
    """
    if one is None or other is None:
        return one is other
    return one == other or _line_feeds(one) == _line_feeds(other)


def _line_feeds(text: str) -> str:
    return text.removeprefix(BOM).replace("\r\n", "\n").replace("\r", "\n")


def _with_ending(line: str, ending: str) -> str:
    content = line.rstrip("\r\n")
    return content + ending if content != line else line


def _line_offsets(lines: Sequence[str]) -> list[int]:
    return [0, *accumulate(map(len, lines))]


def _join_at_same_place(edits: Iterable[TextEdit]) -> tuple[TextEdit, ...]:
    """Editors need not keep the order of two insertions at one place, so they become one."""
    joined: list[TextEdit] = []
    for edit in edits:
        if joined and joined[-1].end == edit.start:
            last = joined.pop()
            joined.append(TextEdit(last.start, edit.end, last.new_text + edit.new_text))
        else:
            joined.append(edit)
    return tuple(joined)
