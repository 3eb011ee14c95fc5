"""The ways through a module or function: blocks of events, joined by what may come next."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from enum import Enum, auto

from tree_sitter import Node


class Act(Enum):
    """The effect of an event."""

    READ = auto()
    BIND = auto()
    UNBIND = auto()
    BIND_ALL = auto()
    """Names that cannot be told: a star import, ``exec``."""
    ASSUME = auto()
    """From here on the condition is known to be true, or false."""
    BECOME = auto()
    """The name was given a constant: what conditions on it say now is known."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A test that gives the same answer while none of *names* changes."""

    text: str
    names: frozenset[str]
    """The names it reads, and the dotted names it reads of them: ``self``, ``self.done``."""


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happens to a name or a condition."""

    act: Act
    name: str = ""
    class_index: int = 0
    """The class body in which it stands, counted through the graph from 1; 0 for the function or module itself."""
    node: Node | None = None
    """Where a read or a condition stands; of a name that is given one value, the expression of that value."""
    is_probe: bool = False
    """The read stands where a ``NameError`` is caught: it asks whether there is a value."""
    in_annotation: bool = False
    """The read happens only before Python 3.14."""
    condition: Condition | None = None
    truth: bool | None = None
    """The truth of the condition or of the constant; None where that cannot be told."""
    is_none: bool | None = None
    """The constant is None."""


@dataclass(slots=True)
class BasicBlock:
    """Events that follow each other, then any of the blocks that come next."""

    events: list[Event] = field(default_factory=list[Event])
    after: list[int] = field(default_factory=list[int])
    handler: int | None = None
    """The block in which an exception raised here ends up."""
    may_raise: bool = False


@dataclass(slots=True)
class FlowGraph:
    """The ways through one module or function, its class bodies included."""

    scope: str
    """The qualified name of the function; empty for the module."""
    parent: FlowGraph | None
    """The graph of the function or module around."""
    node: Node | None = None
    """The function; None for the module."""
    is_broken: bool = False
    """Some of its text could not be parsed."""
    blocks: list[BasicBlock] = field(default_factory=list[BasicBlock])
    bound: defaultdict[int, set[str]] = field(default_factory=lambda: defaultdict[int, set[str]](set))
    """The names that belong to the scope, under 0, and to each of its class bodies, under its class index."""
    exit: int = 0
    """The block after the last statement."""
    global_names: set[str] = field(default_factory=set[str])
    nonlocal_names: set[str] = field(default_factory=set[str])
    optional_imports: set[str] = field(default_factory=set[str])
    """Names imported where an ``ImportError`` is caught."""
    for_type_checkers: set[str] = field(default_factory=set[str])
    """Names bound under ``if TYPE_CHECKING``."""
