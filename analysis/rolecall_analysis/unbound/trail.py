"""Walking a syntax tree the way the program would run, and the flow graph that grows by it."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field

from tree_sitter import Node

from rolecall_analysis.names import text_of
from rolecall_analysis.unbound.exits import Exits
from rolecall_analysis.unbound.flowgraph import Act, BasicBlock, Condition, Event, FlowGraph

MAX_BLOCKS = 50_000
"""Each way out of a ``try`` runs its ``finally`` anew, so code with many inside each other would grow without end."""

NAME_ERRORS = frozenset({"NameError", "UnboundLocalError"})
IMPORT_ERRORS = frozenset({"ImportError", "ModuleNotFoundError"})

Steps = Generator["Steps", None, None]
"""A part of the walk; what it yields is walked before it goes on, so that no nesting is too deep."""


class TooManyWays(Exception):
    """The graph of one function outgrew `MAX_BLOCKS`."""


@dataclass(slots=True)
class Loop:
    """The blocks to which ``break`` and ``continue`` lead."""

    after: int
    again: int


@dataclass(slots=True)
class Cleanup:
    """The code that runs on the way out of a ``try``, however it is left."""

    walk: Callable[[], Steps]
    entries: dict[str, int] = field(default_factory=dict[str, int])
    """For each way out (``normal``, ``raise``, ``return``, ``break``, ``continue``) the block it begins in."""


@dataclass(slots=True)
class Trail:
    """The place where the walk is, and what surrounds it there."""

    source: bytes
    exits: Exits
    graph: FlowGraph
    evaluates_annotations: bool
    is_package_body: bool = False
    """This is the code of an ``__init__``, in whose names submodules appear."""
    current: int = 0
    handler: int | None = None
    frames: list[Loop | Cleanup] = field(default_factory=list[Loop | Cleanup])
    hidden: list[set[str]] = field(default_factory=list[set[str]])
    """Names of comprehensions and type parameters around, innermost last."""
    classes: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    """Index and name of the class bodies around, innermost last."""
    class_indexes: dict[int, int] = field(default_factory=dict[int, int])
    for_type_checkers: bool = False
    in_annotation: bool = False
    caught: frozenset[str] = frozenset()
    """The names of exceptions that are caught around here, within the function."""
    functions: dict[int, tuple[Node, str]] = field(default_factory=dict[int, tuple[Node, str]])
    """The functions defined on the way, by node, with their qualified names; their bodies run another time."""

    def text(self, node: Node) -> str:
        return text_of(self.source, node)

    def block(self) -> int:
        """Add a block to which nothing leads yet, and return its number."""
        if len(self.graph.blocks) >= MAX_BLOCKS:
            raise TooManyWays
        self.graph.blocks.append(BasicBlock())
        return len(self.graph.blocks) - 1

    def enter(self, block: int) -> None:
        """Go on in *block*."""
        self.current = block
        self.graph.blocks[block].handler = self.handler

    def resume(self, block: int) -> None:
        """Go on in *block*, which was entered before."""
        self.current = block

    def link(self, block: int) -> None:
        """*block* may come next."""
        self.graph.blocks[self.current].after.append(block)

    def leave(self) -> None:
        """Enter a new block: what follows is not reached from here."""
        self.enter(self.block())

    def goto(self, block: int) -> None:
        """*block* comes next, and nothing else."""
        self.link(block)
        self.leave()

    def begin_statement(self) -> None:
        """An exception in the next statement finds the names as they are now."""
        if self.handler is not None:
            self.begin_part()

    def begin_part(self) -> None:
        """Exceptions have another handler from here on."""
        following = self.block()
        self.link(following)
        self.enter(following)

    def may_raise(self) -> None:
        """An exception may come up here."""
        self.graph.blocks[self.current].may_raise = True

    def stop(self) -> None:
        """An exception comes up here."""
        if self.handler is not None:
            self.link(self.handler)
        self.leave()

    def jump(self, way: str) -> None:
        """Leave by ``return``, ``break`` or ``continue``, through what must be cleaned up on the way."""
        for frame in reversed(self.frames):
            if isinstance(frame, Cleanup):
                self.goto(self.entry(frame, way))
                return
            if way != "return":
                self.goto(frame.after if way == "break" else frame.again)
                return
        self.leave()

    def entry(self, cleanup: Cleanup, way: str) -> int:
        """Return the block in which *cleanup* begins when it is entered by *way*."""
        if way not in cleanup.entries:
            cleanup.entries[way] = self.block()
        return cleanup.entries[way]

    def add(self, event: Event) -> None:
        """*event* happens now."""
        self.graph.blocks[self.current].events.append(event)

    def read(self, node: Node) -> None:
        """A name is read."""
        name = self.text(node)
        if any(name in names for names in self.hidden):
            return
        # Code that catches a NameError may read a name only to find out whether it is there.
        is_probe = bool(self.caught & NAME_ERRORS)
        if is_probe:
            self.may_raise()
        self.add(Event(Act.READ, name, self._class_index(), node, is_probe, self.in_annotation))

    def bind(
        self, name: str, truth: bool | None = None, is_none: bool | None = None, value: Node | None = None
    ) -> None:
        """A name, or a dotted name, is given a *value*; a constant is told by *truth* and *is_none*."""
        self._own(Act.BIND, name, value)
        if self.for_type_checkers:
            self.graph.for_type_checkers.add(name)
        # After the binding, which forgets all conditions on the name.
        if truth is not None or is_none is not None:
            self.add(Event(Act.BECOME, name, self._class_index(), truth=truth, is_none=is_none))

    def bind_all(self, names: Iterable[str]) -> None:
        """Several names are given values."""
        for name in names:
            self.bind(name)

    def bind_unknown(self) -> None:
        """Names that cannot be told are given values: by a star import, or ``exec``."""
        self.add(Event(Act.BIND_ALL))

    def unbind(self, name: str) -> None:
        """A name loses its value."""
        self._own(Act.UNBIND, name)

    def declare(self, name: str) -> None:
        """A name is said to belong here."""
        self.graph.bound[self._class_index()].add(name)

    def assume(self, condition: Condition, truth: bool, node: Node) -> None:
        """A condition, which stands at *node*, was found to be true, or false."""
        self.add(Event(Act.ASSUME, node=node, condition=condition, truth=truth))

    def _own(self, act: Act, name: str, value: Node | None = None) -> None:
        index = self._class_index()
        self.graph.bound[index].add(name)
        self.add(Event(act, name, index, value))

    def _class_index(self) -> int:
        return self.classes[-1][0] if self.classes else 0

    def qualified(self, name: str) -> str:
        """Return the qualified name of what is defined here as *name*."""
        parts = [self.graph.scope, *(own for _, own in self.classes), name]
        return ".".join(part for part in parts if part)


def walk(steps: Steps) -> None:
    """Take *steps*, and the steps they yield, and so on."""
    stack = [steps]
    while stack:
        inner = next(stack[-1], None)
        if inner is None:
            stack.pop()
        else:
            stack.append(inner)
