"""The places of hunks in a text that has moved on since they were made, or the reasons why they have none.

The base of a proposal never changes. What the developer accepted is replayed on it; the difference between
that and the text as it is now is what somebody typed. This is a three-way merge in which nothing is guessed: a hunk
whose surroundings nobody touched moves with them, one whose lines were touched is stale. None of it is stored: the
same text always gives the same answer. An accepted hunk has a place too, that of the lines it brought in.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from rolecall_server.review.proposals.hunks import line_ending
from rolecall_server.review.proposals.proposal import FileChange, HunkKind
from rolecall_server.workspace import BOM, split_lines

CONTEXT_LINES = 3
"""The number of lines around a hunk that are compared, as in a unified diff."""


@dataclass(frozen=True)
class Anchor:
    """The lines of the current text that a hunk replaces, or that an accepted hunk brought in."""

    start: int
    end: int


@dataclass(frozen=True)
class Stale:
    """The reason why a hunk can no longer be placed."""

    reason: str
    near: int = field(default=0, compare=False)
    """The line of the current text that is nearest to where it was."""


Places = dict[str, Anchor | Stale]
"""By hunk id."""


def path_now(change: FileChange, accepted: Collection[str]) -> str:
    """Return the path of the file of *change* with the *accepted* hunks in the workspace."""
    moved = any(hunk.kind is HunkKind.RENAME and hunk.id in accepted for hunk in change.hunks)
    return change.renamed_to if moved else change.path


def locate(change: FileChange, accepted: Collection[str], current: str | None) -> Places:
    """Return the place in *current* of each hunk of *change*, by hunk id.

    *current* is the text at `path_now`, or ``None`` where there is no such file. Lines are the same lines whatever
    their ending: editors and git change all endings of a file at once.
    """
    if current == change.base and not any(hunk.id in accepted for hunk in change.hunks):
        return {
            hunk.id: Anchor(*((hunk.start, hunk.end) if hunk.kind is HunkKind.TEXT else (0, 0)))
            for hunk in change.hunks
        }
    if exists_with(change, accepted) != (current is not None):
        return _without_text(change, accepted, current)
    lines, places, now, runs = _compare(change, accepted, current or "")
    # The first run always begins at the top of both texts: where it is as long as both, nothing differs.
    is_same = len(lines) == len(now) == runs[0].size
    found: Places = {}
    for hunk in change.hunks:
        if hunk.kind is HunkKind.TEXT:
            place = places[hunk.id]
            found[hunk.id] = place if is_same else _anchor(place, lines, runs, len(now))
        # A deletion takes the whole file: any line that differs, wherever it stands, would be lost unseen.
        elif hunk.kind is HunkKind.DELETE and hunk.id not in accepted and not is_same:
            found[hunk.id] = Stale(f"{change.path} has changed since its deletion was proposed.")
        else:
            found[hunk.id] = Anchor(0, 0)
    return found


def lines_from(change: FileChange, accepted: Collection[str], current: str) -> dict[int, str]:
    """Return the lines of *current*, from 0, that *accepted* hunks brought in, each with the hunk's id.

    This goes line by line, so what somebody typed in between is nobody's. Of a hunk that does not stand as it was
    accepted, only lines that say something count: a lone bracket recurs everywhere.
    """
    lines, places, _, runs = _compare(change, accepted, current)
    found: dict[int, str] = {}
    for hunk in change.hunks:
        if hunk.id not in accepted or hunk.kind is not HunkKind.TEXT:
            continue
        place = places[hunk.id]
        brought = {place.start + i for _, _, start, end in change.parts(hunk) for i in range(start, end)}
        for run in runs:
            kept = range(max(place.start, run.expected), min(place.end, run.expected + run.size))
            is_whole = len(kept) == place.end - place.start
            found |= {
                i - run.expected + run.current: hunk.id
                for i in kept
                if i in brought and (is_whole or _is_telling(lines[i]))
            }
    return found


def text_with(change: FileChange, accepted: Collection[str]) -> str | None:
    """Return the base with the *accepted* hunks applied; ``None`` where the file does not exist then."""
    return "".join(_replay(change, accepted)[0]) if exists_with(change, accepted) else None


def exists_with(change: FileChange, accepted: Collection[str]) -> bool:
    """Return whether the file exists in the workspace with the *accepted* hunks in it."""
    taken = [hunk for hunk in change.hunks if hunk.id in accepted]
    return not any(hunk.kind is HunkKind.DELETE for hunk in taken) and not (change.creates and not taken)


def lines_of(change: FileChange, current: str) -> Sequence[str]:
    """Return *current* as lines with their endings; the base is split only once."""
    return change.base_lines if current == change.base else split_lines(current)


def turned_to(change: FileChange, accepted: Collection[str], current: str) -> str:
    """Return the line ending that an editor gave to most lines of *current* in place of their own; empty where none
    did.
    """
    if "\r" not in current and "\r" not in (change.base or ""):
        return ""
    lines, _, now, runs = _compare(change, accepted, current)
    pairs = [(lines[run.expected + i], now[run.current + i]) for run in runs for i in range(run.size)]
    others = [line for was, line in pairs if was != line]
    # A file may have mixed endings of its own; an editor that changes endings changes all of them.
    if 2 * len(others) <= len(pairs):
        return ""
    ending = line_ending("".join(others))
    # A lone carriage return is an ending only where the whole text has no other, which these lines cannot tell.
    return ending if ending != "\r" else line_ending(current)


def standing(change: FileChange, accepted: Collection[str], unsure: Collection[str], current: str | None) -> set[str]:
    """Return those of the hunks *unsure* that stand in *current*, as its lines tell; where they do not, *accepted* is
    right.

    A hunk stands in the text where it can be placed as one that was accepted, and cannot as one that was not.
    """
    found = {*accepted}
    for _ in range(2):  # once more, with neighbours set right
        as_in = locate(change, found | {*unsure}, current)
        as_out = locate(change, found - {*unsure}, current)
        for hunk_id in unsure:
            is_in, is_out = (isinstance(places[hunk_id], Anchor) for places in (as_in, as_out))
            # Where it fits both ways, or neither, the text does not tell, and what is stored stays.
            if is_in != is_out:
                found = found | {hunk_id} if is_in else found - {hunk_id}
    return found & {*unsure}


def _without_text(change: FileChange, accepted: Collection[str], current: str | None) -> Places:
    """Return the places of the hunks where there is no text to compare: the top of a file that is still to be written,
    else stale.
    """
    where = path_now(change, accepted)
    if current == "" and change.creates:
        return {hunk.id: Anchor(0, 0) for hunk in change.hunks}  # an editor opens a file that is to be written
    reason = f"{where} was deleted." if current is None else f"{where} exists by now."
    return {hunk.id: Stale(reason) for hunk in change.hunks}


def _compare(
    change: FileChange, accepted: Collection[str], current: str
) -> tuple[list[str], dict[str, Anchor], Sequence[str], list[_Run]]:
    """Return the base with *accepted* as lines, the places of the hunks in it, *current* as lines, and the runs that
    both have in common.
    """
    lines, places = _replay(change, accepted)
    now = list(lines_of(change, current.removeprefix(BOM)))
    # Lines that differ in their endings alone are unchanged here; `turned_to` compares the endings.
    runs = [_Run(0, 0, len(now))] if lines == now else _unchanged_runs(_keys(lines), _keys(now))
    return lines, places, now, runs


def _replay(change: FileChange, accepted: Collection[str]) -> tuple[list[str], dict[str, Anchor]]:
    """Return the base with *accepted* applied, as lines, and the lines that stand for each hunk in it."""
    base = change.base_lines
    lines: list[str] = []
    places: dict[str, Anchor] = {}
    done = 0
    for hunk in change.hunks:
        if hunk.kind is not HunkKind.TEXT:
            continue
        lines += base[done : hunk.start]
        start, done = len(lines), hunk.end
        lines += hunk.new_lines if hunk.id in accepted else base[hunk.start : hunk.end]
        places[hunk.id] = Anchor(start, len(lines))
    return lines + list(base[done:]), places


def _keys(lines: Sequence[str]) -> Sequence[str]:
    """Return what makes lines the same: their characters, and whether they end at all."""
    return [_key(line) for line in lines] if "\r" in "".join(lines) else lines


def _key(line: str) -> str:
    return line[:-2] + "\n" if line.endswith("\r\n") else line[:-1] + "\n" if line.endswith("\r") else line


@dataclass(frozen=True)
class _Run:
    """Lines that stand unchanged in both texts."""

    expected: int
    current: int
    size: int


def _unchanged_runs(expected: Sequence[str], current: Sequence[str]) -> list[_Run]:
    """Return the longest common stretches, in order. Equal heads and tails are cut off first, so typing is cheap."""
    shorter = min(len(expected), len(current))
    head = 0
    while head < shorter and expected[head] == current[head]:
        head += 1
    tail = 0
    while tail < shorter - head and expected[-1 - tail] == current[-1 - tail]:
        tail += 1
    # No `autojunk`: in 200 lines and more it passes over those that occur often, and hunks at them would be stale.
    middle = SequenceMatcher(
        None, expected[head : len(expected) - tail], current[head : len(current) - tail], autojunk=False
    )
    runs = [_Run(0, 0, head)]
    runs += [_Run(head + block.a, head + block.b, block.size) for block in middle.get_matching_blocks()]
    runs.append(_Run(len(expected) - tail, len(current) - tail, tail))
    return _joined(runs)


def _joined(runs: Sequence[_Run]) -> list[_Run]:
    joined: list[_Run] = []
    for run in runs:
        last = joined[-1] if joined else None
        if last and (last.expected + last.size, last.current + last.size) == (run.expected, run.current):
            joined[-1] = _Run(last.expected, last.current, last.size + run.size)
        else:
            joined.append(run)
    return joined


def _anchor(place: Anchor, expected: Sequence[str], runs: Sequence[_Run], n_current: int) -> Anchor | Stale:
    for run in runs:
        if run.expected <= place.start and place.end <= run.expected + run.size:
            if _holds(run, place.start, place.end, expected, n_current):
                shift = run.current - run.expected
                return Anchor(place.start + shift, place.end + shift)
            # Runs do not overlap: a second one could hold it only at its edge, and there an addition has no sure place.
            break
    return Stale("The lines around it have changed since it was proposed.", _nearest_line(place.start, runs, n_current))


def _nearest_line(line: int, runs: Sequence[_Run], n_current: int) -> int:
    """Return the present number of the last unchanged line up to *line* of what was expected."""
    before = [run for run in runs if run.size and run.expected <= line]
    if not before:
        return 0
    last = before[-1]
    return max(0, min(last.current + min(line - last.expected, last.size), n_current - 1))


def _holds(run: _Run, start: int, end: int, expected: Sequence[str], n_current: int) -> bool:
    """Return whether *run* is enough of the surroundings to be sure of the place.

    An addition must not touch an edited place, for then its order with what was typed there is a guess.
    Blank lines or a lone bracket recur everywhere, so the run must hold most of the context that says something.
    """
    run_end = run.expected + run.size
    starts_text = run.expected == 0 and run.current == 0
    ends_text = run_end == len(expected) and run.current + run.size == n_current
    if start == end and not ((start > run.expected or starts_text) and (end < run_end or ends_text)):
        return False
    first, last = max(0, start - CONTEXT_LINES), min(len(expected), end + CONTEXT_LINES)
    telling = [i for i in range(first, last) if _is_telling(expected[i])]
    held = [i for i in telling if run.expected <= i < run_end]
    return len(held) >= min(2, len(telling))


def _is_telling(line: str) -> bool:
    """Return whether *line* has any text that does not recur everywhere, as a lone bracket does."""
    return any(character.isalnum() for character in line)
