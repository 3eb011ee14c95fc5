"""Handlers of nodes that many languages share, made from the names of a grammar's fields."""

from __future__ import annotations

from tree_sitter import Node

from rolecall_analysis.languages.walk import TYPE_KINDS, Handler, Inside, Scope, Steps, Walk
from rolecall_analysis.values import DefinitionKind


def visit_children(_walk: Walk, node: Node, scope: Scope) -> Steps:
    """Say nothing, and go on with what is inside."""
    return [(child, scope) for child in node.named_children]


def visit_name(walk: Walk, node: Node, scope: Scope) -> Steps:
    """A name that is read."""
    return walk.read(node, scope)


def visit_comment(walk: Walk, node: Node, _scope: Scope) -> Steps:
    """A comment, perhaps about the definition below."""
    walk.note_above(node, is_attribute=False)
    return ()


def visit_attribute(walk: Walk, node: Node, scope: Scope) -> Steps:
    """An attribute or decorator that stands before its definition, not in it."""
    walk.note_above(node, is_attribute=True)
    return visit_children(walk, node, scope)


def visit_anonymous(_walk: Walk, node: Node, scope: Scope) -> Steps:
    """A function without a name."""
    return [(child, scope.code()) for child in node.named_children]


def visit_wrapper(walk: Walk, node: Node, scope: Scope) -> Steps:
    """A node that belongs to the definition that is its last child."""
    children = node.named_children
    if children and walk.wrapper is None:
        walk.wrapper = (node, children[-1].start_byte)
    return [(child, scope) for child in children]


def defines_function(kind: DefinitionKind | None = None, name: str = "name", body: str = "body") -> Handler:
    """A function: a method inside a type, unless *kind* says what it is everywhere."""

    def visit(walk: Walk, node: Node, scope: Scope) -> Steps:
        name_node = node.child_by_field_name(name)
        if name_node is None or name_node.is_missing:
            return visit_anonymous(walk, node, scope)
        found: DefinitionKind = kind or ("method" if scope.inside is Inside.TYPE else "function")
        inside = walk.define(found, name_node, node, scope, body=node.child_by_field_name(body))
        return [(child, inside) for child in node.named_children if child != name_node]

    return visit


def defines_type(kind: DefinitionKind, bases: tuple[str, ...] = (), name: str = "name", body: str = "body") -> Handler:
    """A class or the like; *bases* are fields or kinds of children in which names are bases."""

    def visit(walk: Walk, node: Node, scope: Scope) -> Steps:
        name_node, body_node = node.child_by_field_name(name), node.child_by_field_name(body)
        if name_node is None or name_node.is_missing:
            return visit_anonymous(walk, node, scope)
        return type_steps(walk, node, scope, kind=kind, name=name_node, body=body_node, bases=bases)

    return visit


def defines_macro(name: str = "name") -> Handler:
    """A macro; what it expands to is not read."""

    def visit(walk: Walk, node: Node, scope: Scope) -> Steps:
        name_node = node.child_by_field_name(name)
        if name_node is not None:
            walk.define("macro", name_node, node, scope)
        return ()

    return visit


def type_steps(
    walk: Walk,
    node: Node,
    scope: Scope,
    *,
    kind: DefinitionKind,
    name: Node,
    body: Node | None,
    bases: tuple[str, ...] = (),
    whole: Node | None = None,
) -> Steps:
    """Define a type; its header sees the names around it, but belongs to it."""
    heritage = [child for child in node.named_children if child.type in bases]
    heritage += [child for field in bases for child in walk.fields(node, field) if child not in heritage]
    skipped = walk.grammar.reading.arguments
    base_names = [base for part in heritage for base in walk.names_under(part, skipped)]
    inside = walk.define(kind, name, whole or node, scope, body=body, bases=base_names)
    header = Scope(scope.name, scope.inside, inside.name)
    inner = {"type_parameters", "type_parameter_list"}
    return [
        (child, inside if child == body or child.type in inner or kind not in TYPE_KINDS else header)
        for child in node.named_children
        if child != name
    ]


def defines_variable(name: str = "name") -> Handler:
    """A variable, field or constant: a definition unless it is in code."""

    def visit(walk: Walk, node: Node, scope: Scope) -> Steps:
        name_node = node.child_by_field_name(name)
        if name_node is None:
            return visit_children(walk, node, scope)
        walk.bind_or_define(name_node, scope, node)
        return [(child, scope) for child in node.named_children if child != name_node]

    return visit


def defines_member(kind: DefinitionKind = "variable", name: str = "name") -> Handler:
    """A member of a type, such as a field; where it is not in a type nothing is defined."""

    def visit(walk: Walk, node: Node, scope: Scope) -> Steps:
        names = walk.fields(node, name)
        if scope.inside is Inside.TYPE:
            for name_node in names:
                walk.define(kind, name_node, node, scope)
        return [(child, scope) for child in node.named_children if child not in names]

    return visit


def defines_holder(name: str = "name") -> Handler:
    """A member that has members of its own, such as a variant of an enumeration."""

    def visit(walk: Walk, node: Node, scope: Scope) -> Steps:
        name_node = node.child_by_field_name(name)
        if name_node is None:
            return visit_children(walk, node, scope)
        qualified_name = walk.define("variable", name_node, node, scope).name
        inside = Scope(qualified_name, Inside.TYPE, qualified_name)
        return [(child, inside) for child in node.named_children if child != name_node]

    return visit


def binds(*fields: str) -> Handler:
    """The names in *fields* are local, wherever they stand; the rest is read."""

    def visit(walk: Walk, node: Node, scope: Scope) -> Steps:
        patterns = [child for field in fields for child in walk.fields(node, field)]
        local = scope if scope.inside is Inside.CODE else scope.code()
        read = [step for pattern in patterns for step in walk.bind_pattern(pattern, local)]
        return [*((child, scope) for child in node.named_children if child not in patterns), *read]

    return visit


def binds_children(walk: Walk, node: Node, scope: Scope) -> Steps:
    """Every child that is a pattern is bound: a list of parameters."""
    grammar = walk.grammar
    local = scope if scope.inside is Inside.CODE else scope.code()
    steps: list[tuple[Node, Scope]] = []
    for child in node.named_children:
        if child.kind_id in grammar.bound or child.kind_id in grammar.patterns:
            steps.extend(walk.bind_pattern(child, local))
        else:
            steps.append((child, scope))
    return steps


def calls(callee: str = "function") -> Handler:
    """A call of what is in the field *callee*, or of the first child if that is empty."""

    def visit(walk: Walk, node: Node, scope: Scope) -> Steps:
        children = node.named_children
        callee_node = node.child_by_field_name(callee) if callee else children[0] if children else None
        if callee_node is None:
            return [(child, scope) for child in children]
        rest = walk.call(node, callee_node, scope)
        return [*rest, *((child, scope) for child in children if child != callee_node)]

    return visit


def visit_named_argument(_walk: Walk, node: Node, scope: Scope) -> Steps:
    """``name: value``: the name is the parameter's."""
    name = node.child_by_field_name("name")
    return [(child, scope) for child in node.named_children if child != name]
