"""Apply the edits of a reply to texts: each exactly as it says, or not at all, with the reason.

`edit_blocks.md` and `file_operations.md` describe the format to the model; `replies` reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from rolecall_analysis import is_python
from rolecall_server.context.redaction import unknown_covers
from rolecall_server.craft.edits.matching import find, nearest, put_in_place, stands_in, with_breaks, without_breaks
from rolecall_server.craft.edits.replies import Deletion, EditBlock, Renaming, Step, parse_edit_blocks
from rolecall_server.craft.script_part import split_before_script_part
from rolecall_server.text_work import look_at_the_clock
from rolecall_server.workspace import split_lines

__all__ = ["EditProblem", "Edited", "apply_edit_blocks", "joined_renames", "parse_edit_blocks"]


@dataclass(frozen=True)
class EditProblem:
    """An edit that could not be used, in words the model can act on."""

    path: str
    """Empty where it names none."""
    reason: str
    blocks: tuple[int, ...] = ()
    """The numbers of its blocks in the reply, from 1; empty where a line about a file as a whole is meant."""
    is_refusal: bool = False
    """The edit may not be made, however it is written."""


@dataclass(frozen=True)
class Edited:
    """The result of applying edits."""

    files: Mapping[str, str | None]
    """The new text of each file that changed, with the endings the model gave to the lines it wrote; ``None``: gone."""
    problems: tuple[EditProblem, ...]
    renames: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Where files went: the old path is gone in *files*, the new one has the text."""
    applied: tuple[EditBlock, ...] = ()
    """The blocks that are in *files*, each with the path of its file."""


Texts = Callable[[str], str | None]
"""Give the text of a file, or ``None`` where there is none."""


def apply_edit_blocks(
    steps: Sequence[Step], read_text: Texts, earlier: Edited = Edited(MappingProxyType({}), ()), shown: str = ""
) -> Edited:
    """Return the texts that *steps* lead to, applied in order, each on the result of the ones before.

    *read_text* gives the text of a file or ``None``, with what became of *earlier* steps; *shown* is what the model
    was shown beside the files. A step that cannot be made as it says is a problem and changes nothing; to say again
    that a file goes, or moves, or what a block of *earlier* says, is none.
    """
    draft = _Draft(read_text, earlier, shown)
    tried = [(step, draft.make(step)) for step in steps]
    problems = tuple(draft.explained(step, problem) for step, problem in tried if problem is not None)
    made = (step for step, problem in tried if problem is None and isinstance(step, EditBlock))
    return Edited(draft.files, problems, draft.renames, tuple(draft.named(block) for block in made))


def joined_renames(first: Mapping[str, str], then: Mapping[str, str]) -> dict[str, str]:
    """Return where files went by renames of which some follow others."""
    moved = {old: then.get(new, new) for old, new in first.items()}
    later = {old: new for old, new in then.items() if old not in first.values()}
    return {old: new for old, new in (moved | later).items() if old != new}


@dataclass
class _Draft:
    """The files as they are after some steps."""

    read_text: Texts
    earlier: Edited
    shown: str
    files: dict[str, str | None] = field(default_factory=dict[str, str | None])
    renames: dict[str, str] = field(default_factory=dict[str, str])

    def make(self, step: Step) -> EditProblem | None:
        """Make a step; why not, where it cannot be made."""
        look_at_the_clock()
        if step.fault:
            return EditProblem(step.path, step.fault)
        match step:
            case EditBlock():
                return self._edit(step)
            case Deletion():
                return self._delete(self._meant(step.path))
            case Renaming():
                return self._rename(self._meant(step.path), step)

    def explained(self, step: Step, problem: EditProblem) -> EditProblem:
        """Return *problem* with the number of its block, and with the text as it is after all steps."""
        look_at_the_clock()
        if not isinstance(step, EditBlock):
            return problem
        path = self._meant(step.path)
        current = self._text(path) if path else None
        if problem is _FITS_NOWHERE and current is not None:
            problem = EditProblem(path, _nothing_found(step, path, current))
        return replace(problem, path=path, blocks=(step.number,))

    def named(self, block: EditBlock) -> EditBlock:
        """Return *block* with the path of the file it is about."""
        return replace(block, path=self._meant(block.path))

    def _text(self, path: str) -> str | None:
        return self.files[path] if path in self.files else self.read_text(path)

    def _meant(self, path: str) -> str:
        """Return *path*, or the file it plainly stands for where there is none of that name."""
        others = (path.removesuffix(":"), path.replace("\\", "/").removeprefix("./"))
        if not path or self._text(path) is not None:
            return path
        return next((other for other in others if other != path and self._text(other) is not None), path)

    def _is_gone(self, path: str) -> bool:
        """Return whether these steps, or earlier ones, took the file away."""
        return path in self.files or path in self.earlier.files

    def _went_to(self, path: str) -> str:
        """Return the path that these steps, or earlier ones, gave the file; empty where they gave it none."""
        new_path = joined_renames(self.earlier.renames, self.renames).get(path, "")
        return new_path if new_path and self._text(new_path) is not None else ""

    def _edit(self, block: EditBlock) -> EditProblem | None:
        path = self._meant(block.path)
        current = self._text(path)
        if current is None and (new_path := self._went_to(path)):
            return EditProblem(path, f"{path} is {new_path} by now; name it so.")
        if current is None and block.doubt:
            return EditProblem(path, block.doubt)
        if strange := unknown_covers("".join(block.body), f"{current or ''}\n{self.shown}"):
            return EditProblem(path, _strange(strange[0]))
        if current is not None and self._is_made(block, current):
            return None
        outcome = _applied(block, path, current)
        if isinstance(outcome, EditProblem):
            return outcome
        if outcome != current:
            self.files[path] = outcome
        return None

    def _is_made(self, block: EditBlock, current: str) -> bool:
        """Return whether *block* was applied before, word for word, and what it wrote still stands."""
        path = self._meant(block.path)
        if not any((path, block.body) == (one.path, one.body) for one in self.earlier.applied):
            return False
        lines = split_lines(current)
        for at in reversed(block.dividers):
            search, new = block.body[:at], block.body[at + 1 :]
            if stands_in(lines, _trimmed(new)) is not None or (search and not find(lines, search).starts):
                return True
        return False

    def _delete(self, path: str) -> EditProblem | None:
        if self._text(path) is None:
            return (
                None if self._is_gone(path) else EditProblem(path, f"{path} does not exist, so it cannot be deleted.")
            )
        self.files[path] = None
        self.renames = {old: new for old, new in self.renames.items() if new != path}
        return None

    def _rename(self, path: str, step: Renaming) -> EditProblem | None:
        text, new_path = self._text(path), step.new_path
        if text is None:
            is_repeated = self._went_to(path) == new_path
            return None if is_repeated else EditProblem(path, f"{path} does not exist, so it cannot be renamed.")
        if self._text(new_path) is not None:
            return EditProblem(new_path, f"{new_path} exists, so {path} cannot get its name.")
        if step.doubt:
            return EditProblem(new_path, step.doubt)
        self.files |= {path: None, new_path: text}
        self.renames = joined_renames(self.renames, {path: new_path})
        return None


