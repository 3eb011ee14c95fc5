"""The names that may lack a value where they are read: definite assignment over a flow graph.

The state at a place is a row of bit sets over the names that are asked about: the names that may be unbound, those
that may be bound, and for each condition that comes more than once, the names that may be unbound if it is true and
if it is false. All of them are kept in one integer, because most events change every set in the same way.
"""

from __future__ import annotations

import builtins
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from rolecall_analysis.unbound.flowgraph import Act, Condition, Event, FlowGraph

MAX_CONDITIONS = 40
"""The first so many conditions of a function are followed; more would make each step slower."""

_BUILTINS = frozenset(dir(builtins)) | {"__file__", "__path__", "__builtins__", "__annotations__", "__dict__"}
_IN_CLASSES = frozenset({"__module__", "__qualname__", "__class__", "__firstlineno__", "__static_attributes__"})

Key = tuple[int, str]
"""A class index and a name of that class body."""
_Step = Callable[[int], int]


@dataclass(frozen=True, slots=True)
class Read:
    """A read of a name that may have no value."""

    node: Node
    name: str
    certain: bool
    """No path to it gives the name a value."""


@dataclass(frozen=True, slots=True)
class Solution:
    """The facts known of a graph once every path was followed."""

    reads: tuple[Read, ...]
    never_bound_at_end: frozenset[str]
    """Names without a value whenever the end is reached."""
    maybe_unbound_at_end: frozenset[str]
    reached: frozenset[int]
    """The blocks that some path leads to."""


@dataclass(frozen=True, slots=True)
class FlowQuestion:
    """A question about a graph."""

    graph: FlowGraph
    names: frozenset[Key]
    """The names to judge."""
    resolve: Callable[[Event], Key | None]
    """Finds the name that a read is of."""


def questions(graphs: Sequence[FlowGraph]) -> list[FlowQuestion]:
    """For each graph of a file, the module's first, the names that can be judged by it alone."""
    elsewhere = _bound_elsewhere(graphs)
    module_names = graphs[0].bound[0] if graphs else set[str]()
    return [_question(graph, graph.bound[0] - elsewhere[id(graph)], module_names) for graph in graphs]


def late_reads(graphs: Sequence[FlowGraph], solutions: Mapping[int, Solution]) -> Iterator[tuple[FlowGraph, Event]]:
    """Yield the reads in functions of the module's names, whenever they run; *solutions* are by the identity of their
    graph.
    """
    visible: dict[int, set[str]] = {}
    for graph in graphs:  # outer ones come first
        if graph.parent is None:
            visible[id(graph)] = set()
            continue
        own = graph.bound[0] | graph.nonlocal_names | visible.get(id(graph.parent), set())
        visible[id(graph)] = own - graph.global_names
        reached = solutions[id(graph)].reached if id(graph) in solutions else ()
        for number in sorted(reached):
            for event in graph.blocks[number].events:
                if event.act is not Act.READ or event.is_probe:
                    continue
                if event.name not in visible[id(graph)] and event.name not in graph.bound[event.class_index]:
                    yield graph, event


def _reads(graph: FlowGraph) -> Iterator[Event]:
    return (event for block in graph.blocks for event in block.events if event.act is Act.READ)


def _bound_elsewhere(graphs: Iterable[FlowGraph]) -> dict[int, set[str]]:
    """For each graph the names that another function binds, by ``global`` or ``nonlocal``, or that are such there."""
    found = {id(graph): graph.global_names | graph.nonlocal_names for graph in graphs}
    for graph in graphs:
        for name in (graph.global_names | graph.nonlocal_names) & graph.bound[0]:
            outer = graph.parent
            while outer is not None and outer.parent is not None and not _owns(outer, name, graph):
                outer = outer.parent
            if outer is not None:
                found[id(outer)].add(name)
    return found


def _owns(outer: FlowGraph, name: str, inner: FlowGraph) -> bool:
    return name in inner.nonlocal_names and name in outer.bound[0] and name not in outer.nonlocal_names


