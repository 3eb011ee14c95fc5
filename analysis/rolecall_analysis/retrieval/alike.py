"""The past changes that were described as a text is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rolecall_analysis.retrieval.corpus import Corpus
from rolecall_analysis.retrieval.history.committed import diff_of, message_of
from rolecall_analysis.retrieval.history.past_changes import likeness
from rolecall_analysis.retrieval.question import QueryTerms
from rolecall_analysis.snapshot import Snapshot


@dataclass(frozen=True)
class PastChange:
    """A commit, and what it changed in files that are still there."""

    commit: str
    message: str
    diffs: dict[str, str]
    """By path: unified diffs without their headers."""


def changes_alike(corpus: Corpus, snapshot: Snapshot, text: str, most: int) -> tuple[PastChange, ...]:
    """Return at most *most* past changes whose messages are most like *text*, the most alike first.

    A change of which no file is left is none.
    """
    with corpus.in_use:
        corpus.follow(snapshot)
        alike = likeness(corpus.past, QueryTerms(corpus, text).terms)
        commits = corpus.past.history.commits
        ranked = sorted(alike, key=lambda number: (-alike[number], number))
        chosen = [
            one for one in (commits[number] for number in ranked) if any(map(snapshot.files.__contains__, one.files))
        ]
    # The lock is free again: others may rank while git is asked.
    return tuple(_change(corpus.root, one.id, one.files, snapshot) for one in chosen[:most])


def _change(root: Path, commit: str, files: tuple[str, ...], snapshot: Snapshot) -> PastChange:
    diffs = {path: diff_of(root, commit, path) for path in files if path in snapshot.files}
    return PastChange(commit, message_of(root, commit), {path: diff for path, diff in diffs.items() if diff})
