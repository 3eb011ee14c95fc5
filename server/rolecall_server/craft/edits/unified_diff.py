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

# Nine digits at most: `int` refuses a number with thousands of them.
_HUNK = re.compile(r"@@ -(\d{1,9})(?:,\d{1,9})? \+\d{1,9}(?:,\d{1,9})? @@")
_NOWHERE = "/dev/null"
_ESCAPED = re.compile(rb"\\([0-7]{3}|.)")
_CONTROLS = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}

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
    # Not `splitlines`, which would part a line at a form feed in it.
    for one in _file_diffs(diff.replace("\r\n", "\n").split("\n")):
        old, new = one.old, one.new
        # A diff may come back to a file that it has changed above.
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
            name = _twice_named(line.removeprefix("diff --git "))
            current = _FileDiff(name, name)
        if line.startswith("rename from "):
            current = current or _FileDiff()
            current.old, current.is_renamed = _unquoted(line.removeprefix("rename from ")), True
        elif current is not None and _is_said_of_a_file(line):
            _note(current, line)
        elif line.startswith("--- ") and following.startswith("+++ "):
            if current is not None and current.hunks:
                yield _complete(current)
                current = None
            current = current or _FileDiff()
            if not current.is_renamed:
                # `diff -u` writes the time of the file after a tab.
                current.old, current.new = (_plain(each[4:].split("\t")[0]) for each in (line, following))
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


def _is_said_of_a_file(line: str) -> bool:
    return line.startswith(("rename to ", "new file mode ", "deleted file mode ", "Binary files ", "GIT binary patch"))


def _note(current: _FileDiff, line: str) -> None:
    """Note of *current* what *line* says between the head of a file and its hunks: an empty file has nothing else.

    Raises:
        PatchRefused: the file is binary.
    """
    if line.startswith("rename to "):
        current.new = _unquoted(line.removeprefix("rename to "))
    elif line.startswith("new file mode "):
        current.old = _NOWHERE
    elif line.startswith("deleted file mode "):
        current.new = _NOWHERE
    else:
        raise PatchRefused(f"{current.new or 'A file'} of the diff is binary.", "Leave binary files out.")


def _complete(one: _FileDiff) -> _FileDiff:
    """Return *one*, which changes a file that it names.

    Raises:
        PatchRefused: it does not.
    """
    if not one.old or not one.new:
        raise PatchRefused("The diff changes a file that it does not name with --- and +++.", "Name each file.")
    if one.old == one.new and not one.hunks:
        raise PatchRefused(f"The diff changes no line of {one.old}.", "Leave out files of which only the mode changes.")
    return one


def _hunk(line: int, lines: Sequence[str], at: int) -> tuple[_DiffHunk, int]:
    """Return the hunk whose lines begin at *at*, and where it ends."""
    hunk = _DiffHunk(line)
    blank = 0
    while at < len(lines) and not _ends(lines, at):
        # An empty line is one that stays, whose space was lost on the way.
        text, sign = lines[at][1:] + "\n", lines[at][:1] or " "
        # `\ No newline at end of file` is said of the line above, which one of the sides may not have.
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
    # By itself, `--- ` may be a line that goes and begins with two dashes, as a comment in SQL.
    return line.startswith("--- ") and at + 1 < len(lines) and lines[at + 1].startswith("+++ ")


def _plain(path: str) -> str:
    """Return the path without the prefix that git gives it."""
    named = _unquoted(path)
    return named[2:] if named[:2] in ("a/", "b/") else named


def _unquoted(path: str) -> str:
    """Return the path as it is: git writes one with other letters than ASCII in quotes, a byte as three digits."""
    named = path.rstrip()
    if len(named) < 2 or not (named[0] == named[-1] == '"'):
        return named
    return _ESCAPED.sub(_unescaped, named[1:-1].encode()).decode("utf-8", "replace")


def _unescaped(escaped: re.Match[bytes]) -> bytes:
    char = escaped[1]
    # Three octal digits go up to 511, a byte to 255.
    return bytes([int(char, 8) & 0xFF]) if len(char) == 3 else _CONTROLS.get(char, char)


def _twice_named(names: str) -> str:
    """Return the path in ``a/P b/P``; empty where the two are not the same file."""
    # A path may hold spaces, so the line is parted in its middle and not at a space.
    half = len(names) // 2
    old, new = _plain(names[:half]), _plain(names[half + 1 :])
    return new if old == new else ""


def _patched(path: str, text: str, hunks: Sequence[_DiffHunk]) -> str:
    shift = 0
    for number, hunk in enumerate(hunks, 1):
        look_at_the_clock()
        lines = split_lines(text)
        if not hunk.old:
            # Where nothing goes, a diff names the line before the new ones: no 1 is taken off, as it is below.
            at = min(len(lines), hunk.line + shift)
            text = "".join([*lines[:at], *hunk.new, *lines[at:]])
        else:
            start, places = _place(lines, hunk, hunk.line - 1 + shift, f"hunk {number} of {path}")
            was_ended = text.endswith("\n")
            text = put_in_place(text, start, hunk.old, hunk.new, places)
            if hunk.new and start + len(hunk.old) == len(lines):
                text = _ended(text, hunk.new[-1], was_ended=was_ended)
        shift += len(hunk.new) - len(hunk.old)
    return text


def _ended(text: str, last: str, *, was_ended: bool) -> str:
    """Return *text*, which now ends as it did before, ended as *last* is, the last line of a hunk."""
    if not last.endswith("\n"):
        return text.removesuffix("\n")
    return text if was_ended else f"{text}\n"


def _place(lines: Sequence[str], hunk: _DiffHunk, hint: int, what: str) -> tuple[int, Match]:
    places = find(lines, hunk.old)
    if hint in places.starts:
        return hint, places
    if len(places.starts) == 1:
        return places.starts[0], places
    if not places.starts and hunk.new and find(lines, hunk.new).starts:
        raise PatchRefused(
            f"{what[0].upper()}{what[1:]} is in the file already.",
            "What lies in the working tree is taken out and proposed with: git stash -u, then "
            "git stash show -p --include-untracked | rolecall propose -",
        )
    why = "stand nowhere in the file" if not places.starts else f"stand there {len(places.starts)} times"
    raise PatchRefused(f"The old lines of {what} {why}.", "Make the diff from the file as it is now.")
