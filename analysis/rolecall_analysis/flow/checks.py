"""``isinstance``: what passes it, and what it promises."""

from __future__ import annotations

from rolecall_analysis.flow.classes import has_outside_base, order
from rolecall_analysis.flow.state import Flow
from rolecall_analysis.flow.values import (
    ClassValue,
    ContainerValue,
    FunctionValue,
    InstanceValue,
    ModuleValue,
    OutsideValue,
    Value,
)


def check(flow: Flow, target: int, source: int, kind: int) -> None:
    """Let the node *target* have what *source* holds of the classes that *kind* holds.

    Where nothing is known of *source*, the check promises an instance.
    """
    kinds: list[Value] = []
    tokens: list[int] = []

    def add_kind(token: int) -> None:
        found = flow.value_of(token)
        if isinstance(found, ContainerValue):
            flow.promises.append((target, found.every))
            flow.graph.watch(found.every, add_kind)
        elif isinstance(found, ClassValue | OutsideValue) and found not in kinds:
            kinds.append(found)
            for held in tokens:
                if _passes(flow.value_of(held), found):
                    flow.graph.add(target, held)

    def add_token(token: int) -> None:
        tokens.append(token)
        found = flow.value_of(token)
        if any(_passes(found, one) for one in kinds):
            flow.graph.add(target, token)

    flow.promises.append((target, kind))
    flow.graph.watch(kind, add_kind)
    flow.graph.watch(source, add_token)


def _passes(found: Value, kind: Value) -> bool:
    """Whether *found* may be an instance of *kind*, a class of the repository or from outside."""
    if isinstance(kind, ClassValue):
        return isinstance(found, InstanceValue) and (kind in order(found.of) or _is_from_outside(found))
    if isinstance(found, InstanceValue):
        return has_outside_base(found.of)
    return isinstance(found, OutsideValue | ContainerValue | FunctionValue | ClassValue | ModuleValue)


def _is_from_outside(found: InstanceValue) -> bool:
    return any("?" in member.outside_bases for member in order(found.of))
