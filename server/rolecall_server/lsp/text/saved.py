"""Texts as they lie on the disk, read again only where they may be others by now."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from rolecall_server.workspace import Workspace, read_text_or_none

_MOST_TEXTS = 512
_MOST_CHARACTERS = 100_000
"""A longer text is not kept: of all of them at most 50 MB are."""
_SETTLED_NS = 100_000_000
"""A file that was written so shortly before it was looked at may be written once more within one tick of the file
system's clock, and look the same. Source: git's "racy" entries of the index, Documentation/technical/racy-git.txt."""

_Look = tuple[int, int, int, int, int]


@dataclass(frozen=True)
class SavedText:
    """A text as it was read."""

    look: _Look
    """The marks of its file, taken before it was read."""
    text: str


def read_saved(known: dict[Path, SavedText], workspace: Workspace, path: str) -> str | None:
    """Return the text of *path* on the disk, or ``None`` where there is none that can be read.

    What is *known* of it is returned while the file looks as it did then, and is kept up.
    """
    location = workspace.root / path
    look = _look_at(location)
    saved = known.get(location)
    if saved is not None and saved.look == look:
        return saved.text
    # It goes to the end of the dictionary: the first entry is the one that was read longest ago.
    known.pop(location, None)
    text = read_text_or_none(workspace, path)
    if look is not None and text is not None and len(text) <= _MOST_CHARACTERS:
        known[location] = SavedText(look, text)
        if len(known) > _MOST_TEXTS:
            del known[next(iter(known))]
    return text


def _look_at(location: Path) -> _Look | None:
    """Return by what a change of the file is seen; ``None`` where one could go unseen."""
    try:
        status = os.stat(location)  # noqa: PTH116 - a hundred of them for each decision
    except (OSError, ValueError):
        return None
    if time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns) < _SETTLED_NS:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
