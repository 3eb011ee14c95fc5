"""Statements: what they bind and return, and what they call without a call expression."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from tree_sitter import Node

from rolecall_analysis.flow.code import NO_ARGUMENTS, RETURNED
from rolecall_analysis.flow.reading.annotations import annotate
from rolecall_analysis.flow.reading.blocks import Handler, Step, in_loop, in_turn
from rolecall_analysis.flow.reading.builder import Builder
from rolecall_analysis.flow.reading.calls import call_unwritten, operate
from rolecall_analysis.flow.reading.checks import narrowed_by
from rolecall_analysis.flow.reading.dispatch import followed, plain_text, value
from rolecall_analysis.flow.reading.kinds import AS_PATTERN, ASSIGNMENT, BLOCK, PARENTHESIZED, TRIVIA, TUPLE
from rolecall_analysis.flow.reading.targets import assign, iterate
from rolecall_analysis.grammar import ATTRIBUTE, IDENTIFIER, child_of, kind_id


def _read_assignment(builder: Builder, node: Node) -> list[Node]:
    targets: list[Node] = []
    is_promised = False
    # `a = b = value` assigns to `a` the assignment to `b`.
    while node.kind_id == ASSIGNMENT:
        left, annotation, right = child_of(node, "left"), child_of(node, "type"), child_of(node, "right")
        if left is not None:
            targets.append(left)
            if annotation is not None:
                is_promised = left.kind_id == IDENTIFIER
                _read_annotated(builder, left, annotation)
        if right is None:
            return []
        node = right
    held = followed(builder, node)
    for target in targets:
        if is_promised:
            builder.copy(builder.bind(builder.text(target)), held)
        else:
            assign(builder, target, held)
    if builder.scope.kind == "module" and any(builder.text(target) == "__all__" for target in targets):
        texts = [plain_text(builder, child) for child in node.named_children]
        builder.exported = frozenset(text for text in texts if text)
    return []


def _read_annotated(builder: Builder, left: Node, annotation: Node) -> None:
    if left.kind_id == IDENTIFIER:
        name = builder.text(left)
        annotate(builder, builder.bind(name), annotation)
        if builder.scope.kind == "class":
            builder.scope.declared.append(name)
        return
    promised = builder.variable()
    annotate(builder, promised, annotation)
    assign(builder, left, promised)


def _read_augmented(builder: Builder, node: Node) -> list[Node]:
    left, right = child_of(node, "left"), child_of(node, "right")
    if left is None or right is None:
        return []
    before, added = value(builder, left), value(builder, right)
    if before >= 0 and added >= 0:
        element = iterate(builder, added, right)
        # `items += more` puts elements in, but calls no `__setitem__`: it has no place.
        builder.block.item_stores.append((before, None, element, -1, -1))
    result = operate(builder, node, before, added)
    if left.kind_id == IDENTIFIER:
        builder.copy(builder.bind(builder.text(left)), result)  # or the object itself, changed
    elif result >= 0:
        assign(builder, left, result)
    return []


def _read_return(builder: Builder, node: Node) -> list[Node]:
    for child in node.named_children:
        builder.copy(RETURNED, followed(builder, child))
    return []


def _read_for(builder: Builder, node: Node) -> Sequence[Step]:
    left, right = child_of(node, "left"), child_of(node, "right")
    if left is None or right is None:
        return node.named_children
    iterable = value(builder, right)
    # Before the target is bound: it belongs to the loop, since each round assigns it anew.
    steps = _in_loop(builder, [child for child in node.named_children if child not in (left, right)])
    assign(builder, left, iterate(builder, iterable, right))
    return steps


def _read_while(builder: Builder, node: Node) -> Sequence[Step]:
    return _in_loop(builder, node.named_children)


def _in_loop(builder: Builder, parts: list[Node]) -> Sequence[Step]:
    body = [part for part in parts if part.kind_id != _ELSE]
    return in_loop(builder, body, [part for part in parts if part.kind_id == _ELSE])


def _read_try(builder: Builder, node: Node) -> Sequence[Step]:
    return in_turn(builder, [[child] for child in node.named_children])


def _read_if(builder: Builder, node: Node) -> Sequence[Step]:
    condition, consequence = child_of(node, "condition"), child_of(node, "consequence")
    if condition is None or consequence is None:
        return node.named_children
    value(builder, condition)
    before = builder.narrowed
    narrowed = {**before, **narrowed_by(builder, condition)}
    rest = [[child] for child in node.named_children if child not in (condition, consequence)]

    def narrow(names: dict[str, int]) -> None:
        builder.narrowed = names

    return in_turn(builder, [[partial(narrow, narrowed), consequence, partial(narrow, before)], *rest])


def _read_assert(builder: Builder, node: Node) -> list[Node]:
    for child in node.named_children[:1]:
        for name, variable in narrowed_by(builder, child).items():
            builder.copy(builder.read(name), variable)
    return node.named_children


def _read_with_item(builder: Builder, node: Node) -> list[Node]:
    manager = child_of(node, "value")
    while manager is not None and manager.kind_id == PARENTHESIZED and manager.named_child_count == 1:
        manager = manager.named_children[0]
    if manager is None:
        return []
    targets: list[Node] = []
    if manager.kind_id == AS_PATTERN:
        targets, manager = manager.named_children[1:], manager.named_children[0]
    held = value(builder, manager)
    entered = held
    if held >= 0:
        entered = builder.variable()
        builder.block.entries.append((entered, held, manager.start_byte, manager.end_byte))
    for target in targets:
        assign(builder, target, entered)
    return []


def _read_except(builder: Builder, node: Node) -> list[Node]:
    children = [child for child in node.named_children if child.kind_id not in TRIVIA]
    if not children or children[0].kind_id == BLOCK:
        return children
    caught, body = children[0], children[1:]
    targets: list[Node] = []
    if caught.kind_id == AS_PATTERN:
        targets, caught = caught.named_children[1:], caught.named_children[0]
    kinds = caught.named_children if caught.kind_id == TUPLE else [caught]
    raised = builder.variable()
    for kind in kinds:
        held = value(builder, kind)
        if held >= 0:
            builder.block.instances.append((raised, held))
    for target in targets:
        assign(builder, target, raised)
    return body


def _read_raise(builder: Builder, node: Node) -> list[Node]:
    for child in node.named_children:
        held = value(builder, child)
        # `raise Error` makes an object without saying so; in `raise Error()` the call is written.
        if held >= 0 and child.kind_id in (IDENTIFIER, ATTRIBUTE):
            call_unwritten(builder, child, held, NO_ARGUMENTS, "raise")
    return []


def _skip(_builder: Builder, _node: Node) -> list[Node]:
    return []


_ELSE = kind_id("else_clause")

_KINDS: tuple[tuple[Handler, str], ...] = (
    (_read_assignment, "assignment"),
    (_read_augmented, "augmented_assignment"),
    (_read_return, "return_statement"),
    (_read_for, "for_statement"),
    (_read_if, "if_statement elif_clause"),
    (_read_try, "try_statement match_statement"),
    (_read_while, "while_statement"),
    (_read_assert, "assert_statement"),
    (_read_with_item, "with_item"),
    (_read_except, "except_clause"),
    (_read_raise, "raise_statement"),
    (_skip, "comment future_import_statement pass_statement type_alias_statement"),
)
RULES: dict[int, Handler] = {kind_id(kind): rule for rule, kinds in _KINDS for kind in kinds.split()}
