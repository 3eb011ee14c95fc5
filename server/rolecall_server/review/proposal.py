"""A proposal as plain values: files on a known base, split into hunks that are decided one by one."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from rolecall_server.review.evidence import Evidence


class HunkState(StrEnum):
    """Where a hunk stands. Every change of state is stored before it is shown."""

    PENDING = "pending"
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    STALE = "stale"
    """The text it was made for has changed under it; it comes back when the text does."""


@dataclass(frozen=True)
class Hunk:
    """Some lines of a base replaced by others."""

    id: str
    """Stable for the life of the proposal: ``h1``, ``h2``, … through all its files."""
    start: int
    """The first base line it replaces, from 0."""
    end: int
    """The base line after the last it replaces; equal to *start* where it only adds."""
    new_lines: tuple[str, ...]
    """With their line endings, which are those of the file."""
    symbol: str = ""
    """What it adds or changes, as a dotted name within the file; empty where that is no definition."""
    needs: tuple[str, ...] = ()
    """Hunks that bind a name this one uses: an import, a fixture, a function."""


@dataclass(frozen=True)
class FileChange:
    """All hunks of one file, in order, on the text they were made for."""

    path: str
    base: str | None
    """The text the hunks count lines in; ``None`` where the proposal creates the file."""
    base_sha256: str
    hunks: tuple[Hunk, ...]

    @property
    def creates(self) -> bool:
        """Whether the file is new."""
        return self.base is None


@dataclass(frozen=True)
class Proposal:
    """What a role proposes, with why and with what was checked."""

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
        """Every hunk with its file, in order."""
        return tuple((change, hunk) for change in self.files for hunk in change.hunks)
