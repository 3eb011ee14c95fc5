"""C#."""

from __future__ import annotations

from tree_sitter import Node

from rolecall_analysis.languages.grammar import GrammarReading, Link
from rolecall_analysis.languages.handlers import (
    binds,
    binds_children,
    calls,
    define_member,
    defines_function,
    defines_type,
    visit_anonymous,
    visit_children,
    visit_name,
    visit_named_argument,
)
from rolecall_analysis.languages.walk import Inside, Step, Steps, Walk, WalkScope

_BASES = ("base_list",)
_NAMES = frozenset({"identifier", "qualified_name", "alias_qualified_name", "generic_name"})


def _visit_using(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    alias = node.child_by_field_name("name")
    named = next((child for child in reversed(node.named_children) if child.type in _NAMES and child != alias), None)
    if named is None:
        return visit_children(walk, node, scope)
    whole = walk.dotted(named)
    module, _, name = whole.rpartition(".")
    if alias is None:
        # `using Shop;` brings all that is in the namespace.
        walk.note_import(node, named, scope, whole, "*")
    elif module:
        walk.note_import(node, named, scope, module, name, alias=walk.text(alias))
    else:
        walk.note_import(node, named, scope, name, None, alias=walk.text(alias))
    return ()


def _visit_file(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    """Visit a file: what follows ``namespace A.B;`` is inside of it."""
    steps: list[Step] = []
    for child in node.named_children:
        if child.type == "file_scoped_namespace_declaration":
            scope = _namespace(walk, child, scope)
        else:
            steps.append((child, scope))
    return steps


def _namespace(walk: Walk, node: Node, scope: WalkScope) -> WalkScope:
    name = node.child_by_field_name("name")
    if name is None:
        return scope
    outer, _, last = walk.dotted(name).rpartition(".")
    holder = WalkScope(scope.qualified(outer), Inside.FILE, scope.owner) if outer else scope
    last_node = name.child_by_field_name("name") or name
    return walk.define("module", last_node, node, holder, body=node.child_by_field_name("body"), text=last or None)


def _visit_namespace(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    body = node.child_by_field_name("body")
    inside = _namespace(walk, node, scope)
    return [(body, inside)] if body is not None else ()


def _visit_record(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    """Define a record and its parameters, which are its properties."""
    steps = defines_type("class", _BASES)(walk, node, scope)
    name = node.child_by_field_name("name")
    if name is None or node.type != "record_declaration":
        return steps
    qualified_name = scope.qualified(walk.text(name))
    inside = WalkScope(qualified_name, Inside.TYPE, qualified_name)
    lists = [child for child in node.named_children if child.type == "parameter_list"]
    members = [step for one in lists for child in one.named_children for step in define_member(walk, child, inside)]
    return [*members, *(step for step in steps if step[0] not in lists)]


def _visit_declarators(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    """Fields, events or local variables; the value of a field belongs to it."""
    declarations = [child for child in node.named_children if child.type == "variable_declaration"]
    steps: list[Step] = [(child, scope) for child in node.named_children if child not in declarations]
    for declaration in declarations:
        declarators = [child for child in declaration.named_children if child.type == "variable_declarator"]
        steps.extend((child, scope) for child in declaration.named_children if child not in declarators)
        for declarator in declarators:
            whole = node if len(declarators) == 1 else declarator
            steps.extend(_declarator_steps(walk, declarator, whole, scope))
    return steps


def _declarator_steps(walk: Walk, declarator: Node, whole: Node, scope: WalkScope) -> Steps:
    name = declarator.child_by_field_name("name")
    if name is None:
        return visit_children(walk, declarator, scope)
    walk.bind_or_define(name, scope, whole)
    inside = scope
    if scope.inside is not Inside.CODE:
        qualified_name = scope.qualified(walk.text(name))
        inside = WalkScope(qualified_name, Inside.CODE, qualified_name)
    return [(child, inside) for child in declarator.named_children if child != name]


def _visit_loose_declaration(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    """Bind the variables of ``using`` and ``for``."""
    declarators = [child for child in node.named_children if child.type == "variable_declarator"]
    steps: list[Step] = [(child, scope) for child in node.named_children if child not in declarators]
    local = scope.code()
    return [*steps, *(step for one in declarators for step in _declarator_steps(walk, one, one, local))]


def _visit_property(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    """Define a property: as a method if it computes its value, as a variable if it only holds one."""
    name, accessors = node.child_by_field_name("name"), node.child_by_field_name("accessors")
    value = node.child_by_field_name("value")
    if name is None:
        return visit_children(walk, node, scope)
    computes = (value is not None and value.type == "arrow_expression_clause") or any(
        accessor.child_by_field_name("body") for accessor in (accessors.named_children if accessors else ())
    )
    inside = walk.define("method" if computes else "variable", name, node, scope, body=accessors or value)
    return [(child, inside) for child in node.named_children if child != name]


def _visit_indexer(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    """Define an indexer or an operator, which has a sign instead of a name."""
    sign = next((child for child in node.children if child.type in {"this", "operator"}), None)
    symbol = node.child_by_field_name("operator")
    if node.type == "conversion_operator_declaration":
        symbol = node.child_by_field_name("type")
    if sign is None:
        return visit_anonymous(walk, node, scope)
    body = next(
        (
            node.child_by_field_name(field)
            for field in ("accessors", "value", "body")
            if node.child_by_field_name(field)
        ),
        None,
    )
    text = f"operator {' '.join(walk.text(symbol).split())}" if symbol is not None else walk.text(sign)
    inside = walk.define("method", symbol or sign, node, scope, body=body, text=text)
    return [(child, inside) for child in node.named_children]


def _visit_destructor(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    if name is None:
        return visit_children(walk, node, scope)
    inside = walk.define("method", name, node, scope, body=body, text=f"~{walk.text(name)}")
    return [(child, inside) for child in node.named_children if child != name]


def _visit_parameter_list(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    """``params int[] rest`` has no node of its own."""
    names = walk.fields(node, "name")
    for name in names:
        walk.bind(walk.text(name), scope)
    return [(child, scope) for child in node.named_children if child not in names]


def _visit_implicit_parameter(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    walk.bind(walk.text(node), scope)
    return ()


READING = GrammarReading(
    handlers={
        "compilation_unit": _visit_file,
        "using_directive": _visit_using,
        "namespace_declaration": _visit_namespace,
        "class_declaration": _visit_record,
        "struct_declaration": _visit_record,
        "record_declaration": _visit_record,
        "interface_declaration": defines_type("interface", _BASES),
        "enum_declaration": defines_type("class"),
        "enum_member_declaration": define_member,
        "delegate_declaration": defines_type("type", body=""),
        "method_declaration": defines_function("method"),
        "constructor_declaration": defines_function("method"),
        "destructor_declaration": _visit_destructor,
        "operator_declaration": _visit_indexer,
        "conversion_operator_declaration": _visit_indexer,
        "indexer_declaration": _visit_indexer,
        "local_function_statement": defines_function(),
        "property_declaration": _visit_property,
        "event_declaration": _visit_property,
        "field_declaration": _visit_declarators,
        "event_field_declaration": _visit_declarators,
        "local_declaration_statement": _visit_declarators,
        "variable_declaration": _visit_loose_declaration,
        "parameter_list": _visit_parameter_list,
        "parameter": binds("name"),
        "implicit_parameter": _visit_implicit_parameter,
        "lambda_expression": visit_anonymous,
        "anonymous_method_expression": visit_anonymous,
        "foreach_statement": binds("left"),
        "catch_declaration": binds("name"),
        "declaration_pattern": binds("name"),
        "declaration_expression": binds("name"),
        "recursive_pattern": binds("name"),
        "var_pattern": binds("name"),
        "from_clause": binds("name"),
        "let_clause": binds_children,
        "type_parameter": binds("name"),
        "argument": visit_named_argument,
        "invocation_expression": calls(),
        "object_creation_expression": calls("type"),
        "member_access_expression": visit_name,
        "conditional_access_expression": visit_name,
        "qualified_name": visit_name,
        "generic_name": visit_name,
        "identifier": Walk.refer_plain,
    },
    names=frozenset({"identifier", "this", "base"}),
    links={
        "member_access_expression": Link("expression", "name"),
        "conditional_access_expression": Link("condition", ""),
        "qualified_name": Link("qualifier", "name"),
        "alias_qualified_name": Link("alias", "name"),
    },
    wrappers={"generic_name": "", "member_binding_expression": "name"},
    patterns={"tuple_pattern": (), "parenthesized_variable_designation": ()},
    attributes=frozenset({"attribute_list"}),
    arguments=frozenset({"type_argument_list", "argument_list"}),
    skipped=frozenset(
        {
            *("string_literal", "verbatim_string_literal", "integer_literal", "real_literal", "character_literal"),
            *("boolean_literal", "null_literal", "predefined_type", "implicit_type", "modifier", "raw_string_literal"),
            *("label_name",),
        }
    ),
)
