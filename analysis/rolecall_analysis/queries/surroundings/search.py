"""The places around one in the graph, by steps, as many as can be drawn, with a count of those that were left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from rolecall_analysis.queries.collection import is_conftest, is_test
from rolecall_analysis.queries.definitions import find_definition
from rolecall_analysis.queries.impact import Dependent, impact
from rolecall_analysis.queries.surroundings.neighbours import (
    GraphPlace,
    Neighbour,
    called,
    calling,
    imported,
    importing,
)
from rolecall_analysis.snapshot import Snapshot

MAX_EXPANDED = 100
"""So many places are followed in each direction: beyond, an answer takes long and nobody can read it."""

SurroundingKind = Literal["calls", "impact", "modules"]


@dataclass(frozen=True, slots=True)
class Connection:
    """One place that depends on another: it calls it, imports it or names it."""

    dependent: GraphPlace
    dependency: GraphPlace
    certain: bool
    rule: str


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The definitions and modules around a place."""

    distances: Mapping[GraphPlace, int]
    """Steps from the centre, which has 0: below zero what depends on it, above zero what it depends on."""
    connections: tuple[Connection, ...]
    """Those that were found between the places, each pair once."""
    n_dependents_left_out: int
    """Places beyond the limit that depend on the centre, as far as they were seen."""
    n_dependencies_left_out: int
    n_possible_left_out: int
    """Places that are only possibly connected, where certain ones alone were wanted, and always those of which nothing
    is known but a name that is called in many places."""
    n_tests_left_out: int
    is_complete: bool
    """False: within these steps there may be more, which the limit left out."""


@dataclass(slots=True)
class _Walk:
    """The findings in one direction so far."""

    snapshot: Snapshot
    with_possible: bool
    with_tests: bool
    distances: dict[GraphPlace, int]
    found: dict[tuple[GraphPlace, GraphPlace], Neighbour] = field(
        default_factory=dict[tuple[GraphPlace, GraphPlace], Neighbour]
    )
    """The surest step from each place to each neighbour."""
    beyond: set[GraphPlace] = field(default_factory=set[GraphPlace])
    possible: set[GraphPlace] = field(default_factory=set[GraphPlace])
    tests: set[GraphPlace] = field(default_factory=set[GraphPlace])
    is_complete: bool = True

    def take(self, place: GraphPlace, neighbours: Iterable[Neighbour]) -> None:
        """Note the *neighbours* of *place* that are wanted."""
        for neighbour in neighbours:
            if neighbour.place == place:
                continue
            if not self.with_tests and is_for_tests(self.snapshot, neighbour.place[0]):
                self.tests.add(neighbour.place)
            elif neighbour.vague or not (neighbour.certain or self.with_possible):
                self.possible.add(neighbour.place)
            else:
                known = self.found.get((place, neighbour.place))
                if known is None or neighbour.certain > known.certain:
                    self.found[place, neighbour.place] = neighbour

    def admit(self, places: Iterable[GraphPlace], distance: int, room: int) -> list[GraphPlace]:
        """Give as many of the new *places* as there is *room* for their distance, and return them."""
        ordered = [place for place in dict.fromkeys(places) if place not in self.distances]
        for place in ordered[:room]:
            self.distances[place] = distance
        self.beyond.update(ordered[room:])
        return ordered[:room]


def surroundings(
    snapshot: Snapshot,
    centre: GraphPlace,
    kind: SurroundingKind,
    *,
    steps: int = 1,
    limit: int = 200,
    with_possible: bool = False,
    with_tests: bool = True,
) -> Surroundings:
    """Return what is at most *steps* away from *centre*: callers and callees, what a change touches, or modules that
    import each other.

    In each direction at most *limit* places, of which `MAX_EXPANDED` are followed: near ones first, then certain
    ones, then those of the centre's own file, then product code before tests.
    """
    walk = partial(_Walk, snapshot, with_possible, with_tests)
    if kind == "impact":
        upstream, downstream = _impact(walk({centre: 0}), centre, steps, limit), walk({centre: 0})
    else:
        towards, away = _DIRECTIONS[kind]
        upstream = _spread(walk({centre: 0}), centre, towards, steps, limit)
        downstream = _spread(walk({centre: 0}), centre, away, steps, limit)
    return _joined(centre, upstream, downstream)


_Ask = Callable[[Snapshot, GraphPlace, bool], Iterable[Neighbour]]
"""From a place, and whether it is the centre, to its neighbours."""

