"""Which calls tell mutants from the module, and a hunt for more of them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

from rolecall_server.craft.probing.execution import Verdicts, kill
from rolecall_server.craft.probing.observation import Call, Mutant, Observation
from rolecall_server.craft.probing.reach import Reach
from rolecall_server.craft.probing.trying import Work, confirmed, observe_new, usable, varied

_VARIATIONS = 70


async def kill_mutants(
    work: Work, mutants: Sequence[Mutant], pool: Mapping[Call, Observation], limit: int, *, least_s: float = 0.0
) -> dict[Mutant, Call | None]:
    """The mutants that at most *limit* calls of *pool* each tell from the module, as far as time goes.

    *least_s* is what may be spent even where the time is over.
    """
    trials = await asyncio.to_thread(_trials, work, mutants, pool, limit)
    time_s = max(work.left_s, least_s)
    if not trials or time_s < 1:
        return {}
    stage = replace(work.stage, timeout_s=time_s)
    halves = [half for half in (trials[::2], trials[1::2]) if half]
    found = await asyncio.gather(*(kill(stage, pool, half) for half in halves))
    verdicts = [one for one in found if isinstance(one, Verdicts)]
    work.invalid.update(*(one.invalid for one in verdicts))
    if least_s:
        work.untried.update(mutant for mutant, _ in trials)
    work.untried.difference_update(*({*one.killed, *one.invalid, *one.survived} for one in verdicts))
    return {mutant: call for one in verdicts for mutant, call in one.killed.items()}


def _trials(
    work: Work, mutants: Sequence[Mutant], pool: Mapping[Call, Observation], limit: int
) -> list[tuple[Mutant, Sequence[Call]]]:
    """The mutants that calls may tell, each with those calls; in no order, so that lack of time hits no part more."""
    reach = Reach(work.survey, work.targets, work.import_lines, pool)
    trials = [(mutant, tried) for mutant in mutants if (tried := reach.of(mutant, limit))]
    work.random.shuffle(trials)
    return trials


async def hunt(work: Work, left: Sequence[Mutant], pool: Mapping[Call, Observation]) -> dict[Call, Observation]:
    """New calls near those that reach the surviving mutants."""
    near: dict[str, list[Call]] = {}
    lines = {mutant.statement for mutant in left}
    for call, seen in pool.items():
        if seen.lines & lines or lines & work.import_lines:
            near.setdefault(call.target, []).append(call)
    calls = await asyncio.to_thread(
        lambda: [call for name, seeds in near.items() for call in varied(work, name, seeds, 2 * _VARIATIONS)]
    )
    before = set(work.seen)
    await observe_new(work, calls)
    new = {call: seen for call, seen in work.seen.items() if call not in before and usable(work, call, seen)}
    return await confirmed(work, new) if new else {}
