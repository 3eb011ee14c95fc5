"""The functions that a question is about, by the words in their own text."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from rolecall_analysis.retrieval.bm25 import FUNCTION_DISCOUNT, bm25
from rolecall_analysis.retrieval.corpus import Corpus

Place = tuple[str, str]
"""The path and the qualified name of a function."""


@dataclass(frozen=True)
class Passages:
    """The functions of some files, and what of a question is in them."""

    lengths: dict[Place, int] = field(default_factory=dict[Place, int])
    """In identifiers."""
    occurrences: dict[str, dict[Place, int]] = field(default_factory=dict[str, dict[Place, int]])
    """The number of times that each term is in each."""

    def scores(self, query: Mapping[str, float]) -> dict[Place, float]:
        """BM25 of each."""
        return bm25(query, self.occurrences, self.lengths, len(self.lengths), FUNCTION_DISCOUNT)


def passages_in(corpus: Corpus, query: Iterable[str], paths: Iterable[str]) -> Passages:
    """Return the functions of the files *paths*, and the terms of *query* in them."""
    terms_by_number: defaultdict[int, list[str]] = defaultdict(list)
    for term in query:
        for number in corpus.numbers_of(term):
            terms_by_number[number].append(term)
    found = Passages({}, {term: {} for term in query})
    for path in paths:
        _read(corpus, path, terms_by_number, found)
    return found


def _read(corpus: Corpus, path: str, terms_by_number: Mapping[int, list[str]], found: Passages) -> None:
    document = corpus.documents[path]
    positions = [at for at, number in enumerate(document.identifiers) if number in terms_by_number]
    for passage in document.passages:
        if passage.is_class:
            continue
        place = path, passage.name
        found.lengths[place] = max(passage.last - passage.first, 1)
        first = bisect_left(positions, passage.first)
        for position in positions[first : bisect_left(positions, passage.last, first)]:
            for term in terms_by_number[document.identifiers[position]]:
                counts = found.occurrences[term]
                counts[place] = counts.get(place, 0) + 1