def _question(graph: FlowGraph, own_names: set[str], module_names: set[str]) -> FlowQuestion:
    is_module = graph.parent is None
    events = list(_reads(graph))
    fallbacks = _BUILTINS | _IN_CLASSES | module_names

    def resolve(event: Event) -> Key | None:
        # Where a class body lacks a name, Python looks on in the module and the builtins.
        if event.class_index and event.name in graph.bound[event.class_index]:
            return (event.class_index, event.name) if event.name not in fallbacks else None
        if event.name not in own_names or (is_module and event.name in _BUILTINS):
            return None
        return (0, event.name)

    names = frozenset(key for key in map(resolve, events) if key is not None)
    return FlowQuestion(graph, names | {(0, name) for name in own_names - _BUILTINS} if is_module else names, resolve)


class _Layout:
    """The places of the sets in the integer, and the steps that change them."""

    def __init__(self, names: Iterable[Key], conditions: Iterable[Condition]) -> None:
        self.bits = {key: 1 << number for number, key in enumerate(sorted(names))}
        self.conditions = {condition.text: number for number, condition in enumerate(conditions)}
        self.users: dict[str, list[int]] = {}
        for condition in conditions:
            for name in condition.names:
                self.users.setdefault(name, []).append(self.conditions[condition.text])
        self.width = max(len(self.bits), 1)
        self.all = (1 << self.width) - 1
        n_sets = 2 + 2 * len(self.conditions)
        # A set times this number is that set in every place at once: one multiplication changes them all.
        self.every_set = sum(1 << (self.width * number) for number in range(n_sets))
        self.bound_set = self.all << self.width
        self.unbound_sets = self.every_set & ~(1 << self.width)

    def start(self) -> int:
        """Return the state in which every name is unbound, whatever the conditions."""
        return self.all * self.unbound_sets

    def offset(self, condition: int, truth: bool) -> int:
        return self.width * (2 + 2 * condition + (0 if truth else 1))

    def bind(self, bit: int) -> _Step:
        keep, bound = ~(bit * self.unbound_sets), bit << self.width
        return lambda state: state & keep | bound

    def survive(self, bit: int) -> _Step:
        """Return the step for a read of a name: who comes past it has a value for the name."""
        keep = ~(bit * self.unbound_sets)
        return lambda state: state & keep

    def unbind(self, bit: int) -> _Step:
        keep, unbound = ~(bit << self.width), bit * self.unbound_sets
        return lambda state: state & keep | unbound

    def forget(self, condition: int) -> _Step:
        """Nothing is known of a condition any more."""
        yes, no, everything = self.offset(condition, True), self.offset(condition, False), self.all
        clear = ~((everything << yes) | (everything << no))

        def step(state: int) -> int:
            now = state & everything
            return state & clear | now << yes | now << no

        return step

    def assume(self, condition: int, truth: bool) -> _Step:
        """Only what may be unbound if the condition is so may be unbound from here on."""
        offset, other = self.offset(condition, truth), self.offset(condition, not truth)
        everything, unbound_sets, bound_set = self.all, self.unbound_sets, self.bound_set
        clear = ~(everything << other)

        def step(state: int) -> int:
            possible = state >> offset & everything
            return state & (possible * unbound_sets | bound_set) & clear

        return step

    def become(self, condition: int, truth: bool) -> _Step:
        """Return the step that makes a condition true, or false."""
        offset, other, everything = self.offset(condition, truth), self.offset(condition, not truth), self.all
        clear = ~((everything << offset) | (everything << other))
        return lambda state: state & clear | (state & everything) << offset


