"""The experiences that are like a task, ranked by what each is worth.

Source: the order is the P2Value of Chen et al., Enhancing LLM Agents for Code Generation with Possibility and
Pass-rate Prioritized Experience Replay, 2024 (arXiv 2410.12236); that it fades with time is our own.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import dataclass

from rolecall_analysis.retrieval.bm25 import rarity
from rolecall_analysis.retrieval.words import terms
from rolecall_server.team.experience.experiences import Experience

HALF_LIFE_S = 30 * 86_400.0
"""After so long an experience is worth half."""
LEAST_LIKENESS = 0.25
_MOST_ALIKE = 12
_MOST_OF_A_TEXT = 4_000
"""Characters of a brief that are read for its words."""


@dataclass(frozen=True)
class Valued:
    """An experience in the order in which a role would be shown it."""

    experience: Experience
    likeness: float
    """The share of rare words that it and the task have in common: 0 to 1."""
    value: float


def rank_experiences(experiences: Sequence[Experience], task: str, alpha: float, at_s: float) -> tuple[Valued, ...]:
    """Return those of *experiences* that are like *task*, the most valuable first.

    *alpha* is the weight of the model's own likelihood beside the tests, *at_s* when the order is asked for.
    """
    alike = [
        Valued(one, likeness, value_of(one, alpha, at_s))
        for one, likeness in zip(experiences, _likenesses(experiences, task), strict=True)
        if likeness >= LEAST_LIKENESS
    ]
    nearest = sorted(alike, key=lambda one: -one.likeness)[:_MOST_ALIKE]
    return tuple(sorted(nearest, key=lambda one: (-one.value, -one.experience.at_s)))


def value_of(experience: Experience, alpha: float, at_s: float) -> float:
    """Return what an experience is worth: alpha * likelihood + (1 - alpha) * pass rate, halved with each half-life.

    Where the endpoint told no likelihood, the pass rate is all; what the developer turned down passed nothing.
    """
    best = experience.best
    pass_rate = 0.0 if experience.verdict.is_against else best.kept.pass_rate or 0.0
    worth = pass_rate if best.logprob is None else alpha * math.exp(best.logprob) + (1 - alpha) * pass_rate
    return worth * 0.5 ** (max(0.0, at_s - experience.at_s) / HALF_LIFE_S)


def _likenesses(experiences: Sequence[Experience], task: str) -> list[float]:
    """Return how like *task* each experience is, by the words of both, rare ones counting for more."""
    wanted = set(terms(task[:_MOST_OF_A_TEXT]))
    known = [_words(one) for one in experiences]
    n_with = Counter(word for words in (wanted, *known) for word in words)

    def weight(words: Set[str]) -> float:
        return sum(rarity(len(known) + 1, n_with[word]) for word in words)

    return [weight(wanted & words) / (min(weight(wanted), weight(words)) or 1.0) for words in known]


def _words(experience: Experience) -> set[str]:
    run = experience.run
    failures = [failure.test for made in experience.attempts for failure in made.kept.failures]
    return set(terms(" ".join([run.brief[:_MOST_OF_A_TEXT], run.path, *experience.paths, *failures])))
