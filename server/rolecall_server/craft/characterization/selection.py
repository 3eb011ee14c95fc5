"""The few calls that show what many show."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from dataclasses import replace
from heapq import heapify, heappop, heappush

from rolecall_server.craft.characterization.behaviour import kind_of
from rolecall_server.craft.characterization.observation import CandidateCall, Observation

_NOTHING = (("{}", "None"),)


def assertable(seen: Observation) -> bool:
    """Return whether a test can assert what a call did: a result that can be written down, or a deliberate refusal."""
    if seen.pollutes or seen.by_chance or seen.kind not in ("value", "raises"):
        return False
    if seen.kind == "raises":
        return seen.deliberate
    return bool(seen.views or seen.effects)


def tells(seen: Observation) -> bool:
    """Return whether a call did anything that can be seen, other than coming to its end."""
    return seen.kind != "value" or bool(seen.effects or seen.printed) or seen.views not in ((), _NOTHING)


def choose(observations: Mapping[CandidateCall, Observation], known: Collection[Hashable] = ()) -> list[CandidateCall]:
    """Return a small set of calls that takes every way through the code that all of them take, and has every kind of
    outcome of each target, but for the *known* ones.

    The call that adds most is taken first; of those that add as much, the simplest. Calls through another module's
    function are taken only for ways that no other call takes.
    """
    own: dict[CandidateCall, set[Hashable]] = {}
    through: dict[CandidateCall, set[Hashable]] = {}
    for call, seen in observations.items():
        if call.is_through_another:
            through[call] = set(seen.arcs)
        else:
            own[call] = {*seen.arcs, (call.target, kind_of(seen))}
    chosen = _cover(own, set(known))
    return [*chosen, *_cover(through, set(known).union(*(own[call] for call in chosen)))]


def _cover(shows: Mapping[CandidateCall, set[Hashable]], known: set[Hashable]) -> list[CandidateCall]:
    """Return a small set of calls that shows all that every call *shows*, but for what is *known*."""
    new = {call: shown - known for call, shown in shows.items()}
    left: set[Hashable] = set[Hashable]().union(*new.values())
    # What a call adds only shrinks: the first whose count still holds is the best there is.
    queue = [(-len(new[call]), call.cost(), number, call) for number, call in enumerate(new)]
    heapify(queue)
    chosen: list[CandidateCall] = []
    while left and queue:
        count, cost, number, best = heappop(queue)
        adds = len(new[best] & left)
        if adds == -count and adds:
            chosen.append(best)
            left -= new[best]
        elif adds:
            heappush(queue, (-adds, cost, number, best))
    return _without_superfluous(chosen, new)


def _without_superfluous(
    chosen: list[CandidateCall], shows: Mapping[CandidateCall, set[Hashable]]
) -> list[CandidateCall]:
    """Return *chosen* without the calls that only show what the others show too; the least simple ones are left out
    first.
    """
    kept = list(chosen)
    for call in sorted(chosen, key=CandidateCall.cost, reverse=True):
        others = set[Hashable]().union(*(shows[other] for other in kept if other is not call))
        if shows[call] <= others:
            kept.remove(call)
    return kept


def stable(runs: list[Mapping[CandidateCall, Observation]]) -> dict[CandidateCall, Observation]:
    """Return the calls of the first of *runs* that end alike in all of them; a message that differs is left empty."""
    first, *others = runs
    found: dict[CandidateCall, Observation] = {}
    for call, seen in first.items():
        again = [other[call] for other in others if call in other]
        if len(again) == len(others) and all(one.outcome == seen.outcome for one in again):
            same_words = all(one.message == seen.message for one in again)
            found[call] = seen if same_words else replace(seen, message="")
    return found
