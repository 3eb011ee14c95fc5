"""The facts that past commits tell: which files are worked on, which words describe them, which change together."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from rolecall_analysis.retrieval.bm25 import bm25, scaled
from rolecall_analysis.retrieval.history.commits import CommitHistory

CHURN_HALF_LIFE = 300
"""Commits after which a change says half as much about where work goes on."""
TOGETHER_HALF_LIFE = 1500
"""The same for what belongs together, which lasts longer."""
LEAST_LIKENESS = 0.3
"""Of the commit most alike; what is less alike shares only common words."""
FEW_CHANGES = 3
"""Added to a file's number of changes, so that one that changed once is not bound for ever to its companion."""


@dataclass(frozen=True)
class Past:
    """A history by file and by term."""

    history: CommitHistory
    commits_of: Mapping[str, list[int]] = field(default_factory=dict[str, list[int]])
    """The numbers of the commits that changed each file, newest first."""
    commits_with: Mapping[str, list[int]] = field(default_factory=dict[str, list[int]])
    """The numbers of the commits whose message has each term."""
    lengths: Mapping[str, int] = field(default_factory=dict[str, int])
    """The number of terms in all messages about each file."""
    functions: Mapping[tuple[str, str], list[int]] = field(default_factory=dict[tuple[str, str], "list[int]"])
    """The numbers of the commits that changed each function, which is a path and a plain name."""


NO_PAST = Past(CommitHistory())


def past_of(history: CommitHistory) -> Past:
    """Return *history*, indexed by file and by term."""
    commits_of: defaultdict[str, list[int]] = defaultdict(list)
    commits_with: defaultdict[str, list[int]] = defaultdict(list)
    lengths: Counter[str] = Counter()
    functions: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for number, commit in enumerate(history.commits):
        for term in set(commit.terms):
            commits_with[term].append(number)
        for path in commit.files:
            commits_of[path].append(number)
            lengths[path] += len(commit.terms)
        for function in commit.functions:
            functions[function].append(number)
    return Past(history, dict(commits_of), dict(commits_with), lengths, dict(functions))


def described(past: Past, query: Mapping[str, float], among: Collection[str]) -> dict[str, float]:
    """BM25 of the files in *among*, each taken as all the messages of the commits that changed it."""
    occurrences = {term: _files_described(past, term, among) for term in query}
    lengths = {path: past.lengths.get(path, 0) for path in among}
    return bm25(query, occurrences, lengths, len(among))


def _files_described(past: Past, term: str, among: Collection[str]) -> Counter[str]:
    commits = past.history.commits
    return Counter(path for n in past.commits_with.get(term, ()) for path in commits[n].files if path in among)


def churn(past: Past) -> dict[str, float]:
    """Return the amount of recent work on each file, on a logarithmic scale."""
    return {path: math.log1p(_faded(commits, CHURN_HALF_LIFE)) for path, commits in past.commits_of.items()}


def likeness(past: Past, query: Mapping[str, float]) -> dict[int, float]:
    """Return the likeness of each commit's message to *query*, the most alike at 1; without those that are
    not alike.
    """
    occurrences = {term: dict.fromkeys(past.commits_with.get(term, ()), 1) for term in query}
    lengths = {number: len(past.history.commits[number].terms) for found in occurrences.values() for number in found}
    scores = scaled(bm25(query, occurrences, lengths, len(past.history.commits)))
    return {number: score for number, score in scores.items() if score > LEAST_LIKENESS}


def changed_by(past: Past, likeness: Mapping[int, float]) -> dict[str, float]:
    """Score the files that the most similar commits changed, relative to how often each file changes at all."""
    scores: defaultdict[str, float] = defaultdict(float)
    for number, alike in likeness.items():
        files = past.history.commits[number].files
        for path in files:
            # Squared, so that many commits that are hardly alike do not outweigh one that is; and the more files a
            # commit changed, the less it says of each.
            scores[path] += alike * alike / math.log(2 + len(files))
    return _for_changes(past, scores)


def functions_changed_by(past: Past, likeness: Mapping[int, float]) -> dict[tuple[str, str], float]:
    """As `changed_by`, for functions."""
    scores: defaultdict[tuple[str, str], float] = defaultdict(float)
    for number, alike in likeness.items():
        functions = past.history.commits[number].functions
        for function in functions:
            scores[function] += alike * alike / math.log(2 + len(functions))
    return {one: value / math.sqrt(FEW_CHANGES + len(past.functions[one])) for one, value in scores.items()}


def changed_with(past: Past, path: str, likeness: Mapping[int, float] | None = None) -> dict[str, float]:
    """Return a score for how often each file changed together with *path*, for how often it changes at all.

    With *likeness*, only the commits in it count, for how alike they are.
    """
    scores: defaultdict[str, float] = defaultdict(float)
    for number in past.commits_of.get(path, ()):
        weight = _fading(number, TOGETHER_HALF_LIFE) * (1.0 if likeness is None else likeness.get(number, 0.0))
        files = past.history.commits[number].files
        for other in files if weight else ():
            scores[other] += weight / math.log(2 + len(files))
    scores.pop(path, None)
    return _for_changes(past, scores)


def _for_changes(past: Past, scores: Mapping[str, float]) -> dict[str, float]:
    return {path: value / math.sqrt(FEW_CHANGES + len(past.commits_of[path])) for path, value in scores.items()}


def functions_described(
    past: Past, query: Mapping[str, float], among: Collection[tuple[str, str]]
) -> dict[tuple[str, str], float]:
    """As `described`, for the functions in *among*."""
    occurrences: dict[str, dict[tuple[str, str], int]] = {}
    lengths = {
        function: sum(len(past.history.commits[n].terms) for n in past.functions.get(function, ()))
        for function in among
    }
    for term in query:
        commits = past.commits_with.get(term, ())
        occurrences[term] = Counter(f for n in commits for f in past.history.commits[n].functions if f in lengths)
    return bm25(query, occurrences, lengths, len(lengths))


def _faded(commits: list[int], half_life: int) -> float:
    return sum(_fading(number, half_life) for number in commits)


def _fading(age: int, half_life: int) -> float:
    return 0.5 ** (age / half_life)
