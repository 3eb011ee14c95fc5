"""Java."""

from __future__ import annotations

from tree_sitter import Node

from rolecall_analysis.languages.grammar import GrammarReading, Link
from rolecall_analysis.languages.handlers import (
    binds,
    binds_children,
    calls,
    define_holder,
    define_member,
    defines_function,
    defines_type,
    visit_children,
    visit_name,
)
from rolecall_analysis.languages.walk import Inside, Step, Steps, Walk, WalkScope

_BASES = ("superclass", "super_interfaces", "extends_interfaces")


def _visit_import(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    named = next((child for child in node.named_children if child.type in {"scoped_identifier", "identifier"}), None)
    if named is None:
        return ()
    module = "".join(walk.text(named).split())
    if any(child.type == "asterisk" for child in node.named_children):
        walk.note_import(node, named, scope, module, "*")
    else:
        package, _, name = module.rpartition(".")
        walk.note_import(node, named.child_by_field_name("name") or named, scope, package, name)
    return ()


def visit_declarators(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    """Fields of a type, or local variables; the value of a field belongs to it."""
    declarators = [child for child in node.named_children if child.type == "variable_declarator"]
    steps: list[Step] = [(child, scope) for child in node.named_children if child.type != "variable_declarator"]
    for declarator in declarators:
        name = declarator.child_by_field_name("name")
        if name is None:
            continue
        walk.bind_or_define(name, scope, node if len(declarators) == 1 else declarator)
        inside = scope
        if scope.inside is not Inside.CODE:
            qualified_name = scope.qualified(walk.text(name))
            inside = WalkScope(qualified_name, Inside.CODE, qualified_name)
        steps.extend((child, inside) for child in declarator.named_children if child != name)
    return steps


def _visit_record(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    """Define a record and its components, which are its fields."""
    parameters = node.child_by_field_name("parameters")
    steps = defines_type("class", _BASES)(walk, node, scope)
    name = node.child_by_field_name("name")
    if name is None or parameters is None:
        return steps
    inside = WalkScope(scope.qualified(walk.text(name)), Inside.TYPE, scope.qualified(walk.text(name)))
    fields = [step for parameter in parameters.named_children for step in define_member(walk, parameter, inside)]
    return [*fields, *(step for step in steps if step[0] != parameters)]


def _visit_invocation(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    name, before = node.child_by_field_name("name"), node.child_by_field_name("object")
    if name is None:
        return visit_children(walk, node, scope)
    rest = walk.call_member(node, before, name, scope)
    return [*rest, *((child, scope) for child in node.named_children if child not in (name, before))]


def _visit_type_parameter(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    name, *others = node.named_children or [None]
    if name is not None:
        walk.bind(walk.text(name), scope)
    return [(child, scope) for child in others if child is not None]


def _visit_spread(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    # The grammar takes `int... sizes` for the declaration of a variable; as a parameter it is local.
    return visit_declarators(walk, node, scope.code())


READING = GrammarReading(
    handlers={
        "import_declaration": _visit_import,
        "class_declaration": defines_type("class", _BASES),
        "interface_declaration": defines_type("interface", _BASES),
        "annotation_type_declaration": defines_type("interface"),
        "enum_declaration": defines_type("class", _BASES),
        "record_declaration": _visit_record,
        "method_declaration": defines_function("method"),
        "constructor_declaration": defines_function("method"),
        "compact_constructor_declaration": defines_function("method"),
        "annotation_type_element_declaration": defines_function("method"),
        "field_declaration": visit_declarators,
        "constant_declaration": visit_declarators,
        "local_variable_declaration": visit_declarators,
        "enum_constant": define_holder,
        "formal_parameter": binds("name"),
        "spread_parameter": _visit_spread,
        "catch_formal_parameter": binds("name"),
        "resource": binds("name"),
        "enhanced_for_statement": binds("name"),
        "instanceof_expression": binds("name"),
        "inferred_parameters": binds_children,
        "lambda_expression": binds("parameters"),
        "type_parameter": _visit_type_parameter,
        "method_invocation": _visit_invocation,
        "object_creation_expression": calls("type"),
        "explicit_constructor_invocation": calls("constructor"),
        "method_reference": visit_name,
        "field_access": visit_name,
        "scoped_identifier": visit_name,
        "scoped_type_identifier": visit_name,
        "generic_type": visit_name,
        "identifier": Walk.refer_plain,
        "type_identifier": Walk.refer_plain,
    },
    names=frozenset({"identifier", "type_identifier", "this", "super"}),
    links={"field_access": Link("object", "field"), "scoped_identifier": Link("scope", "name")},
    compounds=frozenset({"scoped_type_identifier", "method_reference"}),
    wrappers={"generic_type": ""},
    comments=frozenset({"line_comment", "block_comment"}),
    attributes=frozenset({"annotation", "marker_annotation"}),
    attribute_lists=frozenset({"modifiers"}),
    arguments=frozenset({"type_arguments", "annotation"}),
    skipped=frozenset(
        {
            *("package_declaration", "string_literal", "decimal_integer_literal", "hex_integer_literal"),
            *("decimal_floating_point_literal", "character_literal", "true", "false", "null_literal"),
            *("integral_type", "void_type", "boolean_type", "floating_point_type", "module_declaration"),
        }
    ),
)
