"""Blocks of statements, read one after the other without recursion."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from tree_sitter import Node

from rolecall_analysis.flow.reading.builder import Builder
from rolecall_analysis.flow.reading.dispatch import HANDLERS, value
from rolecall_analysis.grammar import IDENTIFIER

Step = Node | Callable[[], None]
"""A statement to read, or something to do between statements."""

Handler = Callable[[Builder, Node], Sequence[Step]]
"""Reads a statement: the statements in it that are still to read."""

STATEMENTS: dict[int, Handler] = {}
"""The functions that read each kind of statement, by the number of the kind; the modules of this package fill it."""


def read_statements(builder: Builder, nodes: list[Node]) -> None:
    """Read *nodes* and every statement in them, except the bodies of functions and classes."""
    stack: list[Step] = list(reversed(nodes))
    while stack:
        node = stack.pop()
        if not isinstance(node, Node):
            node()
            continue
        kind = node.kind_id
        handle = STATEMENTS.get(kind)
        if handle is not None:
            stack.extend(reversed(handle(builder, node)))
        elif kind == IDENTIFIER or kind in HANDLERS:
            value(builder, node)
        else:
            stack.extend(reversed(node.named_children))


def in_turn(builder: Builder, parts: Iterable[Sequence[Step]]) -> list[Step]:
    """Return the steps of *parts*, not all of which may run, so that no part can rely on what another one assigns."""
    before, n_bindings = builder.latest, builder.n_bindings

    def forget() -> None:
        builder.latest = builder.kept(before, n_bindings)

    return [step for part in parts for step in (*part, forget)]


def in_loop(builder: Builder, body: Sequence[Step], after: Sequence[Step]) -> list[Step]:
    """Return the steps of a loop: its *body* may run again after what it assigns, or not at all."""

    def leave() -> None:
        builder.n_loops -= 1

    # First, while it is known what holds before the loop. In its body nothing is sure, since the round before
    # may have assigned any name.
    steps = in_turn(builder, [(*body, leave), after])
    builder.latest = {}
    builder.n_loops += 1
    return steps
