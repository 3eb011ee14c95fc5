"""The callables that a brief is about: those that its solutions change, or that rest on what they change."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence

from rolecall_server.craft.characterization.inputs.related import related_nodes
from rolecall_server.craft.characterization.inputs.survey import CallTarget, Survey, survey

_MOST_SUBJECTS = 6
"""The nearest to what changed are run; the others rest on them."""


def subjects_of(before: str, solutions: Sequence[str]) -> tuple[str, ...]:
    """Return the public callables of a module, by qualified name, that *solutions*, its texts, change or that rest on
    what they change: those nearest to a change first.

    One that not all solutions have, with the same parameters, is left out: its calls cannot be compared.
    """
    known = _statements(survey(before).tree)
    surveys = [survey(text) for text in solutions]
    distances = [_distances(each, known) for each in surveys]
    signatures = [frozenset(map(_signature, each.targets)) for each in surveys]
    nearest: dict[str, int] = {}
    for each, found in zip(surveys, distances, strict=True):
        for target in each.targets:
            name = target.qualified_name
            if name in found and all(_signature(target) in one for one in signatures):
                nearest[name] = min(found[name], nearest.get(name, found[name]))
    return tuple(sorted(nearest, key=lambda name: (nearest[name], name)))[:_MOST_SUBJECTS]


def _statements(tree: ast.Module) -> frozenset[str]:
    """Return what stands at the top of a module and in its classes, each statement as a text."""
    inner = (one for node in tree.body if isinstance(node, ast.ClassDef) for one in node.body)
    return frozenset(map(ast.unparse, (*tree.body, *inner)))


def _distances(each: Survey, known: Collection[str]) -> Mapping[str, int]:
    """Return for each target that is changed, or leads to a change, the number of names between."""
    found: dict[str, int] = {}
    for target in each.targets:
        changed = (distance for node, distance in related_nodes(each, target).items() if ast.unparse(node) not in known)
        if (distance := min(changed, default=None)) is not None:
            found[target.qualified_name] = distance
    return found


def _signature(target: CallTarget) -> tuple[object, ...]:
    return target.qualified_name, target.kind, tuple((one.name, one.many) for one in target.parameters)
