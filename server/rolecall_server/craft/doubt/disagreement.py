"""Solutions of a brief on the same calls: which of them behave alike, and the calls that show where they part."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from rolecall_server.craft.characterization import (
    CandidateCall,
    Observation,
    Report,
    Stage,
    Subject,
    disagreements,
    explore,
)
from rolecall_server.craft.characterization.execution import Observed, RunConditions, observe
from rolecall_server.craft.characterization.observation import LIKELY
from rolecall_server.craft.characterization.selection import stable
from rolecall_server.sandbox import NotRun

_MOST_CALLS = 1500
_MOST_TOLD = 3
"""So many calls are shown where no single one tells all behaviours apart."""
_ELSEWHERE = RunConditions(hash_seed=4242, time_zone="America/Los_Angeles", clock_shift_days=-1000)
_WRONG_USE = frozenset({"AttributeError", "NameError", "RecursionError", "TypeError", "UnboundLocalError"})
"""Raised by chance, these say that a call was none that the code takes, and nothing of what a brief wants."""

Outcomes = Mapping[CandidateCall, Observation]


@dataclass(frozen=True)
class Trial:
    """A solution where it can be run."""

    lay: Callable[[], None]
    """Lays its texts over the shadow."""
    stage: Stage
    subject: Subject


@dataclass(frozen=True)
class Behaviour:
    """A behaviour that one or more solutions have and all others have not."""

    solutions: tuple[int, ...]
    """Their places in the order in which they were given, from 0."""
    told: Mapping[CandidateCall, Observation]
    """The few calls that show it, and how each ends."""


async def compare(trials: Sequence[Trial], report: Report) -> tuple[Behaviour, ...] | NotRun:
    """Return the different behaviours of solutions, the one that most of them have first; of two that as many have, the
    one that was given first. One, without a call, where no call tells them apart.

    Calls come from the repository, from types and from variations, found on each solution and made on all.
    """
    explored: list[list[CandidateCall]] = []
    stages: list[Stage] = []
    for number, trial in enumerate(trials, start=1):
        report(f"trying solution {number} of {len(trials)}", None)
        trial.lay()
        work = await explore(trial.stage, trial.subject, lambda text, fraction: None)
        if isinstance(work, NotRun):
            return work
        explored.append(_likely(work.seen))
        stages.append(work.stage)
    share = _MOST_CALLS // len(trials)
    calls = [*dict.fromkeys(call for found in explored for call in found[:share])]
    # Calls found on one solution are made on all, so that each has to know the imports of every one.
    imports = {name: where for stage in stages for name, where in stage.imports.items()}
    outcomes: list[Outcomes] = []
    for trial in trials:
        report(f"making {len(calls)} calls of {len(trials)} solutions", None)
        trial.lay()
        seen = await _outcomes(replace(trial.stage, imports=imports), calls)
        if isinstance(seen, NotRun):
            return seen
        outcomes.append(seen)
    return await asyncio.to_thread(behaviours_of, outcomes)


def _likely(calls: Iterable[CandidateCall]) -> list[CandidateCall]:
    """Return those of *calls* that somebody may well make, the simplest first; of a callable without such a call
    all.
    """
    by_target: dict[str, list[CandidateCall]] = {}
    for call in calls:
        by_target.setdefault(call.target, []).append(call)
    found = ([call for call in each if call.origin <= LIKELY] or each for each in by_target.values())
    return sorted((call for each in found for call in each), key=CandidateCall.cost)


async def _outcomes(stage: Stage, calls: Sequence[CandidateCall]) -> Outcomes | NotRun:
    """Return how *calls* end that end alike in two processes, at other times and places and in another order."""
    first = await observe(stage, calls, trace=True)
    again = await observe(stage, calls[::-1], trace=False, circumstances=_ELSEWHERE)
    for run in (first, again):
        if isinstance(run, NotRun):
            return run
    assert isinstance(first, Observed)
    assert isinstance(again, Observed)
    return stable([first.observations, again.observations])


def behaviours_of(outcomes: Sequence[Outcomes]) -> tuple[Behaviour, ...]:
    """Return the behaviours that *outcomes*, of each solution, amount to; see `compare`."""
    comparable = [{call: seen for call, seen in each.items() if _tells(seen)} for each in outcomes]
    parted = disagreements(comparable)
    groups: dict[tuple[object, ...], list[int]] = {}
    for number, seen in enumerate(comparable):
        groups.setdefault(tuple(seen[call].outcome for call in parted), []).append(number)
    clusters = sorted(groups.values(), key=lambda group: (-len(group), group[0]))
    told = _telling(parted, [group[0] for group in clusters], comparable)
    return tuple(Behaviour(tuple(group), {call: comparable[group[0]][call] for call in told}) for group in clusters)


def _tells(seen: Observation) -> bool:
    """Return whether an outcome can be shown and says something of what a brief wants."""
    if seen.by_chance or seen.pollutes:
        return False
    if seen.kind == "raises":
        return seen.deliberate or (seen.inside and seen.type_name not in _WRONG_USE)
    return seen.kind == "value" and bool(seen.views or seen.effects or seen.printed)


def _telling(
    parted: Mapping[CandidateCall, object], solutions: Sequence[int], outcomes: Sequence[Outcomes]
) -> list[CandidateCall]:
    """Return few calls that tell each of *solutions*, one for each behaviour, from all others: those that tell most
    apart first, of these one that ends with a value everywhere, and the simplest.
    """
    left = {*combinations(solutions, 2)}
    chosen: list[CandidateCall] = []

    def told_by(call: CandidateCall) -> set[tuple[int, int]]:
        return {(one, two) for one, two in left if outcomes[one][call].outcome != outcomes[two][call].outcome}

    def worth(call: CandidateCall) -> tuple[object, ...]:
        n_raising = sum(outcomes[one][call].kind == "raises" for one in solutions)
        return -len(told_by(call)), n_raising, call.cost()

    while left and len(chosen) < _MOST_TOLD:
        best = min(parted, key=worth)
        chosen.append(best)
        left -= told_by(best)
    return chosen