# Known by identity: which lines come nearest is said after all steps, of the text as it is then.
_FITS_NOWHERE = EditProblem("", "SEARCH matches nothing.")


def _applied(block: EditBlock, path: str, current: str | None) -> str | EditProblem:
    """Return the text that *block* makes of *current*."""
    dividers = block.dividers
    if not dividers:
        return EditProblem(path, "The block has no `=======` line between SEARCH and REPLACE.")
    if not any(line.strip() for line in block.body[: dividers[0]]):
        return _added(path, current, block.body[dividers[0] + 1 :])
    if current is None:
        return EditProblem(path, f"{path} does not exist; leave SEARCH empty to create it.")
    outcome: str | EditProblem = _FITS_NOWHERE
    # Either text may itself hold a line of equals signs; the longest search that matches is the one that was meant.
    for divider in reversed(dividers):
        outcome = _replaced(path, current, block.body[:divider], block.body[divider + 1 :])
        if isinstance(outcome, str):
            return outcome
    return outcome


def _added(path: str, current: str | None, new: Sequence[str]) -> str:
    """Return *new* as a file of its own, or after two blank lines at the end of *current*: in Python before what the
    file does as a script.
    """
    text = "".join(new)
    if current is None or not current.strip():
        return text.lstrip("\n")
    above, script = split_before_script_part(current) if is_python(path) else (current, "")
    added = text.strip("\n") + "\n" + ("\n\n" + script if script else "")
    return above.rstrip("\r\n") + "\n\n\n" + added if above.strip() else added


def _replaced(path: str, current: str, search: Sequence[str], new: Sequence[str]) -> str | EditProblem:
    places = find(split_lines(current), search)
    if not places.starts:
        broken = with_breaks(current)
        if broken == current:
            return _FITS_NOWHERE
        outcome = _replaced(path, broken, search, new)
        return without_breaks(outcome) if isinstance(outcome, str) else outcome
    first, *others = places.starts
    if others:
        numbers = ", ".join(str(start + 1) for start in places.starts[:5])
        reason = f"SEARCH matches {len(places.starts)} places in {path} (lines {numbers}); add lines until one is left."
        return EditProblem(path, reason)
    return put_in_place(current, first, search, new, places)


def _nothing_found(block: EditBlock, path: str, current: str) -> str:
    """Return a message to the model with the lines of the file that come nearest to what it searched, as they
    are now.
    """
    lines = split_lines(current)
    divider = block.dividers[0]
    search, new = block.body[:divider], block.body[divider + 1 :]
    told = f"SEARCH matches nothing in {path}"
    if (there := stands_in(lines, _trimmed(new))) is not None:
        return f"{told}, and what shall take its place stands there already, from line {there}. Leave it out if so."
    if (near := nearest(lines, search)) is None:
        return f"{told}; copy the lines exactly as the file has them."
    return f"{told}. The nearest lines are (from line {near.first}):\n{near.text}"


def _trimmed(lines: Sequence[str]) -> tuple[str, ...]:
    """Return *lines* without the blank ones at both ends."""
    full = [at for at, line in enumerate(lines) if line.strip()]
    return tuple(lines[full[0] : full[-1] + 1]) if full else ()


def _strange(name: str) -> str:
    return (
        f"{name} stands for no secret that you were shown, so it cannot be turned back. Repeat the name of a covered "
        "secret exactly as you were shown it, leave its line out of the block, or use another name."
    )