_DIRECTIONS: Mapping[str, tuple[_Ask, _Ask]] = {
    "calls": (
        lambda snapshot, place, is_centre: calling(snapshot, place, follows_values=is_centre),
        lambda snapshot, place, _: called(snapshot, place),
    ),
    "modules": (
        lambda snapshot, place, _: importing(snapshot, place),
        lambda snapshot, place, _: imported(snapshot, place),
    ),
}


def _spread(walk: _Walk, centre: GraphPlace, ask: _Ask, steps: int, limit: int) -> _Walk:
    """Walk away from *centre* level by level."""
    frontier, n_expanded = [centre], 0
    for distance in range(1, steps + 1):
        followed = frontier[: MAX_EXPANDED - n_expanded]
        walk.is_complete = walk.is_complete and len(followed) == len(frontier)
        for place in followed:
            walk.take(place, ask(walk.snapshot, place, place == centre))
        n_expanded += len(followed)
        came = {place: set[GraphPlace]() for place in followed}
        for source, target in walk.found:
            if source in came:
                came[source].add(target)
        new = sorted({place for targets in came.values() for place in targets}, key=_order(walk, centre))
        # One more than the limit, because the centre is among the distances too.
        frontier = walk.admit(new, distance, limit + 1 - len(walk.distances))
    walk.is_complete = walk.is_complete and not walk.beyond
    return walk


def _order(walk: _Walk, centre: GraphPlace) -> Callable[[GraphPlace], tuple[object, ...]]:
    sure = {target for (_, target), neighbour in walk.found.items() if neighbour.certain}

    def order(place: GraphPlace) -> tuple[object, ...]:
        path = place[0]
        return place not in sure, is_for_tests(walk.snapshot, path), path != centre[0], place

    return order


def _impact(walk: _Walk, centre: GraphPlace, steps: int, limit: int) -> _Walk:
    """Take what a change of *centre* touches."""
    path, name = centre
    origin = find_definition(walk.snapshot, path, name) if name else path
    if origin is None:
        return walk
    found = impact(walk.snapshot, [origin], max_steps=steps, limit=limit)
    for dependent in found.dependents:
        _take_dependent(walk, centre, dependent)
    # Not `found.is_complete`: what lies beyond the steps that were asked for is not missing here.
    walk.is_complete = len(found.dependents) < limit
    return walk


def _take_dependent(walk: _Walk, centre: GraphPlace, dependent: Dependent) -> None:
    places = [_place_of(step.path, step.definition) for step in dependent.steps]
    last, before = dependent.steps[-1], places[-2] if len(places) > 1 else centre
    walk.take(before, [Neighbour(places[-1], last.certain and dependent.certain, last.rule)])
    if (before, places[-1]) in walk.found:
        walk.admit([places[-1]], len(places), 1)


def _place_of(path: str, definition: object) -> GraphPlace:
    return path, getattr(definition, "qualified_name", "")


def _joined(centre: GraphPlace, upstream: _Walk, downstream: _Walk) -> Surroundings:
    """Return both walks as one; a place that both found is where it is nearer."""
    distances = {centre: 0, **{place: -distance for place, distance in upstream.distances.items() if distance}}
    for place, distance in downstream.distances.items():
        if place not in distances or abs(distances[place]) > distance:
            distances[place] = distance
    connections: dict[tuple[GraphPlace, GraphPlace], Connection] = {}
    for (dependency, dependent), found in upstream.found.items():
        _connect(connections, Connection(dependent, dependency, found.certain, found.rule))
    for (dependent, dependency), found in downstream.found.items():
        _connect(connections, Connection(dependent, dependency, found.certain, found.rule))
    return Surroundings(
        distances,
        tuple(each for (one, other), each in connections.items() if one in distances and other in distances),
        len(upstream.beyond - distances.keys()),
        len(downstream.beyond - distances.keys()),
        len((upstream.possible | downstream.possible) - distances.keys()),
        len(upstream.tests | downstream.tests),
        upstream.is_complete and downstream.is_complete,
    )


def _connect(known: dict[tuple[GraphPlace, GraphPlace], Connection], new: Connection) -> None:
    pair = new.dependent, new.dependency
    if pair not in known or new.certain > known[pair].certain:
        known[pair] = new


def is_for_tests(snapshot: Snapshot, path: str) -> bool:
    """Return whether *path* is of the tests: collected by them, or beside those that are."""
    return is_test(snapshot, path) or is_conftest(path) or "tests" in path.split("/")[:-1]
