"""A workspace in a string: ``#- path`` starts a file, ``<CURSOR>`` is a place, ``#@ label`` names a line."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

CURSOR = "<CURSOR>"

_HEADER = re.compile(r"#- (\S+)\n")
_LABEL = re.compile(r"[ \t]*#@ (\w+)[ \t]*$")


@dataclass(frozen=True)
class Place:
    """A line and column, both 0-based, of a file; the column counts code points."""

    path: str
    line: int
    column: int = 0


@dataclass(frozen=True)
class Fixture:
    """The files without their markers, and where the markers were."""

    files: Mapping[str, str]
    cursor: Place | None
    labels: Mapping[str, tuple[Place, ...]]
    """The lines of each label, in order; a label may name several."""

    def write_to(self, root: Path) -> Path:
        """Put the files below *root*, and return it."""
        for path, text in self.files.items():
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8", newline="")
        return root


def parse_fixture(text: str) -> Fixture:
    """The workspace that *text* describes. Text before the first header must be blank."""
    assert text.count(CURSOR) <= 1, "more than one cursor"
    before, *parts = _HEADER.split(textwrap.dedent(text))
    assert not before.strip(), f"text before the first '#- path': {before!r}"
    files: dict[str, str] = {}
    cursor: Place | None = None
    labels: dict[str, tuple[Place, ...]] = {}
    for path, body in zip(parts[::2], parts[1::2], strict=True):
        lines: list[str] = []
        for number, marked in enumerate(body.split("\n")):
            if label := _LABEL.search(marked):
                labels[label[1]] = (*labels.get(label[1], ()), Place(path, number))
            line = _LABEL.sub("", marked)
            if CURSOR in line:
                cursor = Place(path, number, line.index(CURSOR))
            lines.append(line.replace(CURSOR, ""))
        files[path] = "\n".join(lines)
    return Fixture(files, cursor, labels)
