"""The evidence for a file: each kind as a score of the files it speaks for, the highest at 1."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import lru_cache

from rolecall_analysis.queries import enclosing_definition
from rolecall_analysis.retrieval.bm25 import bm25, rarity, scaled
from rolecall_analysis.retrieval.corpus import Corpus
from rolecall_analysis.retrieval.history.past_changes import Past, changed_by, changed_with, churn, described, likeness
from rolecall_analysis.retrieval.links import (
    defining_names,
    importing,
    naming_definitions_of,
    near,
)
from rolecall_analysis.retrieval.question import Query, QueryTerms
from rolecall_analysis.retrieval.words import terms
from rolecall_analysis.snapshot import Snapshot


def file_evidence(
    question: QueryTerms, snapshot: Snapshot, query: Query, candidates: Collection[str]
) -> dict[str, dict[str, float]]:
    """Return the scores of the *candidates* by the kind of evidence; a kind without any is absent."""
    corpus = question.corpus
    found = _by_text(corpus, question, candidates) | _by_past(corpus.past, question, query.seed, candidates)
    if query.seed is not None:
        found |= _by_links(corpus, snapshot, query, query.seed, candidates)
    kept = {
        kind: {path: value for path, value in scores.items() if path in candidates} for kind, scores in found.items()
    }
    return {kind: scaled(scores) for kind, scores in kept.items() if scores}


def _by_text(corpus: Corpus, question: QueryTerms, candidates: Collection[str]) -> dict[str, dict[str, float]]:
    among = {path: corpus.lengths[path] for path in candidates if path in corpus.lengths}
    occurrences = {term: _within(corpus.occurrences(term), among) for term in question.terms | question.code}
    return {
        "contents": bm25(question.terms, occurrences, among, len(among)),
        "subject": bm25(question.subject, occurrences, among, len(among)),
        "code names": bm25(question.code, occurrences, among, len(among)),
        "symbols": _by_symbols(corpus, question.subject, among),
        **_by_path(question.terms, among),
    }


def _by_past(
    past: Past, question: QueryTerms, seed: str | None, candidates: Collection[str]
) -> dict[str, dict[str, float]]:
    alike = likeness(past, question.terms)
    found = {
        "past": described(past, question.terms, candidates),
        "past commits": changed_by(past, alike),
        "churn": churn(past),
    }
    if seed is not None:
        found["changed with the seed"] = changed_with(past, seed)
        found["changed with the seed before"] = changed_with(past, seed, alike)
    return found


def _by_symbols(corpus: Corpus, query: Mapping[str, float], among: Mapping[str, int]) -> dict[str, float]:
    occurrences = {term: _within(corpus.symbol_occurrences(term), among) for term in query}
    lengths = {path: corpus.symbol_lengths[path] for path in among}
    return bm25(query, occurrences, lengths, len(among))


def _by_path(query: Mapping[str, float], among: Mapping[str, int]) -> dict[str, dict[str, float]]:
    """Return scores of files by path: how much of a file's name, and which of its folders' names, the query says."""
    names = {path: _path_terms(path) for path in among}
    with_term: dict[str, int] = {}
    for stem, folders in names.values():
        for term in stem | folders:
            with_term[term] = with_term.get(term, 0) + 1

    def told(found: Collection[str]) -> float:
        return sum(rarity(len(among), with_term[term]) for term in found)

    asked = query.keys()
    said = {
        path: (stem, folders & asked) for path, (stem, folders) in names.items() if not asked.isdisjoint(stem | folders)
    }
    return {
        "file name": {path: told(stem & asked) / told(stem) for path, (stem, _) in said.items() if stem},
        "folder name": {path: told(folders) for path, (_, folders) in said.items()},
    }


@lru_cache(maxsize=1 << 14)
def _path_terms(path: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the terms of a file's name (a package's for ``__init__``), also as one word, and those of its folders."""
    *folders, name = path.rpartition(".")[0].split("/")
    if name == "__init__" and folders:
        name = folders[-1]
    own = frozenset((*terms(name), name.lower().replace("_", "")))
    return own, frozenset(term for folder in folders for term in terms(folder))


def _by_links(
    corpus: Corpus, snapshot: Snapshot, query: Query, seed: str, candidates: Collection[str]
) -> dict[str, dict[str, float]]:
    facts = snapshot.files.get(seed)
    around = enclosing_definition(snapshot, seed, query.position) if query.position else None
    definitions = [d for d in (facts.definitions if facts else ()) if around is None or d.name == around.name]
    named = corpus.names_within(seed, around.qualified_name) if around else set[str]()
    return {
        "defines what is named at the cursor": defining_names(corpus, seed, named),
        "names what the seed defines": naming_definitions_of(corpus, seed, {d.name for d in definitions}),
        "imported by the seed": dict.fromkeys(corpus.imported_files.by(snapshot, seed), 1.0),
        "imports the seed": importing(corpus, snapshot, seed),
        "near the seed": near(seed, candidates),
    }


def _within(scores: Mapping[str, int], among: Mapping[str, int]) -> dict[str, int]:
    return {path: value for path, value in scores.items() if path in among}
