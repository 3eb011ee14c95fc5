"""The impact of a change: who depends on it, who depends on those, and by which path."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush

from rolecall_analysis.flow import FlowRule
from rolecall_analysis.queries.callers import callers
from rolecall_analysis.queries.collection import is_conftest, is_test
from rolecall_analysis.queries.definitions import definitions_in, is_inside
from rolecall_analysis.queries.importers import importers
from rolecall_analysis.queries.references import references
from rolecall_analysis.resolution.names import Rule, holder_of
from rolecall_analysis.snapshot import Snapshot
from rolecall_analysis.values import Definition, Span

MAX_SAME_NAME = 25
"""A name that stands in more places than this on values that are not known says nothing about who depends on it."""

MAX_FOLLOWED = 6
"""Of so many changed definitions the values are followed: that takes longer than to find their names."""

_FIXTURE_NAME = re.compile(r"\bname\s*=\s*[\"'](\w+)[\"']")

_Place = tuple[str, str]
"""A path, and the qualified name of a definition in it; empty for the module itself."""

_Cost = tuple[int, int]
"""The steps of a path that are only possible, and all of them: certain paths go first, then short ones."""


@dataclass(frozen=True, slots=True)
class ImpactStep:
    """One thing that depends on the one before it."""

    path: str
    definition: Definition | None
    """None: the code of the module itself."""
    certain: bool
    rule: Rule | FlowRule


@dataclass(frozen=True, slots=True)
class Dependent:
    """Something that a change may touch, and why."""

    origin: Definition | str
    """The thing that changed: a definition, or the path of a file."""
    steps: tuple[ImpactStep, ...]
    """From what names the origin to the dependent itself."""

    @property
    def path(self) -> str:
        """The file it is in."""
        return self.steps[-1].path

    @property
    def definition(self) -> Definition | None:
        """The dependent; None for the code of a module itself."""
        return self.steps[-1].definition

    @property
    def certain(self) -> bool:
        """Return whether every step is certain."""
        return all(step.certain for step in self.steps)


@dataclass(frozen=True, slots=True)
class Impact:
    """The places that a change touches."""

    dependents: tuple[Dependent, ...]
    """Certain ones first, then the nearest; each place once, by its best path."""
    is_complete: bool
    """False: there are more than were asked for, or further away."""


def impact(
    snapshot: Snapshot,
    changed: Iterable[Definition | str],
    *,
    max_steps: int = 4,
    limit: int = 200,
    certain_only: bool = False,
) -> Impact:
    """Return the impact of the *changed* definitions, or files: what depends on them, directly or through others.

    Of a class, its members have changed as well; of a file, all that is in it. At most *limit* dependents, each
    reached in *max_steps* at most.
    """
    waiting = _Waiting(certain_only)
    for origin in changed:
        parts, steps = _changed_parts(snapshot, origin)
        waiting.seen.update(parts)
        for step in steps:
            waiting.push(Dependent(origin, (step,)))
    found: list[Dependent] = []
    is_complete = True
    while (dependent := waiting.pop()) is not None:
        if len(found) == limit:
            return Impact(tuple(found), False)
        found.append(dependent)
        if dependent.definition is None:
            continue
        n_possible, n_steps = _cost(dependent.steps)
        if n_steps == max_steps or waiting.n_before((n_possible, n_steps + 1)) >= limit - len(found):
            is_complete = False
            continue
        for step in dependents_of(snapshot, dependent.definition):
            waiting.push(Dependent(dependent.origin, (*dependent.steps, step)))
    return Impact(tuple(found), is_complete)


@dataclass(slots=True)
class _Waiting:
    """The dependents that are known and not yet told, the best path of each place."""

    certain_only: bool
    seen: set[_Place] = field(default_factory=set[_Place])
    heap: list[tuple[_Cost, int, Dependent]] = field(default_factory=list[tuple[_Cost, int, Dependent]])
    n_pushed: int = 0
    costs: dict[_Place, _Cost] = field(default_factory=dict[_Place, _Cost])

    def push(self, dependent: Dependent) -> None:
        place, cost = _place(dependent.steps[-1]), _cost(dependent.steps)
        known = self.costs.get(place)
        if place in self.seen or (self.certain_only and cost[0]) or (known is not None and known <= cost):
            return
        self.costs[place] = cost
        self.n_pushed += 1
        # The number comes before the dependent, so that two of the same cost are never compared with each other.
        heappush(self.heap, (cost, self.n_pushed, dependent))

    def pop(self) -> Dependent | None:
        while self.heap:
            *_, dependent = heappop(self.heap)
            place = _place(dependent.steps[-1])
            # A better path may have been pushed later: the worse one is still in the heap.
            if place not in self.seen:
                self.seen.add(place)
                del self.costs[place]
                return dependent
        return None

    def n_before(self, cost: _Cost) -> int:
        """Return the number of places that are told before one more that costs *cost*: enough of them make a longer
        search pointless.
        """
        return sum(known <= cost for known in self.costs.values())


def dependents_of(snapshot: Snapshot, definition: Definition) -> Iterator[ImpactStep]:
    """Yield the definitions, and modules, in whose text *definition* is named or called."""
    found = [found for found in references(snapshot, definition, include_definition=False) if found.kind == "read"]
    n_same_name = sum(occurrence.rule == "same name" for occurrence in found)
    for occurrence in found:
        if occurrence.rule != "same name" or n_same_name <= MAX_SAME_NAME:
            holder = _holder(snapshot, occurrence.path, occurrence.owner, occurrence.span)
            yield ImpactStep(occurrence.path, holder, occurrence.certain, occurrence.rule)
    yield from _tests_with_fixture(snapshot, definition)
    # Whoever makes an object calls `__init__` and names the class alone.
    owner = holder_of(snapshot, definition) if definition.name == "__init__" else None
    for site in callers(snapshot, owner, reach=None) if owner is not None else ():
        yield ImpactStep(site.path, site.caller, site.certain, site.rule)


def _tests_with_fixture(snapshot: Snapshot, definition: Definition) -> Iterator[ImpactStep]:
    """Find the functions that ask pytest for the fixture *definition* by a parameter; all tests if it is automatic."""
    marks = [mark for mark in definition.decorators if mark.partition("(")[0].endswith("fixture")]
    if not marks:
        return
    name = next((found[1] for mark in marks if (found := _FIXTURE_NAME.search(mark))), definition.name)
    # A fixture of a `conftest.py` is known in all of its folder, any other only in its own file.
    folder = definition.path.removesuffix("conftest.py") if is_conftest(definition.path) else definition.path
    if any("autouse=True" in mark.replace(" ", "") for mark in marks):
        yield from (
            ImpactStep(path, None, certain=False, rule="fixture")
            for path in sorted(snapshot.files)
            if path.startswith(folder) and is_test(snapshot, path)
        )
    parameter = re.compile(rf"[(,]\s*{re.escape(name)}\s*[,:=)]")
    for path in sorted(path for path in snapshot.mentioning(name) if path.startswith(folder)):
        for user in definitions_in(snapshot, path):
            if user.kind in ("function", "method") and user != definition and parameter.search(user.signature):
                yield ImpactStep(path, user, certain=False, rule="fixture")


def _changed_parts(snapshot: Snapshot, origin: Definition | str) -> tuple[set[_Place], list[ImpactStep]]:
    """Return the places that change with *origin*, and the first steps away from them."""
    path = origin if isinstance(origin, str) else origin.path
    parts = [
        definition
        for definition in definitions_in(snapshot, path)
        if isinstance(origin, str) or is_inside(definition.qualified_name, origin.qualified_name)
    ]
    if not isinstance(origin, str) and not parts:
        # It may be gone from this snapshot: those that still name it are touched all the same.
        parts = [origin]
    steps = [step for part in parts for step in dependents_of(snapshot, part)]
    if len(parts) <= MAX_FOLLOWED:
        steps.extend(step for part in parts for step in _followed(snapshot, part))
    if isinstance(origin, str):
        steps.extend(ImpactStep(other, None, True, "import") for other in importers(snapshot, origin))
    return {(part.path, part.qualified_name) for part in parts}, steps


def _followed(snapshot: Snapshot, definition: Definition) -> Iterator[ImpactStep]:
    """Yield those that call *definition* without naming it."""
    for site in callers(snapshot, definition) if definition.kind != "variable" else ():
        if site.rule != "same name":
            yield ImpactStep(
                site.path, _holder(snapshot, site.path, site.caller, site.call.span), site.certain, site.rule
            )


def _holder(snapshot: Snapshot, path: str, owner: Definition | None, span: Span) -> Definition | None:
    """Return the function in whose text *span* is; outside functions the variable it makes, or the class *owner*."""
    if owner is not None and owner.kind != "class":
        return owner
    scope = owner.qualified_name if owner is not None else ""
    return next(
        (
            definition
            for definition in definitions_in(snapshot, path)
            if definition.kind == "variable" and definition.scope == scope and _within(span, definition.span)
        ),
        owner,
    )


def _within(inner: Span, outer: Span) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end


def _place(step: ImpactStep) -> _Place:
    return step.path, step.definition.qualified_name if step.definition is not None else ""


def _cost(steps: tuple[ImpactStep, ...]) -> _Cost:
    return sum(not step.certain for step in steps), len(steps)
