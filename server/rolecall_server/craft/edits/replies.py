"""Read what models reply: edits, and what is said beside them.

`edit_blocks.md` and `file_operations.md` describe the format to the model.

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

Blocks below one ``FILE:`` line are all about that file. A block is read exactly or not at all: where its file or its
end is not certain, it carries the reason, is never applied, and is asked for again.

Source: the SEARCH/REPLACE form goes back to merge-conflict markers; that models write code better in plain text
than inside JSON is what several published comparisons of edit formats found.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rolecall_server.craft.edits.named_paths import Name, bare_name, mentioned, read_name, single_words, unclear
from rolecall_server.craft.edits.notes import is_note
from rolecall_server.text_work import look_at_the_clock
from rolecall_server.workspace import split_lines

_MOST_SIGNS = 40
"""That a marker is told from others by."""
_PLAIN = 7
"""The usual number of signs in a marker. A block with more of them may hold lines that look like markers."""
_SEARCH = re.compile(r"(?P<signs><{5,})\s?SEARCH\s*$", re.IGNORECASE)
_REPLACE = re.compile(r"(?P<signs>>{5,})\s?REPLACE\s*$", re.IGNORECASE)
_DIVIDER = re.compile(r"(?P<signs>={5,9})\s*$")
_OTHER_OPENING = re.compile(r"<{5,}\s*\w[^<>]*$")
_OTHER_CLOSING = re.compile(r">{5,}\s*+\w*+\s*+$")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})[\w+-]*\s*$")
_LEAD = r"(?P<lead>[\s>#*+`\d.)(-]*)"
_FILE_LINE = re.compile(
    rf"{_LEAD}(?:(?P<plain>FILE)|file(?:[ _]?(?:name|path))?|path)"
    r"(?P<bold>\**+\s*+[:\uff1a]\**+)(?P<name>.*)$",  # \uff1a: the colon of Chinese and Japanese
    re.IGNORECASE,
)
_ODD_FILE_LINE = re.compile(r"[\W\d_]*FILE\b")
_TALK_OF_A_FILE = re.compile(
    r"[\W\d_]*+(?:\w++\s++){0,3}(?:file(?:name|path)?|path)\b[^:=]{0,20}[:=]\s*\S", re.IGNORECASE
)
_OPERATION = re.compile(rf"{_LEAD}(?P<what>DELETE|RENAME|MOVE|REMOVE) FILE\b\**(?P<colon>\s*:)?\**\s*(?P<rest>.*)$")
_ARROW = re.compile(r"(?P<old>`[^`]+`\s*+|\"[^\"]+\"\s*+|.+?)(?:->|=>|→)\s*+(?P<new>.+)$")
_INSTEAD = re.compile(
    r"^[ \t>*_`-]*+(?:Finding|No change|Environment|Equivalent|WIDEN|ANSWER\s++F\d++)[\s*_`]*+:[\s*_`]*+\S",
    re.IGNORECASE | re.MULTILINE,
)
"""Begins a line that a role is told to write where it has no edit to make."""
_NOTHING = re.compile(
    r"\b(?:nothing (?:has to|needs to|to|is to be|should) (?:be )?change|no (?:code )?(?:change|edit)s? (?:is|are)\b"
    r"|(?:needs?|requires?) no (?:change|edit)|(?:is|are|was|were|has|have|does|do) already)",
    re.IGNORECASE,
)
_MOST_STEPS = 1_000
"""Edits in one reply; what has more of them is no change that anybody reads."""
_MOST_BETWEEN = 500
"""Lines between two blocks that may both be about one file."""
_MOST_OF_A_LINE = 2_000
"""Characters of a line that is read for names of files."""
_LEAST_OF_A_REASON = 12
"""Letters and digits; "No." gives none."""
_CODE = re.compile(r"^[ \t]*+(?:`{3,}|~{3,}|<{5,}|>{5,}|={5,})", re.MULTILINE)
_NO_NAME = Name(fault="No `FILE:` line stands above this block.")
_TOO_MANY = f"The reply holds more than {_MOST_STEPS:,} edits; what follows was not read. Send fewer at once."
_LONGER = "Where the text itself holds lines like these markers, write all three markers of the block with nine signs."


@dataclass(frozen=True)
class EditBlock:
    """One block as the model wrote it."""

    path: str
    """Relative to the root, or empty where none could be read."""
    body: tuple[str, ...]
    """The lines between the SEARCH and the REPLACE marker, divider included, with ``\\n`` endings."""
    fault: str = ""
    """Why it cannot be read, in words the model can act on; then it is not applied."""
    doubt: str = ""
    """Why no file of that name is made without asking."""
    number: int = 0
    """Among the blocks of its reply, from 1."""
    signs: int = _PLAIN
    """The number of signs in its markers."""

    @property
    def dividers(self) -> list[int]:
        """The lines of the body that may part what is searched from what takes its place."""
        found = ((at, _DIVIDER.match(line)) for at, line in enumerate(self.body))
        least = _least(self.signs)
        return [at for at, match in found if match is not None and len(match["signs"]) >= least]


@dataclass(frozen=True)
class Deletion:
    """A file that shall be gone."""

    path: str
    fault: str = ""


@dataclass(frozen=True)
class Renaming:
    """A file that shall have another path."""

    path: str
    new_path: str
    fault: str = ""
    doubt: str = ""
    """Why no file gets the new path without asking."""


Step = EditBlock | Deletion | Renaming


@dataclass(frozen=True)
class _Part:
    """A step and the lines of the reply that it takes."""

    step: Step
    first: int
    """The line that names its file, or else the first of its own."""
    start: int
    end: int


def parse_edit_blocks(reply: str) -> tuple[Step, ...]:
    """Return the edits in *reply*, in order; prose and code fences around them are passed over."""
    return tuple(part.step for part in _read(_lines(reply)))


def prose_of(reply: str, max_characters: int = 4000) -> str:
    """Return what a model said before its first edit."""
    lines = _lines(reply)
    parts = _read(lines)
    named = (at for at, line in enumerate(lines) if (match := _FILE_LINE.match(line)) and match["plain"] == "FILE")
    end = parts[0].first if parts else next(named, len(lines))
    text = "".join(lines[:end]).strip().removesuffix("```").strip()
    return text if len(text) <= max_characters else text[:max_characters].rsplit(" ", 1)[0] + " …"


def text_beside_edits(reply: str) -> str:
    """Return the lines of *reply* that stand outside its edit blocks."""
    lines = _lines(reply)
    inside = {at for part in _read(lines) if isinstance(part.step, EditBlock) for at in range(part.start, part.end)}
    return "".join(line for at, line in enumerate(lines) if at not in inside)


def is_answer(reply: str, *, was_asked_again: bool) -> bool:
    """Return whether *reply* says all that is to be said, without an edit.

    It does where it holds what a role is told to say instead of edits, or says that nothing has to change. Where edits
    were there before, or were asked for again, it needs no form: a reason without code will do.
    """
    if parse_edit_blocks(reply):
        return False
    if _INSTEAD.search(reply) or (_NOTHING.search(reply) and not _CODE.search(reply)):
        return True
    gives_a_reason = len(re.findall(r"\w", reply)) >= _LEAST_OF_A_REASON
    return was_asked_again and gives_a_reason and not _CODE.search(reply)


def _lines(reply: str) -> list[str]:
    return [line.rstrip("\r\n") + "\n" for line in split_lines(reply)]


def _read(lines: Sequence[str]) -> list[_Part]:
    reader = _Reader(lines)
    while reader.at < len(lines) and len(reader.parts) < _MOST_STEPS:
        look_at_the_clock()
        reader.step()
    if len(reader.parts) == _MOST_STEPS:
        reader.parts[-1] = replace(reader.parts[-1], step=EditBlock("", (), _TOO_MANY, number=_MOST_STEPS))
    return reader.parts


class _Reader:
    """Goes through a reply from its first line to its last."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self.parts: list[_Part] = []
        self.at: int = 0
        self._gap: int = 0
        """Where the lines since the last step begin."""
        self._name = _NO_NAME
        """The file that a block belongs to if no line above it says otherwise."""
        self._is_open = False
        """The block before has no end, so that this one may be a part of its text."""
        self._n_blocks = 0
        self._markers = list(_markers(lines))
        self._ends: dict[int, dict[int, tuple[int, bool]]] = {}
        """Where blocks end, by how many signs a marker must have."""

    def step(self) -> None:
        """Read the next line, with the block that it begins."""
        text = self.lines[self.at].strip()
        if match := _SEARCH.match(text):
            self._block(len(match["signs"]))
        elif match := _OPERATION.match(text):
            self._operation(match)
        elif _OTHER_OPENING.match(text) and (end := self._end_of_other()):
            fault = f"It begins with {text!r}; begin it with `<<<<<<< SEARCH` alone, below its `FILE:` line."
            self._name, first = self._named("")
            self._add(replace(self._name, fault=fault), first, end)
        elif _REPLACE.match(text):
            self._stray_end()
        else:
            self.at += 1

    def _block(self, signs: int) -> None:
        end, is_closed = self._end(signs)
        body = tuple(self.lines[self.at + 1 : end])
        self._name, first = self._named("".join(body))
        fault = "" if is_closed else f"It has no `>>>>>>> REPLACE` line at its end. {_LONGER}"
        if self._is_open:
            fault = f"The block before it has no `>>>>>>> REPLACE` line, so it may be a part of that one. {_LONGER}"
        self._add(replace(self._name, fault=fault or self._name.fault), first, end + is_closed, body, signs)
        if self._is_open:
            self._name = _NO_NAME
        self._is_open = not is_closed

    def _add(self, name: Name, first: int, end: int, body: tuple[str, ...] = (), signs: int = _PLAIN) -> None:
        self._n_blocks += 1
        block = EditBlock(name.path, body, name.fault, name.doubt, self._n_blocks, signs)
        self.parts.append(_Part(block, first, self.at, end))
        self.at = self._gap = end

    def _end(self, signs: int) -> tuple[int, bool]:
        """Return the line that ends the block which begins here, and whether that is its own REPLACE marker.

        Blocks within its text are passed over where they are whole.
        """
        least = _least(signs)
        if least not in self._ends:
            markers = [marker for marker in self._markers if marker.n_signs >= least]
            self._ends[least] = _ends_of(markers, len(self.lines))
        return self._ends[least][self.at]

    def _end_of_other(self) -> int:
        """Return the end of a block with other markers that begins here; 0 where none does."""
        for at in range(self.at + 1, len(self.lines)):
            text = self.lines[at].strip()
            if _OTHER_CLOSING.match(text):
                return at + 1
            if text.startswith("<<<<<"):
                break
        return 0

    def _stray_end(self) -> None:
        """A REPLACE marker that ends nothing: of a block without a beginning, or of the one before."""
        gap = self._between()
        said = [line for line in gap if line.strip() and not _FENCE.match(line)]
        names = [at for at, line in enumerate(gap) if _FILE_LINE.match(line)]
        before = self.parts[-1] if self.parts else None
        if said and (names or before is None or not isinstance(before.step, EditBlock)):
            fault = "It has no `<<<<<<< SEARCH` line at its beginning."
            self._add(Name(fault=fault), self._gap + (names[-1] if names else 0), self.at + 1)
            self._name = _NO_NAME
        elif said and before is not None and isinstance(before.step, EditBlock):
            fault = f"A second `>>>>>>> REPLACE` line stands below it, so its end is not certain. {_LONGER}"
            step = replace(before.step, fault=before.step.fault or fault)
            self.parts[-1] = _Part(step, before.first, before.start, self.at + 1)
            self.at = self._gap = self.at + 1
        else:
            self.at += 1

    def _between(self) -> list[str]:
        """Return the lines since the last step; a note there is about no file, whatever its words look like."""
        return ["\n" if is_note(line) else line for line in self.lines[self._gap : self.at]]

    def _operation(self, match: re.Match[str]) -> None:
        step = _file_operation(match)
        self._name = _NO_NAME
        if isinstance(step, Renaming):
            self._name = Name(step.new_path, step.fault, step.doubt)
        self.parts.append(_Part(step, self.at, self.at, self.at + 1))
        self.at = self._gap = self.at + 1

    def _named(self, body: str) -> tuple[Name, int]:
        """Return the file of the block that begins here and has *body*, and the line that names the file, or else the
        block's first line.
        """
        gap = self._between()
        by_label = [at for at, line in enumerate(gap) if _FILE_LINE.match(line)]
        nearest = max((at for at, line in enumerate(gap) if line.strip() and not _FENCE.match(line)), default=-1)
        bare = bare_name(gap[nearest]) if nearest >= 0 and nearest not in by_label else None
        if bare is not None and _is_in(gap[nearest].strip("#*`'\": \n"), body):
            bare = None  # a heading that says which code is meant
        if by_label:
            name = _with_label(gap[by_label[-1]])
            return _settled(name, bare, gap[by_label[-1] + 1 :]), self._gap + by_label[-1]
        if bare is not None:
            return bare, self._gap + nearest
        return self._inherited(gap, nearest, body), self.at

    def _inherited(self, gap: Sequence[str], nearest: int, body: str) -> Name:
        """Return the file of the block before, unless the text between the two may be about another file."""
        if len(gap) > _MOST_BETWEEN:
            return Name(fault="Too much stands between it and the `FILE:` line above; write that line again.")
        for at, line in enumerate(gap):
            spoken = mentioned(line[:_MOST_OF_A_LINE])
            if at == nearest and line.rstrip().endswith(":"):
                spoken += single_words(line)
            others = (one for one in spoken if not _is_in(one, body) and not _is_tail(one, self._name.path))
            if _TALK_OF_A_FILE.match(line[:_MOST_OF_A_LINE]) or _ODD_FILE_LINE.match(line) or any(others):
                return self._name if self._name.fault else Name(fault=unclear(line))
        return self._name


