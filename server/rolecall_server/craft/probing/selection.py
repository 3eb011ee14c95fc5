"""The few calls that show what many show."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from dataclasses import replace
from heapq import heapify, heappop, heappush

from rolecall_server.craft.probing.behaviour import kind_of
from rolecall_server.craft.probing.observation import Arc, Call, Observation


def assertable(seen: Observation) -> bool:
    """Whether a test can hold a call to what it did: a result that can be written down, or a deliberate refusal."""
    if seen.pollutes or seen.by_chance or seen.kind not in ("value", "raises"):
        return False
    if seen.kind == "raises":
        return seen.deliberate
    return bool(seen.views or seen.effects)


def choose(observations: Mapping[Call, Observation], known: Collection[Arc] = ()) -> list[Call]:
    """A small set of calls that goes every way all of them go, *known* ways aside, and ends in every kind of outcome.

    The call that adds most is taken first; of those that add as much, the simplest.
    """
    shows = {call: _shown(call, seen) - set(known) for call, seen in observations.items()}
    left: set[Hashable] = set[Hashable]().union(*shows.values())
    # What a call adds only shrinks: the first whose count still holds is the best there is.
    queue = [(-len(shows[call]), call.cost(), number, call) for number, call in enumerate(observations)]
    heapify(queue)
    chosen: list[Call] = []
    while left and queue:
        count, cost, number, best = heappop(queue)
        adds = len(shows[best] & left)
        if adds == -count and adds:
            chosen.append(best)
            left -= shows[best]
        elif adds:
            heappush(queue, (-adds, cost, number, best))
    return _without_superfluous(chosen, shows)


def _shown(call: Call, seen: Observation) -> set[Hashable]:
    return {*seen.arcs, (call.target, kind_of(seen))}


def _without_superfluous(chosen: list[Call], shows: Mapping[Call, set[Hashable]]) -> list[Call]:
    """*chosen* without the calls whose part the others show, the least simple left out first."""
    kept = list(chosen)
    for call in sorted(chosen, key=Call.cost, reverse=True):
        others = set[Hashable]().union(*(shows[other] for other in kept if other is not call))
        if shows[call] <= others:
            kept.remove(call)
    return kept


def stable(runs: list[Mapping[Call, Observation]]) -> dict[Call, Observation]:
    """The calls of the first of *runs* that end alike in all of them; a message that differs is left empty."""
    first, *others = runs
    found: dict[Call, Observation] = {}
    for call, seen in first.items():
        again = [other[call] for other in others if call in other]
        if len(again) == len(others) and all(one.outcome == seen.outcome for one in again):
            same_words = all(one.message == seen.message for one in again)
            found[call] = seen if same_words else replace(seen, message="")
    return found
