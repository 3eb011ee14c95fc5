"""Estimates of what a call will take, learnt from calls: how far estimates are from what a model counts, how long
replies are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rolecall_server.store import Store
from rolecall_server.store.usage import ratios, replies

N_RATIOS = 60
"""Of the latest calls; a model may be changed behind its name."""
_ENOUGH = 19
"""Of so many counts the highest is passed by the next in one of twenty cases, if they come from one source.

Source: Wilks (1941), order statistics as tolerance limits: the chance is 1 / (n + 1).
"""
_UNKNOWN = 1.25
"""Before anything is known: dense code takes up to a fifth more than `estimate_tokens` says."""
_EARLY, _LATE = 1.1, 1.03
"""Room above the highest count, as the calls of one run are much alike."""
_LOWEST, _HIGHEST = 0.5, 4.0
"""An endpoint that counts outside of this miscounts."""

_HIGH = 0.95
"""Of the replies of one role and kind of work, so many are no longer than what is set aside for the next."""
_MOST_USUAL: Mapping[str, int] = {
    "write": 7000,
    "implement": 7000,
    "test": 14_000,
    "integrate": 7000,
    "answer": 4000,
    "alone": 14_000,
}
"""The tokens that a reply takes at most, before much is known, by the kind of work.

Source: twice the longest of the runs in docs/team.md: documents 3,090 tokens, edits 2,820, tests 6,960, an Engineer
alone 6,310. Twice, as a model may count what it thinks to itself. Answers to a review took 170; they may hold edits.
"""
_MOST_OF_OTHERS = 7000


@dataclass(frozen=True)
class Fit:
    """The amount of text that a model can take, as far as it is known."""

    context_tokens: int | None = None
    """As the model counts, prompt and reply together; ``None`` where nobody knows."""
    factor: float = _UNKNOWN
    """The factor by which an estimate is multiplied, so that it is seldom too low."""


def factor_of(counted: Sequence[float]) -> float:
    """Return the factor by which estimates are to be multiplied, given the *counted* tokens for each that was
    estimated, latest first.
    """
    if not counted:
        return _UNKNOWN
    bounded = [min(max(ratio, _LOWEST), _HIGHEST) for ratio in counted[:N_RATIOS]]
    factor = max(bounded) * _LATE if len(bounded) >= _ENOUGH else max(1.0, *bounded) * _EARLY
    return min(max(factor, _LOWEST), _HIGHEST)


def fit_of(store: Store, endpoint: str, context_tokens: int | None, run_id: str) -> Fit:
    """Return the fit that says how much of *context_tokens* estimates may fill, from what *endpoint* counted before a
    run: taken up again, it begins with the same words.
    """
    return Fit(context_tokens, factor_of(ratios(store, endpoint, N_RATIOS, before=run_id)))


def prompt_tokens_of(store: Store, endpoint: str, estimated: int) -> int:
    """Return what a prompt of so many *estimated* tokens will take as *endpoint* counts, seldom too little."""
    return math.ceil(estimated * factor_of(ratios(store, endpoint, N_RATIOS)))


def reply_tokens_of(store: Store, role: str, kind: str, endpoint: str, limit: int) -> int:
    """Return what a reply to *role* will take in work of that *kind*, seldom too little; *limit* is its own, 0 none."""
    expected = high_of(replies(store, role, kind, endpoint, N_RATIOS), _MOST_USUAL.get(kind, _MOST_OF_OTHERS))
    return min(expected, limit) if limit else expected


def high_of(counted: Sequence[int], guess: int) -> int:
    """Return what few of *counted* exceed; not less than *guess* before enough is known."""
    if len(counted) < _ENOUGH:
        return max(guess, *counted, 0)
    return sorted(counted)[math.ceil(_HIGH * len(counted)) - 1]