@dataclass(frozen=True)
class _Marker:
    """A line that may begin or end a block."""

    at: int
    n_signs: int
    begins: bool


def _markers(lines: Sequence[str]) -> Iterator[_Marker]:
    for at, line in enumerate(lines):
        text = line.strip()
        if match := _SEARCH.match(text) or _REPLACE.match(text):
            yield _Marker(at, len(match["signs"]), begins=text[0] == "<")


def _ends_of(markers: Sequence[_Marker], n_lines: int) -> dict[int, tuple[int, bool]]:
    """Return, for each line that begins a block, where that ends, and whether its own REPLACE marker stands there.

    Without one it ends where the next block begins.
    """
    ends: dict[int, tuple[int, bool]] = {}
    begun: list[int] = []
    for marker in markers:
        if marker.begins:
            begun.append(marker.at)
        elif begun:
            ends[begun.pop()] = (marker.at, True)
    following = n_lines
    for marker in reversed(markers):
        if marker.begins:
            ends.setdefault(marker.at, (following, False))
            following = marker.at
    return ends


def _least(signs: int) -> int:
    """Return the least number of signs that a line in a block must have to be one of its markers."""
    # Bounded, as each number that occurs takes a pass over all markers (`_Reader._end`).
    return min(signs, _MOST_SIGNS) if signs > _PLAIN else 5


