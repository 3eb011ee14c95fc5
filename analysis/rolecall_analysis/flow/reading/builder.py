"""The scopes of a module while they are read: variables, names and the steps between them."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field

from tree_sitter import Node

from rolecall_analysis.flow.code import LITERAL, NOTHING, RETURNED, YIELDED, Block, FlowScope, ScopeKind

MAX_DEPTH = 40
"""Expressions nested deeper are read later, from the top, so that no source can exhaust the stack."""


MAX_LATEST = 100
"""In a scope with more names than this at once, the order of further assignments is not followed."""

MAX_COPIED_VARIABLES = 150
"""Functions with more are not worth following for each call anew."""


_SHARED = re.compile(rb"\b(?:global|nonlocal)[ \t]+([^\n;#]+)")


@dataclass(frozen=True, slots=True)
class Cursor:
    """The place where steps are added: a scope, a block of it, and what names mean there."""

    scope: FlowScope
    block: Block
    hidden: dict[str, int]
    narrowed: dict[str, int]
    latest: dict[str, int]


@dataclass(slots=True)
class Builder:
    """The parts of a module that have been read so far."""

    source: bytes
    scope: FlowScope
    block: Block
    scopes: list[FlowScope]
    hidden: dict[str, int] = field(default_factory=dict[str, int])
    """Variables of the comprehensions around, by name; replaced, never changed."""
    narrowed: dict[str, int] = field(default_factory=dict[str, int])
    """Variables that hold of a name only what a check of its type lets through; replaced, never changed."""
    latest: dict[str, int] = field(default_factory=dict[str, int])
    """Variables with the value last assigned to a name, where it is sure which that is; replaced, never changed."""
    shared: frozenset[str] = frozenset()
    """The names that some function assigns in a scope around it: a call may change them."""
    n_loops: int = 0
    """The number of loops around."""
    n_bindings: int = 0
    last_bound: dict[str, int] = field(default_factory=dict[str, int])
    """The number of the last binding of each name."""
    depth: int = 0
    later: deque[tuple[Node, int, Cursor]] = field(default_factory=deque[tuple[Node, int, Cursor]])
    """Expressions to read later, and the variable that takes their value."""
    bodies: deque[tuple[Node, FlowScope]] = field(default_factory=deque[tuple[Node, FlowScope]])
    """Bodies of functions, lambdas and classes to read later."""
    stars: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    exported: frozenset[str] | None = None

    def text(self, node: Node) -> str:
        """Return the source of *node*."""
        return self.source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def variable(self) -> int:
        """Return a new variable of the present scope."""
        number = self.scope.n_variables
        self.scope.n_variables = number + 1
        return number

    def read(self, name: str) -> int:
        """Return the variable of *name* where it is read."""
        # `or` is enough: the variables 0 and 1 are what a scope returns and yields, and never a name's.
        hidden = self.narrowed.get(name) or self.hidden.get(name)
        if hidden is not None:
            return hidden
        self.block.uses.add(name)
        return self.latest.get(name) or self._named(name)

    def bind(self, name: str) -> int:
        """Return the variable of *name* where it is assigned."""
        if name in self.narrowed:
            self.narrowed = {known: number for known, number in self.narrowed.items() if known != name}
        hidden = self.hidden.get(name)
        if hidden is not None:
            return hidden
        if name in self.latest:
            self.latest = {known: number for known, number in self.latest.items() if known != name}
        self.n_bindings += 1
        self.last_bound[name] = self.n_bindings
        self.block.binds.add(name)
        self.scope.bound.add(name)
        number = self._named(name)
        if not self.n_loops and any(parameter.variable == number for parameter in self.scope.parameters):
            # What was passed stays by itself, for what reads it before this.
            self.scope.names[name] = self.variable()
            self.copy(self.scope.names[name], number)
        return self.scope.names[name]

    def assign(self, name: str, held: int) -> None:
        """Let *name* hold *held*, and nothing else until it is assigned again."""
        variable = self.bind(name)
        self.copy(variable, held)
        is_followed = self.scope.kind != "class" and name not in self.hidden and name not in self.shared
        if is_followed and held != NOTHING and len(self.latest) < MAX_LATEST:
            self.latest = {**self.latest, name: self.held(held)}

    def kept(self, before: dict[str, int], n_bindings: int) -> dict[str, int]:
        """Return the part of *before* that still holds; *before* has the latest values when *n_bindings* names had been
        bound.
        """
        return {name: held for name, held in before.items() if self.last_bound.get(name, 0) <= n_bindings}

    def _named(self, name: str) -> int:
        names = self.scope.names
        number = names.get(name)
        if number is None:
            number = names[name] = self.variable()
        return number

    def copy(self, target: int, source: int) -> None:
        """Let *target* hold what *source* holds."""
        if source >= 0:
            self.block.copies.append((target, source))
        elif source == LITERAL:
            self.block.literals.append(target)

    def held(self, value: int) -> int:
        """Put *value* into a variable, so that it can be passed on, and return the variable."""
        if value != LITERAL:
            return value
        number = self.variable()
        self.block.literals.append(number)
        return number

    def open_scope(self, kind: ScopeKind, name: str, node: Node) -> FlowScope:
        """Return a new scope inside the present one."""
        above = self.scope.qualified_name
        scope = FlowScope(
            index=len(self.scopes),
            kind=kind,
            name=name,
            qualified_name=f"{above}.{name}" if above else name,
            parent=self.scope,
            start=node.start_byte,
            end=node.end_byte,
            seen_around=self.hidden,
        )
        self.scopes.append(scope)
        return scope

    def place(self) -> Cursor:
        """Return the place where steps are added now."""
        return Cursor(self.scope, self.block, self.hidden, self.narrowed, self.latest)

    def move_to(self, place: Cursor) -> None:
        """Add steps at *place* from now on."""
        self.scope, self.block = place.scope, place.block
        self.hidden, self.narrowed, self.latest = place.hidden, place.narrowed, place.latest

    def name_everything(self) -> None:
        """Say where each scope's names that are not its own come from."""
        for scope in self.scopes:
            if scope.kind != "module":
                for name, number in scope.names.items():
                    self._borrow(scope, name, number)
        for scope in self.scopes:
            if scope.is_function:
                scope.is_transparent = _is_transparent(scope, self.scopes)

    def _borrow(self, scope: FlowScope, name: str, number: int) -> None:
        is_assigned = name in scope.bound
        if name in scope.global_names:
            scope.borrowed_globals.append((number, name, is_assigned))
            return
        if is_assigned and name not in scope.outer_names:
            return
        n_up, child, above = 1, scope, scope.parent
        while above is not None:
            if name in child.seen_around:
                scope.borrowed.append((number, n_up, child.seen_around[name], is_assigned))
                return
            if above.kind == "module":
                break
            if above.is_function and name in above.bound and name not in above.global_names | above.outer_names:
                scope.borrowed.append((number, n_up, above.names[name], is_assigned))
                return
            n_up, child, above = n_up + 1, above, above.parent
        scope.borrowed_globals.append((number, name, is_assigned))


