"""The files that git would read: listed, and searched for a text."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import BaseModel, Field

from rolecall_analysis import Problem
from rolecall_analysis.folder import files_below
from rolecall_analysis.ignored import MAX_PATTERN_CHARACTERS, Ignored, is_ignored, is_there, read_rules
from rolecall_server.context.items import check_shown
from rolecall_server.craft.lookups.sources import LookupSources, bounded, shortened
from rolecall_server.errors import FileRefused, NotFound
from rolecall_server.workspace import (
    MAX_FILE_BYTES,
    PRIVACY_FILES,
    absolute_path,
    decode,
    privacy_of,
    read_bytes,
    split_lines,
)

_MOST_FILES = 50_000
_MOST_SEARCHED_BYTES = 200_000_000
_MOST_HITS = 60
_MOST_LISTED = 200
_MOST_NAMED = 3
_BYTES_LOOKED_AT = 8_000
"""A file with a zero byte among its first ones is binary.

Source: git's `buffer_is_binary`.
"""


class Words(BaseModel):
    """A text to look for."""

    text: str = Field(
        description="taken literally; in another case only where no file holds it so", min_length=2, max_length=200
    )
    folder: str = Field("", description="only in files below this folder, or in this one file; empty: everywhere")


class Pattern(BaseModel):
    """Some files of the repository."""

    folder: str = Field("", description="a folder; empty: the root")
    pattern: str = Field(
        "",
        description="as a line of .gitignore, such as *.toml or docs/**/*.md, for files at any depth below the folder; "
        "empty: what lies in the folder itself, each folder with its number of files",
        max_length=MAX_PATTERN_CHARACTERS,
    )


@dataclass
class _Found:
    """The results that a search has found so far."""

    hits: list[str] = field(default_factory=list[str])
    n_files: int = 0
    """So many were searched."""
    n_holding: int = 0
    n_binary: int = 0
    too_large: list[str] = field(default_factory=list[str])
    unreadable: list[str] = field(default_factory=list[str])
    n_beyond: int = 0
    """So many were left when enough had been read."""

    @property
    def is_complete(self) -> bool:
        """Return whether each text file was searched."""
        return not (self.too_large or self.unreadable or self.n_beyond)


def search(sources: LookupSources, words: Words) -> str:
    """Return the lines that hold a text, by file, after a line that says what was searched.

    Raises:
        NotFound: there is no such folder or file, or it is left out.
        FileRefused: the file is kept from models.
    """
    paths = _paths(sources, _place(words.folder))
    found = _lines_of(sources, paths, words.text)
    said = _told(sources, words.text, found)
    if not found.hits:
        found = _lines_of(sources, paths, words.text, "(?i)")
        said += f" {_lines(found)} with letters of another case:" if found.hits else ""
    return bounded(sources, [said, *_first_hits(found)], "")


def _lines_of(sources: LookupSources, paths: Sequence[str], wanted: str, case: str = "") -> _Found:
    """Return the lines of *paths* that hold *wanted*; with ``(?i)`` as *case* in any case."""
    found = _Found()
    budget = _MOST_SEARCHED_BYTES
    for path in paths:
        if found.n_files >= _MOST_FILES or budget <= 0:
            found.n_beyond += 1
        elif (text := _text(sources, path, found)) is not None:
            found.n_files += 1
            budget -= len(text)
            hits = [f"{path}:{number}: {shortened(line, wanted)}" for number, line in _lines_with(text, wanted, case)]
            found.hits += hits
            found.n_holding += bool(hits)
    return found


def _lines_with(text: str, wanted: str, case: str) -> Iterator[tuple[int, str]]:
    """Yield the lines on which *wanted* begins, with their numbers from 1."""
    parts = wanted.replace("\r\n", "\n").split("\n")
    first, rest = (re.compile(case + re.escape(part)) for part in (parts[0], "\n".join(parts)))
    if not first.search(text):
        return
    # What is looked for must begin on a line, and may go on below it.
    lines = [line.rstrip("\r\n") for line in split_lines(text)]
    for number, line in enumerate(lines, 1):
        following = "\n".join(lines[number - 1 : number - 1 + len(parts)])
        if first.search(line) and (found := rest.search(following)) and found.start() <= len(line):
            yield number, line


def _text(sources: LookupSources, path: str, found: _Found) -> str | None:
    """Return the text of *path*; ``None``, noted in *found*, where it is no text, too large or not to be read."""
    workspace = sources.view.workspace
    if (buffer := workspace.buffers.get(path)) is not None:
        return buffer
    try:
        location = absolute_path(workspace, path)
        if location.stat().st_size > MAX_FILE_BYTES:
            found.too_large.append(path)
            return None
        content = read_bytes(location, path)
    except (FileRefused, OSError):
        found.unreadable.append(path)
        return None
    try:
        return decode(path, content).text
    except FileRefused:
        # By a NUL byte near its beginning git, too, takes a file for binary.
        if b"\0" in content[:_BYTES_LOOKED_AT]:
            found.n_binary += 1
            return None
        return content.decode("utf-8", "replace")


def _told(sources: LookupSources, wanted: str, found: _Found) -> str:
    """Return what was found, and what was searched."""
    files = "1 text file" if found.n_files == 1 else f"{found.n_files:,} text files"
    searched = f"Searched {files}; left out: {', '.join(_left_out(sources, found))}."
    if found.hits:
        of = f" in {found.n_holding:,} of them" if found.n_files > 1 else ""
        return f"{_lines(found)}{of}. {searched}"
    none = "No file holds" if found.is_complete else "None of the files that were searched holds"
    return f"{none} {wanted!r}. {searched}"


def _lines(found: _Found) -> str:
    return "1 line" if len(found.hits) == 1 else f"{len(found.hits):,} lines"


def _left_out(sources: LookupSources, found: _Found) -> list[str]:
    root = sources.view.workspace.root
    said = ["what git ignores or tools installed"]
    said += [f"what {name} names" for name in PRIVACY_FILES if is_there(root / name)]
    said += [f"{found.n_binary:,} binary"] if found.n_binary else []
    said += [f"larger than {MAX_FILE_BYTES:,} bytes: {_named(found.too_large)}"] if found.too_large else []
    said += [f"cannot be read: {_named(found.unreadable)}"] if found.unreadable else []
    said += [f"{found.n_beyond:,} files beyond what one search reads: name a folder"] if found.n_beyond else []
    return said


def _named(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - _MOST_NAMED:,} more" if len(paths) > _MOST_NAMED else ""
    return f"{', '.join(paths[:_MOST_NAMED])}{more}"


def _first_hits(found: _Found) -> Iterator[str]:
    yield from found.hits[:_MOST_HITS]
    if len(found.hits) > _MOST_HITS:
        yield f"… and {len(found.hits) - _MOST_HITS:,} more lines. Ask for something narrower."


def list_files(sources: LookupSources, files: Pattern) -> str:
    """Return the files that a pattern names, or what lies in a folder.

    Raises:
        NotFound: there is no such folder, or it is left out.
    """
    place = _place(files.folder)
    paths = _paths(sources, place)
    if files.pattern:
        rules = read_rules(files.pattern)
        start = len(place) + 1 if place else 0
        listed = [path for path in paths if rules.verdict(path[start:])]
        nothing = f"None of the {len(paths):,} files below {place or 'the root'} matches {files.pattern!r}."
    else:
        listed = _entries(place, paths)
        nothing = f"{place or 'The root'} holds no file that git would read."
    more = len(listed) - _MOST_LISTED
    rest = [f"… and {more:,} more. Name a folder, or a narrower pattern."] if more > 0 else []
    return bounded(sources, [*listed[:_MOST_LISTED], *rest], nothing)


def _entries(place: str, paths: Sequence[str]) -> list[str]:
    """Return what lies in the folder *place*: folders with the number of files below them, then files."""
    start = len(place) + 1 if place else 0
    inside = [path[start:] for path in paths]
    n_below = Counter(path.partition("/")[0] for path in inside if "/" in path)
    folders = [
        f"{paths[0][:start]}{name}/ ({count:,} {'file' if count == 1 else 'files'})"
        for name, count in sorted(n_below.items())
    ]
    return [*folders, *(path for path, name in zip(paths, inside, strict=True) if "/" not in name)]


def _place(folder: str) -> str:
    """Return *folder* as paths begin; empty for the root.

    Raises:
        NotFound: it leads out of the repository.
    """
    plain = posixpath.normpath(folder.strip() or ".").strip("/")
    if plain == ".." or plain.startswith("../"):
        raise NotFound(f"{folder} lies outside the repository.", "Name a folder below its root.")
    return "" if plain == "." else plain


def _paths(sources: LookupSources, place: str) -> list[str]:
    """Return the files that git would read below the folder *place*, or *place* where it is one, in order.

    Those that are kept from models are not among them.

    Raises:
        NotFound: there is no such folder or file, or it is left out.
        FileRefused: the file is kept from models.
    """
    workspace = sources.view.workspace
    ignored = Ignored(workspace.root, as_git_does=True)
    is_file = place in workspace.buffers or (place != "" and is_there(workspace.root / place, Path.is_file))
    if not (_counts(ignored, place) if is_file else ignored.rules_in(place) is not None):
        raise NotFound(f"{place} is left out: git ignores it, or tools installed it.", "Name another folder.")
    if is_file:
        check_shown(sources.view, place)
        return [place]
    found = _below(sources, ignored, place)
    if not found and place and not is_there(workspace.root / place, Path.is_dir):
        raise NotFound(f"There is no folder or file {place}.", "List the files of the folder above it.")
    return found


def _below(sources: LookupSources, ignored: Ignored, place: str) -> list[str]:
    """Return the files below the folder *place*: on disk, or made by edits that are not written yet."""
    workspace = sources.view.workspace
    why_private = privacy_of(workspace)
    on_disk = {one.path for one in files_below(ignored, place, lambda path: True) if not isinstance(one, Problem)}
    unsaved = {path for path in workspace.buffers if not place or path.startswith(f"{place}/")} - on_disk
    every = on_disk | {path for path in unsaved if _counts(ignored, path)}
    # `None`: the file is there on the disk, and gone with the edits so far.
    return sorted(path for path in every if sources.draft.get(path, "") is not None and not why_private(path))


def _counts(ignored: Ignored, path: str) -> bool:
    """Return whether git would read the file *path*."""
    rules = ignored.rules_in(path.rpartition("/")[0])
    return rules is not None and not is_ignored(path, rules)
