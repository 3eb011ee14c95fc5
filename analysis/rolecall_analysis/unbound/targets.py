"""The targets on the left of an assignment, after ``for`` and after ``as``."""

from __future__ import annotations

from tree_sitter import Node

from rolecall_analysis.grammar import ATTRIBUTE
from rolecall_analysis.names import bound_names, dotted_name
from rolecall_analysis.unbound.expressions import evaluate
from rolecall_analysis.unbound.trail import Steps, Trail


def bind_target(trail: Trail, target: Node) -> Steps:
    """Evaluate what an assignment to *target* reads, and bind what it binds."""
    names, rest = bound_names(target)
    for part in rest:
        trail.may_raise()
        for child in part.named_children if part.kind_id != ATTRIBUTE else part.named_children[:1]:
            yield evaluate(trail, child)
        dotted = dotted_name(trail.source, part)[0]
        if dotted:
            trail.bind(dotted)
    trail.bind_all(map(trail.text, names))
