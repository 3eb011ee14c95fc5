"""The edit format models write in, and its parser. `edit_blocks.md` and `file_operations.md` describe it to the model.

A block names a file, then gives the lines to find and the lines to put in their place::

    FILE: shop/price.py
    <<<<<<< SEARCH
    def total(items):
    =======
    def total(items, *, tax=0):
    >>>>>>> REPLACE

An empty search creates the file, or adds to the end of one that exists. Two lines are about a file as a whole::

    DELETE FILE: shop/old_price.py
    RENAME FILE: shop/price.py -> shop/prices.py

Source: the SEARCH/REPLACE form goes back to merge-conflict markers; that models write code better in plain text
than inside JSON is what several published comparisons of edit formats found.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from rolecall_server.workspace import split_lines

_SEARCH = re.compile(r"<{5,9} ?SEARCH\s*$")
_DIVIDER = re.compile(r"={5,9}\s*$")
_REPLACE = re.compile(r">{5,9} ?REPLACE\s*$")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})[\w+-]*\s*$")
_FILE_LINE = re.compile(r"(?:[#>*\s-]*)(?:FILE|File|Path)\s*:\s*(.+)$")
_DELETE = re.compile(r"[#>*\s-]*DELETE FILE\s*:\s*(.+)$")
_RENAME = re.compile(r"[#>*\s-]*RENAME FILE\s*:\s*(.+?)\s*(?:->|=>|→)\s*(.+)$")
_NEAREST_LINES = 12


@dataclass(frozen=True)
class EditBlock:
    """One block as the model wrote it."""

    path: str
    """Relative to the root, or empty where none could be read."""
    body: tuple[str, ...]
    """The lines between the SEARCH and the REPLACE marker, divider included, with ``\\n`` endings."""


@dataclass(frozen=True)
class Deletion:
    """A file that shall be gone."""

    path: str


@dataclass(frozen=True)
class Renaming:
    """A file that shall have another path."""

    path: str
    new_path: str


Step = EditBlock | Deletion | Renaming


@dataclass(frozen=True)
class Problem:
    """A block that could not be used, in words the model can act on."""

    path: str
    """Empty where the block names none."""
    reason: str


@dataclass(frozen=True)
class Edited:
    """What became of the blocks."""

    files: Mapping[str, str | None]
    """The new text of each file that changed, with the line endings the model gave to what it wrote; ``None``: gone."""
    problems: tuple[Problem, ...]
    renames: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Where files went: the old path is gone in *files*, the new one has the text."""


def parse_edit_blocks(reply: str) -> tuple[Step, ...]:
    """The edits in *reply*, in order; prose and code fences around them are passed over."""
    lines = [line.rstrip("\r\n") + "\n" for line in split_lines(reply)]
    blocks: list[Step] = []
    path = ""
    at = 0
    while at < len(lines):
        if _SEARCH.match(lines[at].strip()):
            path = _path_above(lines, at) or path
            end = _end_of_block(lines, at + 1)
            blocks.append(EditBlock(path, tuple(lines[at + 1 : end])))
            at = end
        elif step := _file_operation(lines[at].strip()):
            path = step.new_path if isinstance(step, Renaming) else path
            blocks.append(step)
        at += 1
    return tuple(blocks)


def starts_edit(line: str) -> bool:
    """Whether *line* of a reply begins its first edit: what stands before it is prose."""
    text = line.strip()
    return text.lstrip("#* ").startswith(("FILE:", "<<<<<")) or _file_operation(text) is not None


def apply_edit_blocks(
    steps: Sequence[Step], read_text: Callable[[str], str | None], earlier: Edited = Edited(MappingProxyType({}), ())
) -> Edited:
    """The texts that *steps* lead to, applied in order, each on the result of the ones before.

    *read_text* gives the text of a file or ``None``, with what became of *earlier* steps. A step that cannot be made as
    it says is a problem and changes nothing; to say again that a file goes, or moves, is none.
    """
    draft = _Draft(read_text, earlier)
    problems = [problem for step in steps if (problem := draft.make(step)) is not None]
    return Edited(draft.files, tuple(problems), draft.renames)


