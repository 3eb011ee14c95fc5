"""Read a unified diff that somebody else wrote, and apply it: whole, or not at all.

Line numbers are a hint: a hunk goes where its old lines stand, at the line it names or else in the one place that has
them. The counts in the head of a hunk are not believed: those who write diffs by hand, models among them, miscount.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from rolecall_server.craft.edits.matching import Match, find, put_in_place
from rolecall_server.errors import PatchRefused
from rolecall_server.text_work import look_at_the_clock
from rolecall_server.workspace import split_lines

_HUNK = re.compile(r"@@ -(\d{1,9})(?:,\d{1,9})? \+\d{1,9}(?:,\d{1,9})? @@")
_NOWHERE = "/dev/null"

ReadBase = Callable[[str], str | None]
"""The text of a file by its path; ``None`` where there is none."""


@dataclass(frozen=True)
class PatchedFiles:
    """The files of a change as they would be."""

    files: dict[str, str | None]
    """Whole texts by path; ``None`` for one that goes."""
    renames: dict[str, str] = field(default_factory=dict[str, str])
    """New paths by old ones."""


@dataclass
class _DiffHunk:
    line: int
    """The old line that it names, from 1; 0 before the first."""
    old: list[str] = field(default_factory=list[str])
    new: list[str] = field(default_factory=list[str])


@dataclass
class _FileDiff:
    old: str = ""
    new: str = ""
    hunks: list[_DiffHunk] = field(default_factory=list[_DiffHunk])
    is_renamed: bool = False


def apply_diff(diff: str, read_base: ReadBase) -> PatchedFiles:
    """Return the files that *diff* changes, as they would be.

    Raises:
        PatchRefused: it is no unified diff, or does not fit the files.
    """
    changed = PatchedFiles({})
    for one in _file_diffs(diff.replace("\r\n", "\n").split("\n")):
        old, new = _plain(one.old), _plain(one.new)
        text = None if old == _NOWHERE else changed.files[old] if old in changed.files else read_base(old)
        if old != _NOWHERE and text is None:
            raise PatchRefused(f"The diff changes {old}, which does not exist.", "Make it from the files as they are.")
        if new == _NOWHERE:
            changed.files[old] = None
            continue
        changed.files[new] = _patched(new, text or "", one.hunks)
        if old not in (new, _NOWHERE):
            changed.files[old] = None
            changed.renames[old] = new
    if not changed.files:
        raise PatchRefused("There is no change of a file in the diff.", "Send a unified diff, as `git diff` makes it.")
    return changed


def _file_diffs(lines: Sequence[str]) -> Iterator[_FileDiff]:
    current: _FileDiff | None = None
    at = 0
    while at < len(lines):
        look_at_the_clock()
        line, following = lines[at], lines[at + 1] if at + 1 < len(lines) else ""
        if line.startswith("diff --git ") or (line.startswith("rename from ") and current is None):
            if current is not None:
                yield _complete(current)
            current = _FileDiff()
        if line.startswith("rename from "):
            current = current or _FileDiff()
            current.old, current.is_renamed = line.removeprefix("rename from "), True
        elif line.startswith("rename to ") and current is not None:
            current.new = line.removeprefix("rename to ")
        elif line.startswith("--- ") and following.startswith("+++ "):
            if current is not None and current.hunks:
                yield _complete(current)
                current = None
            current = current or _FileDiff()
            if not current.is_renamed:
                current.old, current.new = line[4:].split("\t")[0], following[4:].split("\t")[0]
            at += 1
        elif (head := _HUNK.match(line)) is not None:
            if current is None:
                raise PatchRefused("A hunk of the diff stands below no file name.", "Begin each file with --- and +++.")
            hunk, at = _hunk(int(head[1]), lines, at + 1)
            current.hunks.append(hunk)
            continue
        at += 1
    if current is not None:
        yield _complete(current)


def _complete(one: _FileDiff) -> _FileDiff:
    """Return *one*, which names its files.

    Raises:
        PatchRefused: it does not, as for a binary file.
    """
    if not one.old or not one.new:
        raise PatchRefused("The diff changes a file that it does not name with --- and +++.", "Leave binary files out.")
    return one


def _hunk(line: int, lines: Sequence[str], at: int) -> tuple[_DiffHunk, int]:
    """Return the hunk whose lines begin at *at*, and where it ends."""
    hunk = _DiffHunk(line)
    blank = 0
    while at < len(lines) and not _ends(lines, at):
        text, sign = lines[at][1:] + "\n", lines[at][:1] or " "
        if sign == "\\":
            for side in (hunk.old, hunk.new):
                if side and lines[at - 1][:1] in (" ", "-" if side is hunk.old else "+"):
                    side[-1] = side[-1].rstrip("\n")
        else:
            if sign in " -":
                hunk.old.append(text)
            if sign in " +":
                hunk.new.append(text)
        blank = blank + 1 if not lines[at] else 0
        at += 1
    for side in (hunk.old, hunk.new):  # empty lines below a hunk are the letter's, not the file's
        del side[len(side) - blank :]
    return hunk, at


def _ends(lines: Sequence[str], at: int) -> bool:
    line = lines[at]
    if line[:1] not in ("", " ", "+", "-", "\\"):
        return True
    return line.startswith("--- ") and at + 1 < len(lines) and lines[at + 1].startswith("+++ ")


def _plain(path: str) -> str:
    """Return the path without the prefix that git gives it."""
    named = path.strip().strip('"')
    return named[2:] if named[:2] in ("a/", "b/") else named


def _patched(path: str, text: str, hunks: Sequence[_DiffHunk]) -> str:
    shift = 0
    for number, hunk in enumerate(hunks, 1):
        lines = split_lines(text)
        if not hunk.old:
            at = min(len(lines), hunk.line + shift)
            text = "".join([*lines[:at], *hunk.new, *lines[at:]])
        else:
            start, places = _place(lines, hunk, hunk.line - 1 + shift, f"hunk {number} of {path}")
            text = put_in_place(text, start, hunk.old, hunk.new, places)
            if start + len(hunk.old) == len(lines):
                text = _ended(text, hunk)
        shift += len(hunk.new) - len(hunk.old)
    return text


def _ended(text: str, hunk: _DiffHunk) -> str:
    """Return *text*, at whose end *hunk* stands, with a line end there or without one, as the hunk says."""
    if not hunk.new:
        return text
    if not hunk.new[-1].endswith("\n"):
        return text.removesuffix("\n")
    return text if text.endswith("\n") or hunk.old[-1].endswith("\n") else f"{text}\n"


def _place(lines: Sequence[str], hunk: _DiffHunk, hint: int, what: str) -> tuple[int, Match]:
    places = find(lines, hunk.old)
    if hint in places.starts:
        return hint, places
    if len(places.starts) == 1:
        return places.starts[0], places
    why = "stand nowhere in the file" if not places.starts else f"stand there {len(places.starts)} times"
    raise PatchRefused(f"The old lines of {what} {why}.", "Make the diff from the file as it is now.")
