"""The calls that tell mutants from the module, and a search for more of them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, islice, takewhile

from rolecall_server.craft.characterization.call_trials import TrialState, confirmed, observe_new, usable, varied
from rolecall_server.craft.characterization.execution import Verdicts, kill
from rolecall_server.craft.characterization.inputs.literals import literals_on
from rolecall_server.craft.characterization.observation import LIKELY, CandidateCall, Observation
from rolecall_server.craft.characterization.reach import CallReach
from rolecall_server.sandbox import Mutant

_VARIATIONS = 70
_PLAIN = re.compile(r"-?\d+|'[^']*'|\"[^\"]*\"")
_SEEDS_WITH_ENTRIES = 3
_MAX_ENTRIES = 60
_MAX_WITH_ENTRIES = 1200
"""So many entries of tables are passed in one search, in so many calls."""
_LEAST_CALLS = 4
"""So many calls are tried on a mutant however slow they are."""


async def kill_mutants(
    work: TrialState,
    mutants: Sequence[Mutant],
    pool: Mapping[CandidateCall, Observation],
    limit: int,
    *,
    least_s: float = 0.0,
) -> dict[Mutant, CandidateCall | None]:
    """Return the mutants that differ from the module, each with the call that shows it; at most *limit* calls of *pool*
    are tried for each, while time is left.

    *least_s* is what may be spent even where the time is over.
    """
    time_s = max(work.left_s, least_s)
    trials = await asyncio.to_thread(_trials, work, mutants, pool, limit, time_s)
    if not trials or time_s < 1:
        return {}
    stage = replace(work.stage, timeout_s=time_s)
    halves = [half for half in (trials[::2], trials[1::2]) if half]
    found = await asyncio.gather(*(kill(stage, pool, half) for half in halves))
    verdicts = [one for one in found if isinstance(one, Verdicts)]
    if least_s:
        work.untried.update(mutant for mutant, _ in trials)
    work.untried.difference_update(*({*one.killed, *one.survived} for one in verdicts))
    return {mutant: call for one in verdicts for mutant, call in one.killed.items()}


def _trials(
    work: TrialState, mutants: Sequence[Mutant], pool: Mapping[CandidateCall, Observation], limit: int, time_s: float
) -> list[tuple[Mutant, Sequence[CandidateCall]]]:
    """Return the mutants that calls may reveal, each with those calls, shuffled so that lack of time affects all parts
    alike.
    """
    reach = CallReach(work.survey, work.targets, work.import_lines, pool)
    # Twice its share of both processes, as most mutants are told by one of the first calls.
    share_s = 2 * 2 * time_s / max(1, len(mutants))
    trials = [(mutant, _within(tried, pool, share_s)) for mutant in mutants if (tried := reach.of(mutant, limit))]
    work.random.shuffle(trials)
    return trials


def _near(work: TrialState, left: Sequence[Mutant], near: Mapping[str, Sequence[CandidateCall]]) -> list[CandidateCall]:
    """Return variations of the calls *near* by target, with the words that it may know, and with those of the lines of
    the mutants that are *left*.
    """
    words = literals_on(work.survey.tree, {mutant.line for mutant in left}).strings
    of_tables = literals_on(work.survey.tree, {mutant.line for mutant in left if mutant.at_import})
    entries = [*map(repr, of_tables.strings), *map(repr, of_tables.numbers)][:_MAX_ENTRIES]
    return [
        *islice((call for seeds in near.values() for call in _with_entries(seeds, entries)), _MAX_WITH_ENTRIES),
        *(
            call
            for name, seeds in near.items()
            for known in dict.fromkeys(((), words))
            for call in varied(work, name, seeds, 2 * _VARIATIONS, known)
        ),
    ]


def _with_entries(seeds: Sequence[CandidateCall], entries: Sequence[str]) -> Iterator[CandidateCall]:
    """Yield the simplest of *seeds* with each of the *entries* of tables in the place of each literal of that kind."""
    for call in sorted(seeds, key=CandidateCall.cost)[:_SEEDS_WITH_ENTRIES]:
        for place, source in enumerate(call.operands):
            if _PLAIN.fullmatch(source):
                alike = (entry for entry in entries if (entry[0] in "'\"") == (source[0] in "'\""))
                for entry in alike:
                    operands = (*call.operands[:place], entry, *call.operands[place + 1 :])
                    yield replace(call, operands=operands, origin=max(call.origin, LIKELY))


def _within(
    calls: Sequence[CandidateCall], pool: Mapping[CandidateCall, Observation], time_s: float
) -> Sequence[CandidateCall]:
    """Return the first of *calls* that take *time_s* together, and at least a few."""
    durations_s = accumulate(pool[call].duration_s for call in calls)
    n_within = sum(1 for _ in takewhile(lambda total_s: total_s <= time_s, durations_s))
    return calls[: max(n_within, _LEAST_CALLS)]


async def hunt(
    work: TrialState, left: Sequence[Mutant], pool: Mapping[CandidateCall, Observation]
) -> dict[CandidateCall, Observation]:
    """New calls near those that reach the surviving mutants."""
    near: dict[str, list[CandidateCall]] = {}
    lines = {mutant.statement for mutant in left}
    for call, seen in pool.items():
        if seen.lines & lines or lines & work.import_lines:
            near.setdefault(call.target, []).append(call)
    calls = await asyncio.to_thread(_near, work, left, near)
    before = set(work.seen)
    await observe_new(work, calls)
    new = {call: seen for call, seen in work.seen.items() if call not in before and usable(work, call, seen)}
    return await confirmed(work, new) if new else {}
