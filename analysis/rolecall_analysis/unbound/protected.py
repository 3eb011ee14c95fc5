"""``try`` and ``with``: ways out that are not the next statement."""

from __future__ import annotations

import re
from collections.abc import Callable

from tree_sitter import Node

from rolecall_analysis.grammar import TARGET_LISTS, child_of, kind_id
from rolecall_analysis.names import dotted_name
from rolecall_analysis.unbound.expressions import evaluate
from rolecall_analysis.unbound.targets import bind_target
from rolecall_analysis.unbound.trail import Cleanup, Steps, Trail

Suite = Callable[[Trail, Node | None], Steps]
"""Walks the statements of a block."""

_NAME = re.compile(r"\w+")
_AS_PATTERN = kind_id("as_pattern")
_BLOCK = kind_id("block")
_ELSE, _EXCEPT, _FINALLY = kind_id("else_clause"), kind_id("except_clause"), kind_id("finally_clause")
_WITH_ITEM = kind_id("with_item")


def try_statement(trail: Trail, node: Node, suite: Suite) -> Steps:
    """Walk a ``try`` statement; its parts are walked by *suite*."""
    finals = [child for child in node.named_children if child.kind_id == _FINALLY]
    if not finals:
        yield _guarded(trail, node, suite)
        return
    yield _cleaned_up(trail, lambda: suite(trail, _block_of(finals[0])), lambda: _guarded(trail, node, suite))


def _block_of(clause: Node) -> Node | None:
    return next((child for child in clause.named_children if child.kind_id == _BLOCK), None)


def _cleaned_up(trail: Trail, clean_up: Callable[[], Steps], body: Callable[[], Steps]) -> Steps:
    """Walk *body*, and *clean_up* on every way out of it, including an interrupt before its first statement."""
    outside = trail.handler
    after = trail.block()
    cleanup = Cleanup(clean_up)
    trail.handler = trail.entry(cleanup, "raise")
    trail.frames.append(cleanup)
    trail.begin_statement()
    trail.may_raise()
    yield body()
    trail.frames.pop()
    trail.link(trail.entry(cleanup, "normal"))
    trail.handler = outside
    for way, entry in tuple(cleanup.entries.items()):
        trail.enter(entry)
        yield cleanup.walk()
        if way == "normal":
            trail.link(after)
        elif way == "raise":
            trail.stop()
        else:
            trail.jump(way)
    trail.enter(after)


def _guarded(trail: Trail, node: Node, suite: Suite) -> Steps:
    """Walk the ``try``, ``except`` and ``else`` parts."""
    clauses = node.named_children
    outside = trail.handler
    after, caught = trail.block(), trail.block()
    handlers = [child for child in clauses if child.kind_id == _EXCEPT]
    if handlers:
        trail.handler = caught
    trail.begin_statement()
    caught_around = trail.caught
    trail.caught |= {name for clause in handlers for name in _caught_names(trail, clause)}
    yield suite(trail, child_of(node, "body"))
    trail.caught = caught_around
    trail.handler = outside
    # What the `else` raises is not caught here: these clauses guard the body alone.
    trail.begin_part()
    for clause in clauses:
        if clause.kind_id == _ELSE:
            yield suite(trail, child_of(clause, "body"))
    trail.link(after)
    trail.enter(caught)
    for clause in handlers:
        entry = trail.block()
        trail.resume(caught)
        trail.link(entry)
        trail.enter(entry)
        yield _except(trail, clause, suite)
        trail.link(after)
    trail.resume(caught)
    if outside is not None and not any(_catches_all(trail, clause) for clause in handlers):
        trail.link(outside)
    trail.enter(after)


def _catches_all(trail: Trail, clause: Node) -> bool:
    value = child_of(clause, "value")
    return value is None or dotted_name(trail.source, value)[0] == "BaseException"


def _caught_names(trail: Trail, clause: Node) -> list[str]:
    value = child_of(clause, "value")
    return _NAME.findall(trail.text(value)) if value is not None else []


def _except(trail: Trail, clause: Node, suite: Suite) -> Steps:
    value = child_of(clause, "value")
    alias: Node | None = None
    if value is not None and value.kind_id == _AS_PATTERN:
        alias = child_of(value, "alias")
        value = value.named_children[0] if value.named_child_count else None
    if value is not None:
        yield evaluate(trail, value)
    if alias is None:
        yield suite(trail, _block_of(clause))
        return
    name = trail.text(alias)
    trail.bind(name)
    # Python deletes the name at the end of the clause, however that is left.
    yield _cleaned_up(trail, lambda: _unbind(trail, name), lambda: suite(trail, _block_of(clause)))


def _unbind(trail: Trail, name: str) -> Steps:
    trail.unbind(name)
    yield from ()


def with_statement(trail: Trail, node: Node, suite: Suite) -> Steps:
    """Walk a ``with`` statement; its body is walked by *suite*."""
    outside = trail.handler
    after = trail.block()
    clause = node.named_children[0]
    for item in clause.named_children:
        value = child_of(item, "value") if item.kind_id == _WITH_ITEM else None
        if value is None:
            continue
        alias: Node | None = None
        if value.kind_id == _AS_PATTERN:
            alias, value = child_of(value, "alias"), value.named_children[0]
        trail.begin_statement()
        yield evaluate(trail, value)
        trail.may_raise()
        if trail.exits.swallows(trail.source, value):
            # A swallowed exception goes on behind the statement.
            trail.handler = after
            trail.begin_statement()
        if alias is not None:
            if alias.named_child_count and alias.named_children[0].kind_id in TARGET_LISTS:
                trail.may_raise()
            yield bind_target(trail, alias)
    yield suite(trail, child_of(node, "body"))
    trail.handler = outside
    trail.link(after)
    trail.enter(after)
