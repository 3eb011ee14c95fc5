"""The words that a failing test and what it says share with functions, and that passing tests do not have.

Source: T.-D. Le, R. Oentaryo, D. Lo, "Information Retrieval and Spectrum Based Bug Localization: Better Together",
ESEC/FSE 2015, which adds the likeness of a report's words to what ran. That words count by how much failing tests have
them and passing ones do not is our own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from rolecall_analysis import Definition, Snapshot
from rolecall_analysis.retrieval.bm25 import FUNCTION_DISCOUNT, bm25, scaled
from rolecall_analysis.retrieval.words import terms
from rolecall_server.craft.repair.spectrum import Place, ochiai
from rolecall_server.workspace import split_lines


def likeness(
    snapshot: Snapshot, functions: Collection[Definition], failing: Sequence[str], passing: Sequence[str]
) -> Mapping[Place, float]:
    """Return how much of the words of *functions* speaks of what *failing* says and *passing* does not: 1 for the
    likeliest, functions without such a word left out.

    *failing* has the text of each failing test with what it said, *passing* that of passing tests beside them.
    """
    weights = _weights(failing, passing)
    lines = {path: split_lines(snapshot.text(path) or "") for path in {one.path for one in functions}}
    occurrences: dict[str, dict[Place, int]] = {}
    lengths: dict[Place, int] = {}
    for one in functions:
        place = one.path, one.qualified_name
        found = terms("".join(lines[one.path][one.span.start.line : one.span.end.line + 1]))
        lengths[place] = len(found)
        for term, count in Counter(found).items():
            if term in weights:
                occurrences.setdefault(term, {})[place] = count
    return scaled(bm25(weights, occurrences, lengths, len(lengths), FUNCTION_DISCOUNT))


def _weights(failing: Sequence[str], passing: Sequence[str]) -> dict[str, float]:
    """Return the weight of each word of *failing*, from 0 to 1."""
    bad, good = (Counter(term for text in texts for term in {*terms(text)}) for texts in (failing, passing))
    return {term: ochiai(count, len(failing), good[term]) for term, count in bad.items()}
