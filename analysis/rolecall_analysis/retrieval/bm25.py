"""Okapi BM25, and scores of different kinds made comparable.

Source: Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from typing import TypeVar

K1 = 1.5
"""The larger it is, the later a repeated term stops counting."""
FILE_DISCOUNT = 0.75
"""The discount of a long file: the usual value."""
FUNCTION_DISCOUNT = 0.3
"""The same for a function, where length is evidence rather than noise: long ones are changed more often."""

_Item = TypeVar("_Item", bound=Hashable)


def rarity(n_documents: int, n_with_term: int) -> float:
    """Return the inverse document frequency of a term: how much it tells that a document has it."""
    # The 1 keeps it above zero, also for a term that most documents have.
    return math.log(1 + (n_documents - n_with_term + 0.5) / (n_with_term + 0.5))


def bm25(
    query: Mapping[str, float],
    occurrences: Mapping[str, Mapping[_Item, int]],
    lengths: Mapping[_Item, int],
    n_documents: int,
    discount: float = FILE_DISCOUNT,
) -> dict[_Item, float]:
    """Return the score of each document that has a term of *query*, which gives each term a weight.

    *occurrences* is how often each term is in each document; *lengths* has the length of every document, or at
    least of all those that occur, of *n_documents* in all.
    """
    mean_length = sum(lengths.values()) / max(len(lengths), 1) or 1.0
    scores: dict[_Item, float] = {}
    for term, weight in query.items():
        found = occurrences.get(term)
        if not found:
            continue
        gain = weight * rarity(n_documents, len(found)) * (K1 + 1)
        for document, count in found.items():
            damping = K1 * (1 - discount + discount * lengths[document] / mean_length)
            scores[document] = scores.get(document, 0.0) + gain * count / (count + damping)
    return scores


def said(terms: Iterable[str], most: int = 3) -> dict[str, float]:
    """Terms with their weight in a query: how often they are said, up to *most*."""
    weights: dict[str, float] = {}
    for term in terms:
        weights[term] = min(weights.get(term, 0) + 1, most)
    return weights


def scaled(scores: Mapping[_Item, float]) -> dict[_Item, float]:
    """Return the scores with the highest at 1, so that those of different kinds can be added; zeros are left out."""
    highest = max(scores.values(), default=0.0)
    return {item: value / highest for item, value in scores.items() if value > 0}
