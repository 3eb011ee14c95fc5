"""The evidence for a function: each kind as a score of the functions it speaks for, the highest at 1."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from heapq import nsmallest

from rolecall_analysis.queries import enclosing_definition
from rolecall_analysis.retrieval.bm25 import bm25, scaled
from rolecall_analysis.retrieval.corpus import Corpus
from rolecall_analysis.retrieval.history.past_changes import functions_changed_by, functions_described, likeness
from rolecall_analysis.retrieval.passages import Place, passages_in
from rolecall_analysis.retrieval.question import Query, QueryTerms
from rolecall_analysis.retrieval.words import code_names, terms
from rolecall_analysis.snapshot import Snapshot

_MOST_LIKELY = 8
"""So many functions are taken for concerned when it is asked what such functions name."""

_SHORTEST_NAME = 4
"""A shorter name of a class is taken for a word."""


def function_evidence(
    question: QueryTerms, file_scores: Mapping[str, float], at_cursor: Place | None, candidates: Collection[Place]
) -> dict[str, dict[Place, float]]:
    """Return the scores of the *candidates* by the kind of evidence, given what speaks for their files.

    *at_cursor* is the function in which the developer is.
    """
    found = passages_in(question.corpus, question.terms, {path for path, _ in candidates})
    evidence = {
        "file": {place: file_scores.get(place[0], 0.0) for place in candidates},
        "own words": found.scores(question.terms),
        "own subject": found.scores(question.subject),
        "function name": _by_name(question.terms, candidates),
        "named": _named(candidates, code_names(question.text)),
        "class named": _with_class_named(candidates, question.words),
        "function past": _described(question, candidates),
        "function past commits": _changed_by_like_commits(question, candidates),
    }
    evidence["named by the likeliest"] = _named_by_likeliest(question.corpus, evidence)
    if at_cursor is not None:
        evidence["named at the cursor"] = _named(candidates, question.corpus.names_within(*at_cursor))
        evidence["names what is at the cursor"] = _naming(question.corpus, candidates, _plain(at_cursor))
    kept = ((kind, {p: value for p, value in scores.items() if p in candidates}) for kind, scores in evidence.items())
    return {kind: scaled(scores) for kind, scores in kept}


def function_at_cursor(snapshot: Snapshot, query: Query) -> Place | None:
    """Return the class or function around the cursor of *query*."""
    around = enclosing_definition(snapshot, query.seed, query.position) if query.seed and query.position else None
    return (around.path, around.qualified_name) if around else None


def _by_name(query: Mapping[str, float], candidates: Iterable[Place]) -> dict[Place, float]:
    occurrences: dict[str, dict[Place, int]] = {}
    lengths: dict[Place, int] = {}
    for place in candidates:
        found = _name_terms(place[1])
        lengths[place] = max(len(found), 1)
        for term in found:
            if term in query:
                counts = occurrences.setdefault(term, {})
                counts[place] = counts.get(place, 0) + 1
    return bm25(query, occurrences, lengths, len(lengths))


@lru_cache(maxsize=1 << 15)
def _name_terms(name: str) -> tuple[str, ...]:
    return tuple(terms(name.replace(".", " ")))


def _named(candidates: Iterable[Place], names: Collection[str]) -> dict[Place, float]:
    return {place: 1.0 for place in candidates if _plain(place) in names}


def _with_class_named(candidates: Iterable[Place], words: Collection[str]) -> dict[Place, float]:
    holders = ((place, place[1].rpartition(".")[0].rpartition(".")[2]) for place in candidates)
    return {place: 1.0 for place, holder in holders if len(holder) >= _SHORTEST_NAME and holder in words}


def _described(question: QueryTerms, candidates: Iterable[Place]) -> dict[Place, float]:
    functions = {place: (place[0], _plain(place)) for place in candidates}
    scores = functions_described(question.corpus.past, question.terms, set(functions.values()))
    return {place: scores.get(function, 0.0) for place, function in functions.items()}


def _changed_by_like_commits(question: QueryTerms, candidates: Iterable[Place]) -> dict[Place, float]:
    past = question.corpus.past
    scores = functions_changed_by(past, likeness(past, question.terms))
    found = ((place, scores.get((place[0], _plain(place)), 0.0)) for place in candidates)
    return {place: score for place, score in found if score}


def _named_by_likeliest(corpus: Corpus, evidence: Mapping[str, Mapping[Place, float]]) -> dict[Place, float]:
    """Score the functions that the likeliest functions name, which are judged by file and words alone; a common name
    counts less.
    """
    file, words = scaled(evidence["file"]), scaled(evidence["own words"])
    likely = {place: value + words.get(place, 0.0) for place, value in file.items()}
    namesakes: dict[str, list[Place]] = {}
    for place in evidence["file"]:
        namesakes.setdefault(_plain(place), []).append(place)
    scores: dict[Place, float] = {}
    # Of equals the first by name: the order of a set differs from process to process.
    for best in nsmallest(_MOST_LIKELY, likely, key=lambda place: (-likely[place], place)):
        for name in corpus.names_within(*best) & namesakes.keys():
            for place in namesakes[name]:
                if place != best:
                    scores[place] = scores.get(place, 0.0) + likely[best] / math.sqrt(len(namesakes[name]))
    return scores


def _naming(corpus: Corpus, candidates: Iterable[Place], name: str) -> dict[Place, float]:
    files = set(corpus.mentioning(name))
    return {place: 1.0 for place in candidates if place[0] in files and name in corpus.names_within(*place)}


def _plain(place: Place) -> str:
    return place[1].rpartition(".")[2]