@dataclass
class _Draft:
    """The files as they are after some steps."""

    read_text: Callable[[str], str | None]
    earlier: Edited
    files: dict[str, str | None] = field(default_factory=dict[str, str | None])
    renames: dict[str, str] = field(default_factory=dict[str, str])

    def make(self, step: Step) -> Problem | None:
        """Make a step; why not, where it cannot be made."""
        match step:
            case EditBlock():
                return self._edit(step)
            case Deletion():
                return self._delete(step.path)
            case Renaming():
                return self._rename(step.path, step.new_path)

    def _text(self, path: str) -> str | None:
        return self.files[path] if path in self.files else self.read_text(path)

    def _is_gone(self, path: str) -> bool:
        """Whether these steps, or earlier ones, took the file away."""
        return path in self.files or path in self.earlier.files

    def _went_to(self, path: str) -> str:
        """The path that these steps, or earlier ones, gave the file; empty where they gave it none."""
        new_path = joined_renames(self.earlier.renames, self.renames).get(path, "")
        return new_path if new_path and self._text(new_path) is not None else ""

    def _edit(self, block: EditBlock) -> Problem | None:
        if not block.path:
            return Problem("", "No `FILE:` line stands above this block.")
        current = self._text(block.path)
        if current is None and (new_path := self._went_to(block.path)):
            return Problem(block.path, f"{block.path} is {new_path} by now; name it so.")
        outcome = _apply(block, current)
        if isinstance(outcome, Problem):
            return outcome
        if outcome != current:
            self.files[block.path] = outcome
        return None

    def _delete(self, path: str) -> Problem | None:
        if self._text(path) is None:
            return None if self._is_gone(path) else Problem(path, f"{path} does not exist, so it cannot be deleted.")
        self.files[path] = None
        self.renames = {old: new for old, new in self.renames.items() if new != path}
        return None

    def _rename(self, path: str, new_path: str) -> Problem | None:
        text = self._text(path)
        if text is None:
            is_repeated = self._went_to(path) == new_path
            return None if is_repeated else Problem(path, f"{path} does not exist, so it cannot be renamed.")
        if self._text(new_path) is not None:
            return Problem(new_path, f"{new_path} exists, so {path} cannot get its name.")
        self.files |= {path: None, new_path: text}
        self.renames = joined_renames(self.renames, {path: new_path})
        return None


def joined_renames(first: Mapping[str, str], then: Mapping[str, str]) -> dict[str, str]:
    """Where files went by renames of which some follow others."""
    moved = {old: then.get(new, new) for old, new in first.items()}
    later = {old: new for old, new in then.items() if old not in first.values()}
    return {old: new for old, new in (moved | later).items() if old != new}


def _file_operation(line: str) -> Deletion | Renaming | None:
    if match := _RENAME.match(line):
        return Renaming(_plain_path(match[1]), _plain_path(match[2]))
    return Deletion(_plain_path(match[1])) if (match := _DELETE.match(line)) else None


def _plain_path(text: str) -> str:
    return text.strip("#*`'\" :").replace("\\", "/").removeprefix("./")


def _path_above(lines: Sequence[str], marker: int) -> str:
    """The path on the nearest line above *marker* that is neither blank nor a code fence."""
    for line in reversed(lines[max(0, marker - 4) : marker]):
        text = line.strip()
        if not text or _FENCE.match(text):
            continue
        if match := _FILE_LINE.match(text):
            text = match[1]
        elif " " in text.strip("#*` "):
            return ""
        path = _plain_path(text)
        return path if "." in path or "/" in path else ""
    return ""


def _end_of_block(lines: Sequence[str], start: int) -> int:
    """The line of the REPLACE marker, or of whatever ends the block where the model forgot it."""
    for at in range(start, len(lines)):
        text = lines[at].strip()
        if _REPLACE.match(text) or _SEARCH.match(text):
            return at if _REPLACE.match(text) else at - 1
    return len(lines)


