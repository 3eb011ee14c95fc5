"""Expressions other than calls: literals, containers, comprehensions, conditions, lambdas."""

from __future__ import annotations

from tree_sitter import Node

from rolecall_analysis.flow.code import KEYS, LITERAL, NOTHING, SLICED, YIELDED
from rolecall_analysis.flow.reading.builder import Builder
from rolecall_analysis.flow.reading.checks import narrowed_by
from rolecall_analysis.flow.reading.dispatch import (
    Handler,
    constant_key,
    followed,
    parts_only,
    plain_text,
    value,
)
from rolecall_analysis.flow.reading.kinds import (
    DICTIONARY_SPLAT,
    FOR_IN,
    IF_CLAUSE,
    LIST_SPLAT,
    PAIR,
    SEQUENCES,
    TRIVIA,
)
from rolecall_analysis.flow.reading.parameters import read_parameters
from rolecall_analysis.flow.reading.targets import assign, element_of, iterate, names_in, read_item
from rolecall_analysis.grammar import INTERPOLATION, child_of, kind_id


def _read_subscript(builder: Builder, node: Node) -> int:
    item = read_item(builder, node)
    if item.owner < 0:
        return item.owner
    result = builder.variable()
    if item.is_slice:
        builder.block.item_loads.append((result, item.owner, SLICED, node.start_byte, node.end_byte))
    elif item.key_variable >= 0:
        builder.block.keyed_loads.append((result, item.owner, item.key_variable, node.start_byte, node.end_byte))
    else:
        builder.block.item_loads.append((result, item.owner, item.key, node.start_byte, node.end_byte))
    return result


def _read_sequence(builder: Builder, node: Node) -> int:
    kind = SEQUENCES[node.kind_id]
    items: list[tuple[str | None, int]] = []
    is_counted = kind != "set"
    for place, child in enumerate(child for child in node.named_children if child.kind_id not in TRIVIA):
        if child.kind_id in LIST_SPLAT:
            # Behind `*rest` no element has a known place.
            is_counted = False
            spread = [value(builder, part) for part in child.named_children]
            items.extend((None, element_of(builder, held)) for held in spread if held >= 0)
            continue
        held = followed(builder, child)
        if held >= 0:
            items.append((f"{place}" if is_counted else None, held))
    return _container(builder, kind, items)


def _container(builder: Builder, kind: str, items: list[tuple[str | None, int]]) -> int:
    result = builder.variable()
    builder.block.containers.append((result, kind, tuple(items)))
    return result


def _read_dictionary(builder: Builder, node: Node) -> int:
    items: list[tuple[str | None, int]] = []
    for child in node.named_children:
        if child.kind_id == PAIR:
            items.extend(_pair(builder, child))
        elif child.kind_id in DICTIONARY_SPLAT:
            spread = [value(builder, part) for part in child.named_children]
            items.extend((None, element_of(builder, held)) for held in spread if held >= 0)
    return _container(builder, "dict", items)


def _pair(builder: Builder, node: Node) -> list[tuple[str | None, int]]:
    key_node, value_node = child_of(node, "key"), child_of(node, "value")
    if key_node is None or value_node is None:
        return []
    key_value = value(builder, key_node)
    held = value(builder, value_node)
    key = constant_key(builder, key_node)
    items: list[tuple[str | None, int]] = [(key, held)] if held >= 0 else []
    if key is None and key_value >= 0:
        items.append((KEYS, key_value))
    return items


def _read_comprehension(builder: Builder, node: Node) -> int:
    place = builder.place()
    clauses = [child for child in node.named_children if child.kind_id in (FOR_IN, IF_CLAUSE)]
    for clause in clauses:
        if clause.kind_id == FOR_IN:
            _open_clause(builder, clause)
        else:
            parts_only(builder, clause)
            for condition in clause.named_children:
                builder.narrowed = {**builder.narrowed, **narrowed_by(builder, condition)}
    body = child_of(node, "body")
    items: list[tuple[str | None, int]] = []
    if body is not None and body.kind_id == PAIR:
        # One pair stands for many, so that even a literal key names no single element.
        items = [(None, held) if key != KEYS else (key, held) for key, held in _pair(builder, body)]
    elif body is not None:
        items = [(None, held)] if (held := value(builder, body)) >= 0 else []
    builder.hidden, builder.narrowed = place.hidden, place.narrowed
    kinds = {"list_comprehension": "list", "set_comprehension": "set", "dictionary_comprehension": "dict"}
    return _container(builder, kinds.get(node.type, "generator"), items)


def _open_clause(builder: Builder, clause: Node) -> None:
    left, right = child_of(clause, "left"), child_of(clause, "right")
    if left is None or right is None:
        return
    iterable = value(builder, right)
    names = names_in(builder, left)
    builder.hidden = {**builder.hidden, **{name: builder.variable() for name in names}}
    builder.narrowed = {name: number for name, number in builder.narrowed.items() if name not in names}
    assign(builder, left, iterate(builder, iterable, right))


