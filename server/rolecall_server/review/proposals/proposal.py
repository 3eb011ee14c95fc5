"""A proposal as plain values: files on a known base, split into hunks that are decided one by one."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, lru_cache

from rolecall_server.review.proposals.difference import Range, changed_ranges
from rolecall_server.review.proposals.evidence import Evidence
from rolecall_server.workspace import UTF_8, split_lines


class HunkState(StrEnum):
    """The state of a hunk. Every change of state is stored before it is shown."""

    PENDING = "pending"
    EDITED = "edited"
    """Still to be decided, with a text that the developer put in place of the role's."""
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    STALE = "stale"
    """The text it was made for has changed under it; it comes back when the text does."""


class HunkKind(StrEnum):
    """The effect on a file when a hunk of it is accepted."""

    TEXT = "text"
    CREATE = "create"
    """Makes the file, with nothing in it. A file with a text is made by the first of its hunks that is accepted."""
    DELETE = "delete"
    RENAME = "rename"


@dataclass(frozen=True)
class Hunk:
    """Some lines of a base replaced by others, or something done to the file as a whole."""

    id: str
    """Stable for the life of the proposal: ``h1``, ``h2``, … through all its files."""
    start: int
    """The first base line it replaces, from 0."""
    end: int
    """The base line after the last it replaces; equal to *start* where it only adds."""
    new_lines: tuple[str, ...]
    """With their line endings, which are those of the file."""
    symbol: str = ""
    """The definition that it adds or changes, as a dotted name within the file; empty where it is none."""
    needs: tuple[str, ...] = ()
    """Hunks that bind a name this one uses: an import, a fixture, a function."""
    kind: HunkKind = HunkKind.TEXT
    serves: tuple[str, ...] = ()
    """The requirements and tasks it is there for: ``R3``, ``T2``."""
    touches: str = ""
    """Its effects in the code graph, in half a sentence (`touched.Touched.summary`); empty where nobody looked."""
    off: bool = False
    """Only its own id takes it, and nothing that accepts many: a test that shows a finding, marked to fail."""


@dataclass(frozen=True)
class FileChange:
    """All hunks of one file, in order, on the text they were made for."""

    path: str
    base: str | None
    """The text the hunks count lines in; ``None`` where the proposal creates the file."""
    base_sha256: str
    hunks: tuple[Hunk, ...]
    renamed_to: str = ""
    """The path that a hunk of kind `RENAME` gives the file; empty where none does."""
    encoding: str = UTF_8
    """The encoding of the file on the disk; where it is deleted, it comes back in this one."""
    has_bom: bool = False
    executable: bool = False
    """It may be run as a program."""
    mode: int = 0
    """The permissions that it had when it was taken away, for the time when it comes back; 0 where it never was."""

    @property
    def creates(self) -> bool:
        """Return whether the file is new."""
        return self.base is None

    def parts(self, hunk: Hunk) -> tuple[Range, ...]:
        """Return what *hunk* changes, counted in its own old and new lines: it may hold lines that stay as they are."""
        return _parts(self.base_lines[hunk.start : hunk.end], hunk.new_lines)

    @cached_property
    def base_lines(self) -> tuple[str, ...]:
        """The base as lines with their endings; without any where the file is new."""
        return tuple(split_lines(self.base or ""))


@lru_cache(maxsize=4096)
def _parts(old: tuple[str, ...], new: tuple[str, ...]) -> tuple[Range, ...]:
    """Return the ranges that differ; each view of a hunk asks for them."""
    return tuple(changed_ranges(old, new)) if old and new else ((0, len(old), 0, len(new)),)


@dataclass(frozen=True)
class Proposal:
    """A proposal of a role, with the reason for it and with what was checked."""

    id: str
    run_id: str
    role: str
    title: str
    rationale: str
    """The model's own words, shown as such."""
    origin: str
    """The file the command was run on; where hunks of files that do not exist yet are shown."""
    files: tuple[FileChange, ...]
    evidence: Evidence

    def hunks(self) -> tuple[tuple[FileChange, Hunk], ...]:
        """Return every hunk with its file, in order."""
        return tuple((change, hunk) for change in self.files for hunk in change.hunks)

    def change_of(self, path: str) -> FileChange | None:
        """Return the change of the file at *path*, under its old name or its new one."""
        # An empty path would fit every file that is not renamed.
        return next((change for change in self.files if path and path in (change.path, change.renamed_to)), None)