def start_module(source: bytes) -> Builder:
    """Return a builder for a module of which nothing has been read."""
    scope = FlowScope(0, "module", "", "", None, 0, len(source))
    # By the text, since it has to be known before the first statement: bodies of functions are read last.
    shared = {name for found in _SHARED.finditer(source) for name in found[1].decode("utf-8", "replace").split(",")}
    return Builder(source, scope, Block(), [scope], shared=frozenset(map(str.strip, shared)))


def _is_transparent(scope: FlowScope, scopes: list[FlowScope]) -> bool:
    """Return whether what a function returns is made of its arguments: passed on, put in a container, kept by a
    closure.
    """
    sources = {parameter.variable for parameter in scope.parameters}
    if scope.parent is not None and scope.parent.kind == "class" and not scope.is_static and scope.parameters:
        sources.discard(scope.parameters[0].variable)
    if not sources or scope.n_variables > MAX_COPIED_VARIABLES:
        return False
    before = _made_of(scope, scopes)
    waiting, seen = [RETURNED, YIELDED], {RETURNED, YIELDED}
    while waiting:
        for source in before.get(waiting.pop(), ()):
            if source in sources:
                return True
            if source not in seen:
                seen.add(source)
                waiting.append(source)
    return False


def _made_of(scope: FlowScope, scopes: list[FlowScope]) -> dict[int, list[int]]:
    """For each variable, those whose values its own are made of."""
    before: dict[int, list[int]] = {}
    for block in scope.blocks:
        for target, source in block.copies:
            before.setdefault(target, []).append(source)
        for target, _kind, items in block.containers:
            before.setdefault(target, []).extend(source for _, source in items)
        for target, source, *_ in (*block.item_loads, *block.keyed_loads):
            before.setdefault(target, []).append(source)
        for target, source, _kind in block.checks:
            before.setdefault(target, []).append(source)
        for target, source, *_ in block.iterations:
            before.setdefault(target, []).append(source)
        for call in block.calls:
            passed = call.arguments
            given = (call.callee, *passed.positional, *passed.starred, *(source for _, source in passed.keywords))
            before.setdefault(call.result, []).extend(given)
        for target, index, defaults in block.functions:
            kept = [there for _, n_up, there, _ in scopes[index].borrowed if n_up == 1]
            before.setdefault(target, []).extend((*kept, *(source for _, source in defaults)))
    return before