def solve(question: FlowQuestion) -> Solution:
    """Return the reads of the question's names that may find no value."""
    graph = question.graph
    layout = _Layout(question.names, _recurring(graph))
    programs = [[_steps(question, layout, event) for event in block.events] for block in graph.blocks]
    states = _follow(graph, layout, programs)
    verdicts: dict[int, list[tuple[Event, bool, bool]]] = {}
    for number, before in states.items():
        state = before
        for event, steps in zip(graph.blocks[number].events, programs[number], strict=True):
            key = question.resolve(event) if event.act is Act.READ else None
            if key is not None and event.node is not None and not event.is_probe:
                bit = layout.bits[key]
                must_lack = not event.in_annotation and not state & (bit << layout.width)
                verdict = event, bool(state & bit), must_lack
                verdicts.setdefault(event.node.start_byte, []).append(verdict)
            for step in steps:
                state = step(state)
    reads = [read for _, found in sorted(verdicts.items()) if (read := _judged(found)) is not None]
    end = states.get(graph.exit)
    own = {name: bit for (index, name), bit in layout.bits.items() if index == 0} if end is not None else {}
    return Solution(
        tuple(reads),
        frozenset(name for name, bit in own.items() if end is not None and not end & (bit << layout.width)),
        frozenset(name for name, bit in own.items() if end is not None and end & bit),
        frozenset(states),
    )


def _judged(verdicts: Sequence[tuple[Event, bool, bool]]) -> Read | None:
    """Return the verdict on a read, from each copy of it: may it find no value, and must it; ``None`` if there is
    nothing to tell.
    """
    event = verdicts[0][0]
    if event.node is None or not any(may_lack for _, may_lack, _ in verdicts):
        return None
    return Read(event.node, event.name, all(must_lack for _, _, must_lack in verdicts))


def _recurring(graph: FlowGraph) -> list[Condition]:
    """Return the conditions that are met more than once, or that a constant decides."""
    seen: Counter[Condition] = Counter()
    constants: set[str] = set()
    for block in graph.blocks:
        for event in block.events:
            if event.act is Act.BECOME:
                constants.add(event.name)
            elif event.condition is not None:
                seen[event.condition] += 1
    by_text = {
        condition.text: condition
        for condition, count in seen.items()
        if count > 2 or condition.names & constants  # each test assumes it once to be true and once to be false
    }
    return list(by_text.values())[:MAX_CONDITIONS]


def _steps(question: FlowQuestion, layout: _Layout, event: Event) -> list[_Step]:
    match event.act:
        case Act.READ:
            key = question.resolve(event)
            if key is None:
                return []
            return [layout.bind(layout.bits[key]) if event.is_probe else layout.survive(layout.bits[key])]
        case Act.ASSUME:
            number = layout.conditions.get(event.condition.text) if event.condition is not None else None
            return [layout.assume(number, bool(event.truth))] if number is not None else []
        case Act.BECOME:
            return _become(layout, event)
        case Act.BIND_ALL:
            return [layout.bind(layout.all)]
        case Act.BIND | Act.UNBIND:
            return _change(layout, event)


def _change(layout: _Layout, event: Event) -> list[_Step]:
    steps = [layout.forget(number) for number in layout.users.get(event.name, ())]
    bit = layout.bits.get((event.class_index, event.name))
    if bit is not None:
        # The name first: what is forgotten of its conditions takes over what is unbound by then.
        steps.insert(0, layout.bind(bit) if event.act is Act.BIND else layout.unbind(bit))
    return steps


def _become(layout: _Layout, event: Event) -> list[_Step]:
    answers = {event.name: event.truth, f"{event.name} is None": event.is_none}
    return [
        layout.become(layout.conditions[text], truth)
        for text, truth in answers.items()
        if truth is not None and text in layout.conditions
    ]


def _follow(graph: FlowGraph, layout: _Layout, programs: list[list[list[_Step]]]) -> dict[int, int]:
    """Return the state at the beginning of each block that can be reached."""
    states = {0: layout.start()}
    waiting = {0}
    while waiting:
        # Blocks have their numbers about in the order of the code: taking the first, most are worked out once.
        number = min(waiting)
        waiting.remove(number)
        block, before = graph.blocks[number], states[number]
        after = before
        for steps in programs[number]:
            for step in steps:
                after = step(after)
        flows = [(following, after) for following in block.after]
        if block.may_raise and block.handler is not None:
            # The state before the block: each statement that may raise where that is caught begins a block of its own.
            flows.append((block.handler, before))
        for following, state in flows:
            known = states.get(following)
            # States only grow, so this comes to an end.
            if known is None or known | state != known:
                states[following] = state if known is None else known | state
                waiting.add(following)
    return states
