"""Notes of a model's own: what it believes of names that no lookup found, a line each.

`notes.md` asks for them where nothing is found. A note is the model's word and stays marked as such: whoever reads one
is told that nothing has checked it.

Source: SelfEvolve (Jiang et al., 2023, arXiv 2306.02907) has a model write down what it knows before it writes code;
that this is told as unchecked is our own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rolecall_server.model.prompts import prompts_beside

MOST_NOTES = 5
MOST_OF_A_NOTE = 300
"""Characters."""
_PROMPTS = prompts_beside(__file__)
_NOTE = re.compile(
    r"^[ \t>*_`-]*+Note[ \t*_`]*+:[ \t*_`]*+([^\W\d]\w*+(?:\.[^\W\d]\w*+)++)(?:\(\))?+[ \t*_`]*+:"
    r"[ \t*_`]*+([^\s*_`].*)$",
    re.MULTILINE | re.IGNORECASE,
)


@dataclass(frozen=True)
class Note:
    """What a model says from memory of a name that was not found."""

    name: str
    """Dotted in full: ``requests.Session.mount``."""
    said: str

    def __str__(self) -> str:
        return f"{self.name}: {self.said}"[:MOST_OF_A_NOTE]

    @property
    def last(self) -> str:
        """The name as code says it: ``mount``."""
        return self.name.rpartition(".")[2]


def is_note(line: str) -> bool:
    """Return whether *line* has the form of a note."""
    return _NOTE.match(line) is not None


def read_notes(said: str) -> tuple[Note, ...]:
    """Return the first notes of *said*, which stands beside edits; of a name that is noted again its last one."""
    found = {one[1]: Note(one[1], one[2].strip()[:MOST_OF_A_NOTE]) for one in _NOTE.finditer(said)}
    return tuple(one for one in found.values() if len(one.name) < MOST_OF_A_NOTE)[:MOST_NOTES]


def used_in(notes: Iterable[Note], files: Mapping[str, str | None]) -> tuple[Note, ...]:
    """Return those of *notes* whose names the texts of *files* say; what a model gave up again needs no telling."""
    words = {word for text in files.values() for word in re.findall(r"\w+", text or "")}
    return tuple(one for one in notes if one.last in words)


def without_notes(said: str) -> str:
    """Return *said* without the lines that note something."""
    return "\n".join(line for line in said.splitlines() if not is_note(line)).strip()


def ask_for_notes() -> str:
    """Return the request to note what a model goes on to use from memory."""
    return _PROMPTS["invitation"]


def tell_notes(notes: Sequence[Note]) -> str:
    """Return *notes* as whoever works on is told them; empty where there are none."""
    return _PROMPTS["told again"].format(notes="\n".join(f"- {one}" for one in notes)) if notes else ""
