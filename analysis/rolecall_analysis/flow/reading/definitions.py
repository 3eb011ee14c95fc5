"""Functions, classes and their decorators."""

from __future__ import annotations

from tree_sitter import Node

from rolecall_analysis.flow.code import LITERAL, NOTHING, RETURNED, Arguments
from rolecall_analysis.flow.reading.blocks import Handler
from rolecall_analysis.flow.reading.builder import Builder
from rolecall_analysis.flow.reading.calls import call_unwritten
from rolecall_analysis.flow.reading.dispatch import value
from rolecall_analysis.flow.reading.kinds import KEYWORD_ARGUMENT, LIST_SPLAT, TRIVIA
from rolecall_analysis.flow.reading.parameters import annotate_inside, read_parameters
from rolecall_analysis.grammar import CLASS, DECORATOR, FUNCTION, SUBSCRIPT, child_of, kind_id


def _read_decorated(builder: Builder, node: Node) -> list[Node]:
    inner = child_of(node, "definition")
    decorators = [child for child in node.named_children if child.kind_id == DECORATOR]
    if inner is None or inner.kind_id not in (FUNCTION, CLASS):
        return node.named_children
    applied = [part for decorator in decorators for part in decorator.named_children if part.kind_id not in TRIVIA]
    held = [(part, value(builder, part)) for part in applied]
    defined = _define(builder, inner, [builder.text(part) for part in applied])
    name = child_of(inner, "name")
    # Python evaluates decorators from the top, and applies them from the bottom.
    for part, decorator in reversed(held):
        if decorator < 0:
            continue
        defined = call_unwritten(builder, part, decorator, Arguments((defined,)), "decorator")
    if name is not None:
        builder.copy(builder.bind(builder.text(name)), defined)
    return []


def _read_definition(builder: Builder, node: Node) -> list[Node]:
    name = child_of(node, "name")
    if name is None:
        return node.named_children
    defined = _define(builder, node, [])
    builder.copy(builder.bind(builder.text(name)), defined)
    return []


def _define(builder: Builder, node: Node, decorators: list[str]) -> int:
    return _define_class(builder, node) if node.kind_id == CLASS else _define_function(builder, node, decorators)


def _define_function(builder: Builder, node: Node, decorators: list[str]) -> int:
    name, parameters, body = child_of(node, "name"), child_of(node, "parameters"), child_of(node, "body")
    scope = builder.open_scope("function", builder.text(name) if name is not None else "", node)
    scope.is_static = "staticmethod" in decorators or scope.name == "__new__"
    # Of these two Python makes class methods by itself.
    scope.is_class_method = "classmethod" in decorators or scope.name in ("__init_subclass__", "__class_getitem__")
    defaults = read_parameters(builder, scope, parameters.named_children) if parameters is not None else ()
    returns = child_of(node, "return_type")
    if returns is not None:
        annotate_inside(builder, scope, RETURNED, returns)
    if body is not None:
        builder.bodies.append((body, scope))
    result = builder.variable()
    builder.block.functions.append((result, scope.index, defaults))
    return result


def _define_class(builder: Builder, node: Node) -> int:
    name, superclasses, body = child_of(node, "name"), child_of(node, "superclasses"), child_of(node, "body")
    bases: list[int] = []
    metaclass = NOTHING
    for child in superclasses.named_children if superclasses is not None else ():
        if child.kind_id == KEYWORD_ARGUMENT:
            key, held_node = child_of(child, "name"), child_of(child, "value")
            held = value(builder, held_node) if held_node is not None else NOTHING
            if key is not None and builder.text(key) == "metaclass":
                metaclass = held
        elif child.kind_id not in LIST_SPLAT and child.kind_id not in TRIVIA:
            # `Base[T]` inherits from `Base`.
            base = child_of(child, "value") if child.kind_id == SUBSCRIPT else None
            held = value(builder, base or child)
            if held != LITERAL:
                bases.append(held)
    scope = builder.open_scope("class", builder.text(name) if name is not None else "", node)
    scope.has_bases = bool(bases)
    if body is not None:
        builder.bodies.append((body, scope))
    result = builder.variable()
    builder.block.classes.append((result, scope.index, tuple(bases), metaclass))
    return result


RULES: dict[int, Handler] = {
    kind_id("decorated_definition"): _read_decorated,
    FUNCTION: _read_definition,
    CLASS: _read_definition,
}