def _apply(block: EditBlock, current: str | None) -> str | Problem:
    dividers = [at for at, line in enumerate(block.body) if _DIVIDER.match(line)]
    if not dividers:
        return Problem(block.path, "The block has no `=======` line between SEARCH and REPLACE.")
    if not any(line.strip() for line in block.body[: dividers[0]]):
        return _added(current, block.body[dividers[0] + 1 :])
    if current is None:
        return Problem(block.path, f"{block.path} does not exist; leave SEARCH empty to create it.")
    problem: Problem | None = None
    # Either text may itself hold a line of equals signs; the longest search that matches is the one that was meant.
    for divider in reversed(dividers):
        outcome = _replaced(block, current, block.body[:divider], block.body[divider + 1 :])
        if isinstance(outcome, str):
            return outcome
        problem = outcome
    assert problem is not None
    return problem


def _added(current: str | None, new: Sequence[str]) -> str:
    """*new* as a file of its own, or after two blank lines at the end of *current*."""
    text = "".join(new)
    if current is None or not current.strip():
        return text.lstrip("\n")
    return current.rstrip("\r\n") + "\n\n\n" + text.strip("\n") + "\n"


def _replaced(block: EditBlock, current: str, search: Sequence[str], new: Sequence[str]) -> str | Problem:
    lines = split_lines(current)
    for same in (_same_text, _same_but_trailing_space, _same_but_indentation):
        places = _places(lines, search, same)
        if len(places) > 1:
            numbers = ", ".join(str(place + 1) for place in places[:5])
            reason = (
                f"SEARCH matches {len(places)} places in {block.path} (lines {numbers}); add lines until one is left."
            )
            return Problem(block.path, reason)
        if places:
            found = lines[places[0] : places[0] + len(search)]
            written = _reindented(new, search, found) if same is _same_but_indentation else list(new)
            if not found[-1].endswith(("\n", "\r")) and written:
                written[-1] = written[-1].rstrip("\n")
            return "".join([*lines[: places[0]], *written, *lines[places[0] + len(search) :]])
    return Problem(block.path, _not_found(block.path, lines, search))


def _places(
    lines: Sequence[str], search: Sequence[str], same: Callable[[Sequence[str], Sequence[str]], bool]
) -> list[int]:
    return [at for at in range(len(lines) - len(search) + 1) if same(lines[at : at + len(search)], search)]


def _same_text(found: Sequence[str], search: Sequence[str]) -> bool:
    return all(a.rstrip("\r\n") == b.rstrip("\n") for a, b in zip(found, search, strict=True))


def _same_but_trailing_space(found: Sequence[str], search: Sequence[str]) -> bool:
    return all(a.rstrip() == b.rstrip() for a, b in zip(found, search, strict=True))


def _same_but_indentation(found: Sequence[str], search: Sequence[str]) -> bool:
    """Whether the lines differ by one and the same indentation, blank lines aside."""
    if any(a.strip() != b.strip() for a, b in zip(found, search, strict=True)):
        return False
    shifts = {_indent(a) - _indent(b) for a, b in zip(found, search, strict=True) if a.strip()}
    return len(shifts) == 1


def _reindented(new: Sequence[str], search: Sequence[str], found: Sequence[str]) -> list[str]:
    shift, unit = next((_indent(a) - _indent(b), a[:1]) for a, b in zip(found, search, strict=True) if a.strip())
    if shift >= 0:
        pad = ("\t" if unit == "\t" else " ") * shift
        return [pad + line if line.strip() else line for line in new]
    return [line[min(-shift, _indent(line)) :] if line.strip() else line for line in new]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


def _not_found(path: str, lines: Sequence[str], search: Sequence[str]) -> str:
    """What to tell the model: the lines of the file that come nearest to what it searched."""
    first = next((line.strip() for line in search if line.strip()), "")
    candidates = [line.strip() for line in lines]
    close = difflib.get_close_matches(first, candidates, n=1, cutoff=0.5)
    if not close:
        return f"SEARCH matches nothing in {path}; copy the lines exactly as the file has them."
    at = candidates.index(close[0])
    nearest = "".join(lines[at : at + min(len(search) + 2, _NEAREST_LINES)])
    return f"SEARCH matches nothing in {path}. The nearest lines are (from line {at + 1}):\n{nearest.rstrip()}"
