"""Edges between names and definitions: certain, possible, or none."""

from __future__ import annotations

from dataclasses import dataclass

from rolecall_analysis.queries.definitions import is_same
from rolecall_analysis.resolution.exports import Target
from rolecall_analysis.resolution.names import Meaning, Rule, holder_of, lineage
from rolecall_analysis.snapshot import Snapshot
from rolecall_analysis.values import Definition

_DISPATCHED: frozenset[Rule] = frozenset({"attribute of self", "inherited", "assigned value"})
"""The rules that reach an object whose class may be a subclass of the one that is known."""


@dataclass(frozen=True, slots=True)
class Edge:
    """A link from one place of the code to a definition."""

    certain: bool
    rule: Rule


def edge_to(snapshot: Snapshot, meaning: Meaning, dotted_name: str, wanted: Definition) -> Edge | None:
    """Return the edge from a *dotted_name* that has this *meaning* to *wanted*; None if it leads elsewhere."""
    if any(is_same(target, wanted) for target in meaning.targets):
        return Edge(meaning.certain, meaning.rule)
    if dotted_name.rpartition(".")[2] != wanted.name:
        return None
    if not meaning.targets:
        is_possible = not meaning.certain and "." in dotted_name and is_member(snapshot, wanted)
        return Edge(False, "same name") if is_possible else None
    if meaning.rule in _DISPATCHED and any(is_overridden(snapshot, target, wanted) for target in meaning.targets):
        return Edge(False, "override")
    return None


def is_member(snapshot: Snapshot, definition: Definition) -> bool:
    """Return whether *definition* stands in a class body."""
    holder = holder_of(snapshot, definition)
    return holder is not None and holder.kind == "class"


def is_overridden(snapshot: Snapshot, target: Target, definition: Definition) -> bool:
    """Return whether *target* is a member that *definition* overrides in a subclass."""
    if not isinstance(target, Definition) or not target.scope or not definition.scope:
        return False
    owner = definition.path, definition.scope
    return (target.path, target.scope) in lineage(snapshot, owner)[1:]
