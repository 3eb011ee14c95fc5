"""How sure a count is, and a difference of two counts on the same tasks."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rolecall_server.team.ablation.arms import AS_IT_IS, TaskResult

_Z = 1.96
"""Of a normal distribution, for 95 %."""

_DIGITS = 9
"""Further ones are noise of the arithmetic."""

Interval = tuple[float, float]


def interval_of_share(n_solved: int, n_tasks: int) -> Interval:
    """Return the 95 % interval of a share.

    Source: E. B. Wilson, "Probable Inference, the Law of Succession, and Statistical Inference", JASA 22, 1927.
    """
    if not n_tasks:
        return 0.0, 1.0
    share, weight = n_solved / n_tasks, _Z**2 / n_tasks
    middle = (share + weight / 2) / (1 + weight)
    reach = _Z / (1 + weight) * math.sqrt(share * (1 - share) / n_tasks + weight / (4 * n_tasks))
    return max(0.0, round(middle - reach, _DIGITS)), min(1.0, round(middle + reach, _DIGITS))


def interval_of_difference(n_won: int, n_lost: int, n_tasks: int) -> Interval:
    """Return the 95 % interval of the difference of two shares on the same tasks, of which *n_won* were solved only in
    the second way and *n_lost* only in the first.

    Source: A. Agresti, Y. Min, "Simple improved confidence intervals for comparing matched proportions", Statistics in
    Medicine 24, 2005.
    """
    won, lost, n = n_won + 0.5, n_lost + 0.5, n_tasks + 2
    middle = (won - lost) / n
    reach = _Z * math.sqrt(won + lost - (won - lost) ** 2 / n) / n
    return max(-1.0, middle - reach), min(1.0, middle + reach)


@dataclass(frozen=True)
class ArmMeasure:
    """What one arm took and solved, beside the strategy as it is on the tasks that both have."""

    arm: str
    n_tasks: int
    n_solved: int
    share: Interval
    """Of the share that is solved."""
    tokens: float
    """The median of a task."""
    calls: float
    """The mean of a task."""
    seconds: float
    """The median of a task, the model's included."""
    n_won: int = 0
    """Tasks that are solved only without the part."""
    n_lost: int = 0
    """Tasks that are solved only with it."""
    difference: Interval = (0.0, 0.0)
    """Of the shares, without the part less with it."""
    token_ratio: float = 1.0
    """Tokens without the part for each with it, over the same tasks."""

    @property
    def says(self) -> str:
        """Return what can be said of the part."""
        if self.arm == AS_IT_IS:
            return ""
        low, high = self.difference
        if high < 0:
            return "the part helps"
        return "the part does harm" if low > 0 else "too few tasks to tell"


def measure(results: Iterable[TaskResult]) -> tuple[ArmMeasure, ...]:
    """Return the measures of each arm, the strategy as it is first."""
    by_arm: dict[str, dict[str, TaskResult]] = {AS_IT_IS: {}}
    for one in results:
        by_arm.setdefault(one.arm, {})[one.task] = one
    whole = by_arm[AS_IT_IS]
    return tuple(_measure(arm, tuple(known.values()), whole) for arm, known in by_arm.items() if known)


def _measure(arm: str, known: Sequence[TaskResult], whole: Mapping[str, TaskResult]) -> ArmMeasure:
    n_solved = sum(one.solved for one in known)
    pairs = [(whole[one.task], one) for one in known if one.task in whole]
    won = sum(other.solved and not one.solved for one, other in pairs)
    lost = sum(one.solved and not other.solved for one, other in pairs)
    with_it, without = (
        sum(one.tokens for one in column) for column in (zip(*pairs, strict=True) if pairs else ((), ()))
    )
    return ArmMeasure(
        arm,
        len(known),
        n_solved,
        interval_of_share(n_solved, len(known)),
        statistics.median(one.tokens for one in known),
        statistics.mean(one.calls for one in known),
        statistics.median(one.seconds for one in known),
        won,
        lost,
        interval_of_difference(won, lost, len(pairs)),
        without / with_it if with_it else 1.0,
    )
