"""How far token estimates are from what a model counts, learnt from the calls it has answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rolecall_server.store import Store
from rolecall_server.store.usage import ratios

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


@dataclass(frozen=True)
class Fit:
    """What is known of how much a model can take."""

    context_tokens: int | None = None
    """As the model counts, prompt and reply together; ``None`` where nobody knows."""
    factor: float = _UNKNOWN
    """What an estimate is to be multiplied by, so that it is seldom too low."""


def factor_of(counted: Sequence[float]) -> float:
    """What estimates are to be multiplied by, given the *counted* tokens for each that was estimated, latest first."""
    if not counted:
        return _UNKNOWN
    bounded = [min(max(ratio, _LOWEST), _HIGHEST) for ratio in counted[:N_RATIOS]]
    factor = max(bounded) * _LATE if len(bounded) >= _ENOUGH else max(1.0, *bounded) * _EARLY
    return min(max(factor, _LOWEST), _HIGHEST)


def fit_of(store: Store, endpoint: str, context_tokens: int | None) -> Fit:
    """How much of *context_tokens* estimates may fill, from what *endpoint* counted before."""
    return Fit(context_tokens, factor_of(ratios(store, endpoint, N_RATIOS)))
