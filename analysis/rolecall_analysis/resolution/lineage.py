"""The order in which Python looks for a member in a class and its bases."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

MAX_ANCESTORS = 200
"""Beyond this a class hierarchy is a test of our patience, and nearest first will do."""

_Class = TypeVar("_Class", bound=Hashable)


def linearise(start: _Class, bases_of: Callable[[_Class], Sequence[_Class]]) -> tuple[_Class, ...]:
    """Return *start* and its ancestors in C3 order; nearest first where C3 has no answer or *start* inherits from
    itself.

    Source: https://docs.python.org/3/howto/mro.html
    """
    nearest_first = _breadth_first(start, bases_of)
    if len(nearest_first) > MAX_ANCESTORS:
        return nearest_first
    orders: dict[_Class, tuple[_Class, ...]] = {}
    for current in _bases_before_classes(start, bases_of):
        bases = bases_of(current)
        # Bases come before their classes, so this is a circle.
        if any(base not in orders for base in bases):
            return nearest_first
        merged = _merge([*(list(orders[base]) for base in bases), list(bases)])
        if merged is None:
            return nearest_first
        orders[current] = (current, *merged)
    return orders[start]


def _breadth_first(start: _Class, bases_of: Callable[[_Class], Sequence[_Class]]) -> tuple[_Class, ...]:
    found = {start: None}
    waiting = [start]
    while waiting:
        fresh = dict.fromkeys(base for current in waiting for base in bases_of(current) if base not in found)
        found.update(fresh)
        waiting = list(fresh)
    return tuple(found)


def _bases_before_classes(start: _Class, bases_of: Callable[[_Class], Sequence[_Class]]) -> list[_Class]:
    """Return *start* and its ancestors, each after its own bases; in a circle the order is arbitrary."""
    done: dict[_Class, None] = {}
    stack = [(start, iter(bases_of(start)))]
    entered = {start}
    while stack:
        current, bases = stack[-1]
        fresh = next((base for base in bases if base not in entered), None)
        if fresh is None:
            done[current] = None
            stack.pop()
        else:
            entered.add(fresh)
            stack.append((fresh, iter(bases_of(fresh))))
    return list(done)


def _merge(sequences: list[list[_Class]]) -> list[_Class] | None:
    """Return the C3 merge of *sequences*; None if they contradict each other."""
    merged: list[_Class] = []
    sequences = [sequence for sequence in sequences if sequence]
    while sequences:
        later = {found for sequence in sequences for found in sequence[1:]}
        head = next((sequence[0] for sequence in sequences if sequence[0] not in later), None)
        if head is None:
            return None
        merged.append(head)
        for sequence in sequences:
            if sequence[0] == head:
                del sequence[0]
        sequences = [sequence for sequence in sequences if sequence]
    return merged