def _with_label(line: str) -> Name:
    match = _FILE_LINE.match(line)
    assert match is not None
    said = match["name"].strip(" \t\n")
    for sign in "*`":
        if sign in match["lead"] + match["bold"]:
            said = said.rstrip(sign)
    name = read_name(said)
    if name.path and match["plain"] != "FILE" and " " in said and not name.doubt:
        return replace(name, doubt=unclear(line))
    return name


def _settled(name: Name, bare: Name | None, below: Sequence[str]) -> Name:
    """Return *name*, the file of a ``FILE:`` line, unless a line *below* it names another file."""
    odd = next((line for line in below if _ODD_FILE_LINE.match(line)), None)
    if odd is not None:
        return Name(fault=unclear(odd))
    if bare is None or not bare.path or bare.path == name.path:
        return name
    return bare if not name.path else Name(fault=f"Both {name.path} and {bare.path} are named above it.")


def _is_in(spoken: str, body: str) -> bool:
    """Return whether *spoken* is code of *body*, whole or its last part."""
    words = {spoken, spoken.rpartition(".")[2]} if not re.search(r"[/\\]", spoken) else {spoken}
    look_at_the_clock()
    plain = (word.rstrip("()") for word in words)
    return any(word and re.search(rf"(?<!\w){re.escape(word)}(?!\w)", body) for word in plain)


def _is_tail(spoken: str, path: str) -> bool:
    return f"/{path}".endswith(f"/{spoken.removeprefix('./')}")


def _file_operation(match: re.Match[str]) -> Deletion | Renaming:
    what, rest = match["what"], match["rest"].strip()
    for sign in "*`":
        rest = rest.rstrip(sign) if sign in match["lead"] else rest
    form = "`RENAME FILE: old -> new`" if what in ("RENAME", "MOVE") else "`DELETE FILE: path`"
    odd = Deletion("", f"The line {match[0].strip()!r} cannot be read; write {form}.")
    if not match["colon"]:
        return odd
    if what in ("DELETE", "REMOVE"):
        name = read_name(rest)
        return Deletion(name.path, name.fault)
    arrow = _ARROW.match(rest)
    if arrow is None:
        return odd
    old, new = read_name(arrow["old"]), read_name(arrow["new"])
    return Renaming(old.path, new.path, old.fault or new.fault, new.doubt)
