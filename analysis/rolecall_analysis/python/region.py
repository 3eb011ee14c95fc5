"""Stretches of code in which a name means the same, and what is found in them."""

from __future__ import annotations

from collections import defaultdict

from tree_sitter import Node

from rolecall_analysis.facts.packed import CallRow
from rolecall_analysis.values import DefinitionKind


class Region:
    """A module, the body or the header of a class or function, a lambda or a comprehension."""

    __slots__ = (
        "around", "bound", "calls", "kind", "n_unnamed", "name", "owner", "rebound", "receiver", "shared", "spread",
        "stack", "starts",
    )  # fmt: skip

    def __init__(self, name: str, kind: DefinitionKind | None, owner: str, nodes: list[Node]) -> None:
        self.name = name
        """The scope whose names it sees, dotted."""
        self.kind: DefinitionKind | None = kind
        """None: the module."""
        self.owner = owner
        """The innermost definition around, whose header may still see *name*'s names."""
        self.stack = nodes[::-1]
        """The nodes that are still to be read, the next last."""
        self.receiver = ""
        """The name by which a method calls the object it belongs to."""
        self.around: Region | None = None
        """For a comprehension, where it stands: there an assignment expression binds."""
        self.bound: set[str] = set()
        """The names of local variables and parameters."""
        self.rebound: frozenset[str] = frozenset()
        """The names that ``global`` or ``nonlocal`` takes out of the scope."""
        self.shared: frozenset[str] = frozenset()
        """Those that ``global`` gives to the module."""
        self.starts: defaultdict[str, list[int]] = defaultdict(list)
        """Where the names begin that are written without a gap."""
        self.spread: dict[str, list[int]] | None = None
        """Where each part of other names begins."""
        self.calls: list[CallRow] = []
        self.n_unnamed = 0
        """The number of lambdas and comprehensions met in it so far."""

    def qualified(self, name: str) -> str:
        """Return the dotted name of *name* in this region."""
        return f"{self.name}.{name}" if self.name else name

    def push(self, nodes: list[Node]) -> None:
        """Have *nodes* read next."""
        self.stack += nodes[::-1]

    def add_spread(self, name: str, parts: list[Node]) -> None:
        """Note a name whose *parts* may have gaps between them."""
        if self.spread is None:
            self.spread = {}
        self.spread.setdefault(name, []).extend(part.start_byte for part in parts)
