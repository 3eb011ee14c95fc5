"""Handlers of nodes that many languages share, made from the names of a grammar's fields."""

from __future__ import annotations

from tree_sitter import Node

from rolecall_analysis.languages.walk import TYPE_KINDS, Handler, Inside, Steps, Walk, WalkScope
from rolecall_analysis.values import DefinitionKind


def visit_children(_walk: Walk, node: Node, scope: WalkScope) -> Steps:
    """Say nothing, and go on with what is inside."""
    return [(child, scope) for child in node.named_children]


def visit_name(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    """Note that a name is read."""
    return walk.read(node, scope)


def visit_comment(walk: Walk, node: Node, _scope: WalkScope) -> Steps:
    """Note a comment, which may be about the definition below it."""
    walk.note_above(node, is_attribute=False)
    return ()


def visit_attribute(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    """Note an attribute or decorator that stands before its definition rather than in it, and visit its children."""
    walk.note_above(node, is_attribute=True)
    return visit_children(walk, node, scope)


def visit_anonymous(_walk: Walk, node: Node, scope: WalkScope) -> Steps:
    """Visit a function without a name."""
    return [(child, scope.code()) for child in node.named_children]


def visit_wrapper(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    """Note that a node belongs to the definition that is its last child, and visit its children."""
    children = node.named_children
    if children and walk.wrapper is None:
        walk.wrapper = (node, children[-1].start_byte)
    return [(child, scope) for child in children]


def defines_function(kind: DefinitionKind | None = None) -> Handler:
    """Read a function: a method inside a type, unless *kind* says what it is everywhere."""

    def visit(walk: Walk, node: Node, scope: WalkScope) -> Steps:
        name_node = node.child_by_field_name("name")
        if name_node is None or name_node.is_missing:
            return visit_anonymous(walk, node, scope)
        found: DefinitionKind = kind or ("method" if scope.inside is Inside.TYPE else "function")
        inside = walk.define(found, name_node, node, scope, body=node.child_by_field_name("body"))
        return [(child, inside) for child in node.named_children if child != name_node]

    return visit


def defines_type(kind: DefinitionKind, bases: tuple[str, ...] = (), body: str = "body") -> Handler:
    """Read a class or the like; *bases* are fields or kinds of children in which names are bases."""

    def visit(walk: Walk, node: Node, scope: WalkScope) -> Steps:
        name_node, body_node = node.child_by_field_name("name"), node.child_by_field_name(body)
        if name_node is None or name_node.is_missing:
            return visit_anonymous(walk, node, scope)
        return type_steps(walk, node, scope, kind=kind, name=name_node, body=body_node, bases=bases)

    return visit


def type_steps(
    walk: Walk,
    node: Node,
    scope: WalkScope,
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
    header = WalkScope(scope.name, scope.inside, inside.name)
    inner = {"type_parameters", "type_parameter_list"}
    return [
        (child, inside if child == body or child.type in inner or kind not in TYPE_KINDS else header)
        for child in node.named_children
        if child != name
    ]


def define_variable(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    """Read a variable, field or constant: a definition unless it is in code."""
    name = node.child_by_field_name("name")
    if name is None:
        return visit_children(walk, node, scope)
    walk.bind_or_define(name, scope, node)
    return [(child, scope) for child in node.named_children if child != name]


def define_member(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    """Read a member of a type, such as a field; where it is not in a type nothing is defined."""
    names = walk.fields(node, "name")
    if scope.inside is Inside.TYPE:
        for name in names:
            walk.define("variable", name, node, scope)
    return [(child, scope) for child in node.named_children if child not in names]


def define_holder(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    """Read a member that has members of its own, such as a variant of an enumeration."""
    name = node.child_by_field_name("name")
    if name is None:
        return visit_children(walk, node, scope)
    qualified_name = walk.define("variable", name, node, scope).name
    inside = WalkScope(qualified_name, Inside.TYPE, qualified_name)
    return [(child, inside) for child in node.named_children if child != name]


def binds(*fields: str) -> Handler:
    """Return a handler that binds the names in *fields* as local, wherever they are, and reads the rest."""

    def visit(walk: Walk, node: Node, scope: WalkScope) -> Steps:
        patterns = [child for field in fields for child in walk.fields(node, field)]
        local = scope if scope.inside is Inside.CODE else scope.code()
        read = [step for pattern in patterns for step in walk.bind_pattern(pattern, local)]
        return [*((child, scope) for child in node.named_children if child not in patterns), *read]

    return visit


def binds_children(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    """Bind every child that is a pattern, as in a list of parameters, and visit the other children."""
    grammar = walk.grammar
    local = scope if scope.inside is Inside.CODE else scope.code()
    steps: list[tuple[Node, WalkScope]] = []
    for child in node.named_children:
        if child.kind_id in grammar.bound or child.kind_id in grammar.patterns:
            steps.extend(walk.bind_pattern(child, local))
        else:
            steps.append((child, scope))
    return steps


def calls(callee: str = "function") -> Handler:
    """Return a handler that notes a call of what is in the field *callee*, or of the first child if *callee*
    is empty.
    """

    def visit(walk: Walk, node: Node, scope: WalkScope) -> Steps:
        children = node.named_children
        callee_node = node.child_by_field_name(callee) if callee else children[0] if children else None
        if callee_node is None:
            return [(child, scope) for child in children]
        rest = walk.call(node, callee_node, scope)
        return [*rest, *((child, scope) for child in children if child != callee_node)]

    return visit


def visit_named_argument(_walk: Walk, node: Node, scope: WalkScope) -> Steps:
    """``name: value``: the name is the parameter's."""
    name = node.child_by_field_name("name")
    return [(child, scope) for child in node.named_children if child != name]
