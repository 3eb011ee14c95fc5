"""Which files a brief is about, by the words they share.

Source: Okapi BM25 with k1 = 1.2 and b = 0.75, over identifiers cut into their words.
"""

from __future__ import annotations

import math
import re
from collections import Counter

from rolecall_analysis import Snapshot, is_test_path
from rolecall_server.errors import FileRefused
from rolecall_server.workspace import Workspace, read_text_file

_K1, _B = 1.2, 0.75
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def words(text: str) -> list[str]:
    """The words of *text* in lower case; ``parse_HTMLPage`` has three."""
    return [word.lower() for word in _WORD.findall(text)]


def rank_files(workspace: Workspace, snapshot: Snapshot, brief: str) -> list[str]:
    """The source files that share words with *brief*, best first; tests are left out."""
    counts: dict[str, Counter[str]] = {}
    for path in snapshot.files:
        if not is_test_path(path):
            try:
                counts[path] = Counter(words(f"{path} {read_text_file(workspace, path).text}"))
            except FileRefused:
                continue
    scores = {path: _score(words(brief), counts, path) for path in counts}
    return sorted((path for path in scores if scores[path] > 0), key=lambda path: (-scores[path], path))


def _score(query: list[str], counts: dict[str, Counter[str]], path: str) -> float:
    n_files = len(counts)
    mean_length = sum(counter.total() for counter in counts.values()) / n_files or 1.0
    length = counts[path].total() / mean_length
    score = 0.0
    for word in set(query):
        n_with = sum(word in counter for counter in counts.values())
        times = counts[path][word]
        rarity = math.log(1 + (n_files - n_with + 0.5) / (n_with + 0.5))
        score += rarity * times * (_K1 + 1) / (times + _K1 * (1 - _B + _B * length))
    return score