def _read_lambda(builder: Builder, node: Node) -> int:
    scope_around = builder.scope
    scope_around.n_lambdas += 1
    scope = builder.open_scope("lambda", f"<lambda{scope_around.n_lambdas}>", node)
    parameters, body = child_of(node, "parameters"), child_of(node, "body")
    defaults = read_parameters(builder, scope, parameters.named_children) if parameters is not None else ()
    if body is not None:
        builder.bodies.append((body, scope))
    result = builder.variable()
    builder.block.functions.append((result, scope.index, defaults))
    return result


def _read_conditional(builder: Builder, node: Node) -> int:
    parts = [child for child in node.named_children if child.kind_id not in TRIVIA]
    if len(parts) != 3:
        return parts_only(builder, node)
    before = builder.narrowed
    value(builder, parts[1])
    builder.narrowed = {**before, **narrowed_by(builder, parts[1])}
    held = followed(builder, parts[0])
    builder.narrowed = before
    return _either(builder, [held, followed(builder, parts[2])])


def _either(builder: Builder, held: list[int]) -> int:
    if all(one < 0 for one in held):
        return LITERAL if LITERAL in held else NOTHING
    result = builder.variable()
    for one in held:
        builder.copy(result, one)
    return result


def _read_boolean(builder: Builder, node: Node) -> int:
    left, right = child_of(node, "left"), child_of(node, "right")
    if left is None or right is None:
        return parts_only(builder, node)
    operator = child_of(node, "operator")
    first = followed(builder, left)
    before = builder.narrowed
    if operator is not None and operator.type == "and":
        builder.narrowed = {**before, **narrowed_by(builder, left)}
    second = followed(builder, right)
    builder.narrowed = before
    return _either(builder, [first, second])


def _read_named(builder: Builder, node: Node) -> int:
    name, held_node = child_of(node, "name"), child_of(node, "value")
    if name is None or held_node is None:
        return parts_only(builder, node)
    held = followed(builder, held_node)
    # It binds around the comprehension, whose own variables must not be found.
    hidden, builder.hidden = builder.hidden, {}
    builder.copy(builder.bind(builder.text(name)), held)  # not `assign`: it may stand in what is not evaluated
    builder.hidden = hidden
    return held


def _read_yield(builder: Builder, node: Node) -> int:
    builder.scope.is_generator = True
    is_delegating = any(child.type == "from" for child in node.children)
    for child in node.named_children:
        held = value(builder, child)
        if is_delegating:
            held = iterate(builder, held, child)
        builder.copy(YIELDED, held)
    return NOTHING


def _read_last(builder: Builder, node: Node) -> int:
    result = NOTHING
    for child in node.named_children:
        if child.kind_id not in TRIVIA:
            result = followed(builder, child)
    return result


def _read_literal(_builder: Builder, _node: Node) -> int:
    return LITERAL


def _read_none(_builder: Builder, _node: Node) -> int:
    return NOTHING


def _read_parts_as_literal(builder: Builder, node: Node) -> int:
    parts_only(builder, node)
    return LITERAL


def _read_string(builder: Builder, node: Node) -> int:
    if any(child.kind_id == INTERPOLATION for child in node.named_children):
        parts_only(builder, node)
        return LITERAL
    text = plain_text(builder, node)
    # Texts are many: only those that may name an attribute or a module are followed.
    if text is None or not text.replace(".", "_").isidentifier():
        return LITERAL
    result = builder.variable()
    builder.block.texts.append((result, text))
    return result


def _read_as_pattern(builder: Builder, node: Node) -> int:
    children = node.named_children
    held = value(builder, children[0]) if children else NOTHING
    for target in children[1:]:
        assign(builder, target, held)
    return held


_KINDS: tuple[tuple[Handler, str], ...] = (
    (_read_subscript, "subscript"),
    (_read_boolean, "boolean_operator"),
    (_read_parts_as_literal, "comparison_operator not_operator unary_operator concatenated_string"),
    (_read_conditional, "conditional_expression"),
    (_read_lambda, "lambda"),
    (_read_sequence, "list tuple set expression_list"),
    (_read_dictionary, "dictionary"),
    (_read_comprehension, "list_comprehension set_comprehension dictionary_comprehension generator_expression"),
    (_read_last, "parenthesized_expression await"),
    (_read_named, "named_expression"),
    (_read_yield, "yield"),
    (_read_string, "string"),
    (_read_literal, "integer float true false"),
    (_read_none, "none ellipsis"),
    (_read_as_pattern, "as_pattern"),
)
RULES: dict[int, Handler] = {kind_id(kind): rule for rule, kinds in _KINDS for kind in kinds.split()}
