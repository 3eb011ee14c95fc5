"""The links of a file to others: by imports, by names, by folder."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from rolecall_analysis.modules import location_of, split_location
from rolecall_analysis.retrieval.corpus import Corpus
from rolecall_analysis.snapshot import Snapshot

_SHORTEST_NAME = 4
"""Shorter names are shared by chance."""
_MOST_DEFINERS = 30
"""A name that more files define links none of them."""


def importing(corpus: Corpus, snapshot: Snapshot, path: str) -> dict[str, float]:
    """Return the files that import *path* and have a word of its name, or lie in it if it is a package."""
    location = location_of(path)
    candidates = set(corpus.mentioning(split_location(location)[1]))
    # Then it is an `__init__`, which the modules below import by dots, without its name.
    if location != path.rpartition(".")[0]:
        candidates.update(other for other in snapshot.files if other.startswith(f"{location}/"))
    return {other: 1.0 for other in candidates if path in corpus.imported_files.by(snapshot, other)}


def defining_names(corpus: Corpus, path: str, names: Iterable[str]) -> dict[str, float]:
    """Score the files other than *path* that define one of *names*; a name that few files define counts more."""
    scores: defaultdict[str, float] = defaultdict(float)
    for name in names:
        definers = corpus.defining(name) if len(name) >= _SHORTEST_NAME else []
        for other in definers if len(definers) <= _MOST_DEFINERS else ():
            scores[other] += 1 / len(definers)
    scores.pop(path, None)
    return dict(scores)


def naming_definitions_of(corpus: Corpus, path: str, names: Iterable[str]) -> dict[str, float]:
    """Score the files that name the definitions *names* of *path*; a name that few files define counts more."""
    scores: defaultdict[str, float] = defaultdict(float)
    for name in names:
        n_definers = len(corpus.defining(name)) if len(name) >= _SHORTEST_NAME else 0
        if 0 < n_definers <= _MOST_DEFINERS:
            for other in corpus.mentioning(name):
                scores[other] += 1 / n_definers
    scores.pop(path, None)
    return dict(scores)


def near(path: str, others: Iterable[str]) -> dict[str, float]:
    """Return the nearness of each of the others to *path*: the fewer folders lie between them, the higher; 1 in the
    same folder.
    """
    here = path.split("/")[:-1]
    return {other: 1 / (1 + _steps(here, other.split("/")[:-1])) for other in others}


def _steps(here: list[str], there: list[str]) -> int:
    n_shared = 0
    while n_shared < min(len(here), len(there)) and here[n_shared] == there[n_shared]:
        n_shared += 1
    return len(here) + len(there) - 2 * n_shared
