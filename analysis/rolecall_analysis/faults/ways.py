"""Ways through a function from one of its events on, until something settles what was asked of them."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum, auto

from rolecall_analysis.faults.possible import Waypoint
from rolecall_analysis.faults.reading import ParsedFile
from rolecall_analysis.unbound.flowgraph import Act, Event, FlowGraph

MAX_STATES = 3_000
"""A function with more ways is given up: nothing is told of it."""

_Known = frozenset[tuple[str, bool]]
"""The conditions that were tested on the way, and how."""


class Sight(Enum):
    """The meaning of an event for what is asked."""

    GO_ON = auto()
    SAFE = auto()
    """Nothing can go wrong on this way any more."""
    FAULT = auto()


@dataclass(frozen=True, slots=True)
class Way:
    """A way that leads to a fault."""

    assumed: tuple[Event, ...]
    """The conditions on it, each with its outcome."""
    end: Event | None
    """The fault; None where the function is left without what it owes."""

    def waypoints(self, source: ParsedFile) -> Iterator[Waypoint]:
        """Yield what is decided on the way, in words."""
        told: set[int] = set()
        for event in self.assumed:
            if event.node is not None and event.node.type != "boolean_operator" and event.node.start_byte not in told:
                told.add(event.node.start_byte)
                outcome = "holds" if _outcome(source, event) else "does not hold"
                yield source.waypoint(event.node, f"`{source.quoted(event.node)}` {outcome}")


def _outcome(source: ParsedFile, event: Event) -> bool:
    """Return how the condition ends as it is written, which may be the opposite of the one that is followed."""
    assert event.node is not None
    assert event.condition is not None
    is_as_written = source.words(event.node).strip("()") == event.condition.text.strip("()")
    return bool(event.truth) == is_as_written


@dataclass(frozen=True, slots=True)
class _State:
    block: int
    event: int
    known: _Known
    assumed: tuple[Event, ...]


def find_way(
    graph: FlowGraph, block: int, event: int, judge: Callable[[Event], Sight], *, owes: bool = False
) -> Way | None:
    """Return a shortest way from an event, that one left out, to a fault; None without one.

    Whoever *owes* something is at fault when a way leaves the function before it is safe.
    """
    counted = Counter(_conditions(graph))
    # One test counts twice: once as true and once as false.
    repeated = {text for text, n_times in counted.items() if n_times > 2}
    waiting = deque([_State(block, event + 1, known_before(graph, block, event), ())])
    seen: set[tuple[int, int, _Known]] = set()
    while waiting and len(seen) < MAX_STATES:
        state = waiting.popleft()
        # Only a condition that comes again can tell two states apart; with the others, each way would be one.
        kept = frozenset(one for one in state.known if one[0] in repeated)
        if (state.block, state.event, kept) in seen:
            continue
        seen.add((state.block, state.event, kept))
        found = _through(graph, state, judge)
        here = graph.blocks[state.block]
        if isinstance(found, Way):
            return found
        if isinstance(found, _State):
            if not here.after and owes:
                return Way(found.assumed, None)
            waiting.extend(_State(number, 0, found.known, found.assumed) for number in here.after)
        # What is closed counts as closed though closing fails; what was to be bound is not.
        may_fail = found is not None and (isinstance(found, _State) or found.act is not Act.READ)
        # A way that begins within a block begins behind what may fail there.
        if may_fail and here.may_raise and here.handler is not None and not state.event:
            waiting.append(_State(here.handler, 0, state.known, state.assumed))
    return None


def _conditions(graph: FlowGraph) -> Iterator[str]:
    for block in graph.blocks:
        for event in block.events:
            if event.condition is not None:
                yield event.condition.text
            elif event.act is Act.BECOME:
                yield event.name


def _through(graph: FlowGraph, state: _State, judge: Callable[[Event], Sight]) -> Way | _State | Event | None:
    """Return the state at the end of a block; the way, where a fault is in it; the event that makes it safe; None
    where it leads nowhere.
    """
    known, assumed = state.known, state.assumed
    for event in graph.blocks[state.block].events[state.event :]:
        sight = judge(event)
        if sight is Sight.FAULT:
            return Way(assumed, event)
        if sight is Sight.SAFE:
            return event
        learned = learn(known, event)
        if learned is None:
            return None
        if event.act is Act.ASSUME:
            assumed = (*assumed, event)
        known = learned
    return _State(state.block, 0, known, assumed)


def learn(known: _Known, event: Event) -> _Known | None:
    """Return the known conditions after *event*; None where it cannot happen."""
    if event.act is Act.ASSUME and event.condition is not None:
        text, truth = event.condition.text, bool(event.truth)
        return None if (text, not truth) in known else known | {(text, truth)}
    if event.act in (Act.BIND, Act.UNBIND):
        # By letters, not by names: to forget a condition too much only lets more ways count.
        return frozenset(one for one in known if event.name not in one[0]) if known else known
    if event.act is Act.BECOME:
        found = set(known)
        if event.truth is not None:
            found.add((event.name, event.truth))
        if event.is_none is not None:
            found.add((f"{event.name} is None", event.is_none))
        return frozenset(found)
    return known


def known_before(graph: FlowGraph, block: int, event: int) -> _Known:
    """Return the conditions that every way to an event has passed, as far as one single way leads there."""
    before: dict[int, list[int]] = {}
    for number, one in enumerate(graph.blocks):
        for following in one.after:
            before.setdefault(following, []).append(number)
    line, passed = [block], {block}
    while len(found := before.get(line[-1], [])) == 1 and found[0] not in passed:
        line.append(found[0])
        passed.add(found[0])
    known: _Known = frozenset()
    for number in reversed(line):
        events = graph.blocks[number].events
        for one in events[: event + 1] if number == block else events:
            # None is of a way that cannot be: what it began with is then as good as anything.
            learnt = learn(known, one)
            known = known if learnt is None else learnt
    return known
