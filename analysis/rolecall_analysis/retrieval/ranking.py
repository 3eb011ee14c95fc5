"""The files or functions that a text, and the place where someone works, are about, best first."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass, replace
from heapq import nsmallest
from typing import TypeVar

from rolecall_analysis.queries import is_test
from rolecall_analysis.retrieval.corpus import Corpus
from rolecall_analysis.retrieval.files import file_evidence
from rolecall_analysis.retrieval.functions import function_at_cursor, function_evidence
from rolecall_analysis.retrieval.passages import Place
from rolecall_analysis.retrieval.question import Query, QueryTerms
from rolecall_analysis.retrieval.weights import FILE_WEIGHTS, FUNCTION_WEIGHTS, REASONS
from rolecall_analysis.snapshot import Snapshot

_Item = TypeVar("_Item", bound=Hashable)

MAX_READ_FILES = 40
"""The functions of this many files, the best, are looked at one by one."""
_MOST_REASONS = 3
_SLIGHTEST_REASON = 0.1
"""A kind of evidence that gave less than this part of the score is not told."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """One answer."""

    path: str
    name: str
    """The qualified name of a function; empty for a file."""
    score: float
    """Comparable within one ranking only."""
    reasons: tuple[str, ...]
    """Why it is here, the strongest first."""

    @property
    def item(self) -> str:
        """``path``, or ``path::qualified.name``."""
        return f"{self.path}::{self.name}" if self.name else self.path


def rank(corpus: Corpus, snapshot: Snapshot, query: Query) -> tuple[Ranked, ...]:
    """Rank the parts of *snapshot* by how likely *query* concerns them; what nothing speaks for is left out.

    The seed itself is not among the files, nor the function at the cursor among the functions.
    """
    with corpus.in_use:
        corpus.follow(snapshot)
        return (_rank_functions if query.level == "function" else _rank_files)(corpus, snapshot, query)


def _rank_files(corpus: Corpus, snapshot: Snapshot, query: Query) -> tuple[Ranked, ...]:
    candidates = _files(snapshot, query.candidates)
    candidates.discard(query.seed or "")
    evidence = file_evidence(QueryTerms(corpus, query.text), snapshot, query, candidates)
    found = [Ranked(path, "", score, ()) for path, score in weighed(evidence, FILE_WEIGHTS).items()]
    # Ties go by path, so that the order does not hang on that of a set.
    best = nsmallest(query.limit, found, key=lambda one: (-one.score, one.path))
    return tuple(replace(one, reasons=reasons(evidence, FILE_WEIGHTS, one.path, query.seed or "")) for one in best)


def _rank_functions(corpus: Corpus, snapshot: Snapshot, query: Query) -> tuple[Ranked, ...]:
    given = None if query.candidates is None else {_place(item) for item in query.candidates}
    paths = _files(snapshot, None if given is None else {path for path, _ in given})
    question = QueryTerms(corpus, query.text)
    file_scores = weighed(file_evidence(question, snapshot, query, paths), FILE_WEIGHTS)
    best_files = nsmallest(MAX_READ_FILES, file_scores, key=lambda path: (-file_scores[path], path))
    places = {
        (path, passage.name)
        for path in best_files
        for passage in corpus.documents[path].passages
        if not passage.is_class
    }
    places = places if given is None else places & given
    at_cursor = function_at_cursor(snapshot, query)
    places -= {at_cursor}
    evidence = function_evidence(question, file_scores, at_cursor, places)
    found = [Ranked(*place, score, ()) for place, score in weighed(evidence, FUNCTION_WEIGHTS).items()]
    best = nsmallest(query.limit, found, key=lambda one: (-one.score, one.path, one.name))
    return tuple(
        replace(one, reasons=reasons(evidence, FUNCTION_WEIGHTS, (one.path, one.name), query.seed or ""))
        for one in best
    )


def _files(snapshot: Snapshot, given: Collection[str] | None) -> set[str]:
    """Return the known files among *given*; without any given, all but tests."""
    if given is None:
        return {path for path in snapshot.files if not is_test(snapshot, path)}
    return snapshot.files.keys() & set(given)


def _place(item: str) -> Place:
    path, _, name = item.partition("::")
    return path, name


def weighed(evidence: Mapping[str, Mapping[_Item, float]], weights: Mapping[str, float]) -> dict[_Item, float]:
    """Return the weighted sum of all evidence for each item."""
    scores: dict[_Item, float] = {}
    for kind, found in evidence.items():
        weight = weights[kind]
        for item, value in found.items():
            scores[item] = scores.get(item, 0.0) + weight * value
    return scores


def reasons(
    evidence: Mapping[str, Mapping[_Item, float]], weights: Mapping[str, float], item: _Item, seed: str
) -> tuple[str, ...]:
    """Return the kinds of evidence that gave most of an item's score, in words."""
    gains = {kind: weights[kind] * found.get(item, 0.0) for kind, found in evidence.items()}
    least = _SLIGHTEST_REASON * sum(gains.values())
    best = sorted((kind for kind in gains if gains[kind] > least), key=lambda kind: -gains[kind])
    return tuple(REASONS[kind].format(seed=seed) for kind in best[:_MOST_REASONS])
