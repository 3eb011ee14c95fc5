"""The files that a brief wants to be there, and whether a change makes them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import PurePosixPath

from rolecall_analysis.languages import language_of

_ADDRESS = re.compile(r"\b[a-z][a-z0-9+.-]{1,20}://\S++", re.IGNORECASE)
_PATH = re.compile(r"(?<![\w/.~@*<-])[\w.-]{1,100}(?:/[\w.-]{1,100}){0,12}")
_NO_FILE = re.compile(r"^[ \t>*_`-]*+No file[\s*_`]*+:[\s*_`]*+([\w./-]++)", re.MULTILINE)
_BY_NAME = frozenset(("Makefile", "Dockerfile", "LICENSE", "CHANGELOG", "README"))
_SUFFIXES = frozenset((".md", ".rst", ".toml", ".cfg", ".ini", ".yml", ".yaml"))
_IN_A_FOLDER = frozenset((".txt", ".json", ".csv", ".html", ".css"))
"""Names that end so are as often what a program reads or writes, so they count where they stand with a folder."""


def wanted_files(brief: str) -> tuple[str, ...]:
    """Return the files of source, documentation and configuration that *brief* names, in order.

    ``shop/price.py``, ``README.md`` and ``Makefile`` are such files; ``out.csv`` may be what a program writes.
    """
    words = (word.rstrip(".-") for word in _PATH.findall(_ADDRESS.sub(" ", brief)))
    return tuple(dict.fromkeys(word for word in words if _is_wanted(word)))


def _is_wanted(word: str) -> bool:
    path = PurePosixPath(word)
    if path.name in _BY_NAME or (path.suffix in _IN_A_FOLDER and len(path.parts) > 1):
        return True
    return bool(path.stem.strip(".")) and (path.suffix in _SUFFIXES or bool(path.suffix and language_of(word)))


def unmade_files(brief: str, said: str, made: Iterable[str], is_there: Callable[[str], bool]) -> tuple[str, ...]:
    """Return the files that *brief* names and that are neither *made* nor there, whatever folder they are in.

    Those of which *said* says, in a line ``No file: NAME: why``, that they are none of the repository's, are left out.
    """
    left_out, paths = {*_NO_FILE.findall(said)}, tuple(f"/{path}" for path in made)
    return tuple(
        name
        for name in wanted_files(brief)
        if name not in left_out and not is_there(name) and not any(_holds(path, name) for path in paths)
    )


def _holds(path: str, name: str) -> bool:
    """Return whether *path* is the file called *name*; ``LICENSE`` may have an ending that nobody named."""
    return path.endswith(f"/{name}") or (name in _BY_NAME and PurePosixPath(path).stem == name)
