"""Calls grouped by what they do: which inputs are alike, and where several implementations part."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from rolecall_server.craft.characterization.observation import CandidateCall, Observation


@dataclass(frozen=True)
class Cluster:
    """Calls that behave alike, the simplest first."""

    calls: tuple[CandidateCall, ...]

    @property
    def representative(self) -> CandidateCall:
        """The simplest of them."""
        return self.calls[0]


def cluster(observations: Mapping[CandidateCall, Observation]) -> list[Cluster]:
    """Group the calls of *observations* by target, kind of outcome and way through the code, in a fixed order."""
    groups: dict[Hashable, list[CandidateCall]] = {}
    for call, seen in observations.items():
        groups.setdefault((call.target, kind_of(seen), seen.arcs), []).append(call)
    found = [Cluster(tuple(sorted(calls, key=CandidateCall.cost))) for calls in groups.values()]
    return sorted(found, key=lambda group: (group.representative.target, group.representative.cost()))


def kind_of(seen: Observation) -> tuple[str, str]:
    """Return the kind of an outcome: how the call ended, and the type of what came out."""
    return (seen.kind, seen.type_name)


def disagreements(
    implementations: Sequence[Mapping[CandidateCall, Observation]],
) -> dict[CandidateCall, tuple[tuple[int, ...], ...]]:
    """Return the calls on which *implementations* do not all do the same: the numbers of those that agree, in groups.

    A call that one of them was not asked is left out.
    """
    if not implementations:
        return {}
    shared = [call for call in implementations[0] if all(call in other for other in implementations)]
    found: dict[CandidateCall, tuple[tuple[int, ...], ...]] = {}
    for call in shared:
        groups: dict[Hashable, list[int]] = {}
        for number, implementation in enumerate(implementations):
            groups.setdefault(implementation[call].outcome, []).append(number)
        if len(groups) > 1:
            found[call] = tuple(tuple(group) for group in groups.values())
    return found
