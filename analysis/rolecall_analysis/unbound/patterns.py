"""``match``: what a pattern binds, and whether the next one gets its turn."""

from __future__ import annotations

from collections.abc import Callable

from tree_sitter import Node

from rolecall_analysis.grammar import DOTTED, IDENTIFIER, child_of, kind_id
from rolecall_analysis.unbound.expressions import evaluate, test
from rolecall_analysis.unbound.trail import Steps, Trail

_CASE, _PATTERN = kind_id("case_clause"), kind_id("case_pattern")
_UNION, _AS, _SPLAT = kind_id("union_pattern"), kind_id("as_pattern"), kind_id("splat_pattern")
_CLASS, _KEYWORD = kind_id("class_pattern"), kind_id("keyword_pattern")


def match_statement(trail: Trail, node: Node, suite: Callable[[Trail, Node | None], Steps]) -> Steps:
    """Walk a ``match`` statement; its cases are walked by *suite*."""
    body, after = child_of(node, "body"), trail.block()
    for child in node.named_children:
        if child != body:
            yield evaluate(trail, child)
    for case in body.named_children if body is not None else ():
        if case.kind_id != _CASE:
            continue
        following, matched, inside = trail.block(), trail.block(), trail.block()
        guard = child_of(case, "guard")
        patterns = [child for child in case.named_children if child.kind_id == _PATTERN]
        if len(patterns) != 1 or not _matches_anything(patterns[0]):
            trail.may_raise()
            trail.link(following)
        trail.goto(matched)
        trail.enter(matched)
        for pattern in patterns:
            yield _pattern(trail, pattern)
        if guard is not None and guard.named_child_count:
            yield test(trail, guard.named_children[0], inside, following)
        else:
            trail.goto(inside)
        trail.enter(inside)
        yield suite(trail, child_of(case, "consequence"))
        trail.link(after)
        trail.enter(following)
    trail.link(after)
    trail.enter(after)


def _matches_anything(pattern: Node) -> bool:
    """Return whether it is ``_`` or a bare name, perhaps in parentheses or with an ``as``."""
    while pattern.kind_id in (_PATTERN, _AS):
        children = pattern.named_children
        if not children:
            return True
        pattern = children[0]
    return _is_capture(pattern)


def _is_capture(node: Node) -> bool:
    return node.kind_id == DOTTED and node.named_child_count == 1


def _pattern(trail: Trail, pattern: Node) -> Steps:
    """Bind what *pattern* captures; of alternatives, each binds its own."""
    children = pattern.named_children
    if _is_capture(pattern):
        trail.bind(trail.text(pattern))
    elif pattern.kind_id == DOTTED:
        trail.read(children[0])
    elif pattern.kind_id == _UNION:
        yield _alternatives(trail, pattern)
    elif pattern.kind_id in (_CLASS, _KEYWORD):
        if children and pattern.kind_id == _CLASS and children[0].named_child_count:
            trail.read(children[0].named_children[0])
        for child in children[1:]:
            yield _pattern(trail, child)
    elif pattern.kind_id in (_AS, _SPLAT):
        for child in children:
            if child.kind_id == IDENTIFIER:
                trail.bind(trail.text(child))
            else:
                yield _pattern(trail, child)
    else:
        for child in children:
            yield _pattern(trail, child)


def _alternatives(trail: Trail, pattern: Node) -> Steps:
    start, after = trail.current, trail.block()
    for alternative in pattern.named_children:
        trail.resume(start)
        own = trail.block()
        trail.link(own)
        trail.enter(own)
        yield _pattern(trail, alternative)
        trail.link(after)
    # `_` is no named node of the grammar, so the loop did not see it; it matches and binds nothing.
    if any(child.type == "_" for child in pattern.children):
        trail.resume(start)
        trail.link(after)
    trail.enter(after)
