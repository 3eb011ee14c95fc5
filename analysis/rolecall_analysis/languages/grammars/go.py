"""Go."""

from __future__ import annotations

import re

from tree_sitter import Node

from rolecall_analysis.languages.grammar import GrammarReading, Link
from rolecall_analysis.languages.handlers import (
    binds,
    calls,
    define_member,
    defines_function,
    visit_anonymous,
    visit_children,
    visit_name,
)
from rolecall_analysis.languages.walk import Inside, Step, Steps, Walk, WalkScope
from rolecall_analysis.values import DefinitionKind

_VERSION = re.compile(r"v\d+")
_TYPE_KINDS: dict[str, DefinitionKind] = {"struct_type": "class", "interface_type": "interface"}


def _visit_import(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    path, name = node.child_by_field_name("path"), node.child_by_field_name("name")
    if path is None:
        return ()
    module = walk.text(path).strip('"`')
    if name is not None and name.type == "dot":
        walk.note_import(node, path, scope, module, "*")
    else:
        walk.note_import(node, path, scope, module, None, alias=walk.text(name) if name else _package_name(module))
    return ()


def _package_name(module: str) -> str:
    """Return the name that a package most likely has, by its path."""
    *before, last = module.split("/")
    # `example.com/shop/v2` is the package `shop`; `gopkg.in/yaml.v3`, below, the package `yaml`.
    if before and _VERSION.fullmatch(last):
        last = before[-1]
    return last.partition(".v")[0]


def _visit_declaration(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    children = node.named_children
    if len(children) == 1:
        walk.wrapper = (node, children[0].start_byte)
    return [(child, scope) for child in children]


def _visit_type(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    name, value = node.child_by_field_name("name"), node.child_by_field_name("type")
    if name is None or value is None:
        return visit_children(walk, node, scope)
    kind: DefinitionKind = _TYPE_KINDS.get(value.type, "type")
    # An interface has no node for its body, which begins at the brace.
    body = next((child for child in value.children if child.type in {"field_declaration_list", "{"}), None)
    bases = [base for part in _embedded(value) for base in walk.names_under(part, frozenset({"type_arguments"}))]
    inside = walk.define(kind, name, node, scope, body=body if kind != "type" else value, bases=bases)
    return [(child, inside) for child in node.named_children if child != name]


def _embedded(value: Node) -> list[Node]:
    if value.type == "interface_type":
        return [child for child in value.named_children if child.type == "type_elem"]
    fields = [
        field for body in value.named_children if body.type == "field_declaration_list" for field in body.named_children
    ]
    types = (field.child_by_field_name("type") for field in fields if not field.child_by_field_name("name"))
    return [one for one in types if one is not None] if value.type == "struct_type" else []


def _visit_method(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    name, receiver = node.child_by_field_name("name"), node.child_by_field_name("receiver")
    if name is None or receiver is None:
        return visit_anonymous(walk, node, scope)
    types = [child.child_by_field_name("type") for child in receiver.named_children]
    owners = [owner for one in types for owner in walk.names_under(one, frozenset({"type_arguments"}))]
    owner = scope.qualified(owners[0]) if owners else scope.name
    inside = walk.define(
        "method", name, node, WalkScope(owner, Inside.TYPE, owner), body=node.child_by_field_name("body")
    )
    return [(child, inside) for child in node.named_children if child != name]


def _visit_variables(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    names = walk.fields(node, "name")
    for name in names:
        if walk.text(name) != "_":
            walk.bind_or_define(name, scope, node)
    inside = scope
    if len(names) == 1 and scope.inside is not Inside.CODE:
        qualified_name = scope.qualified(walk.text(names[0]))
        inside = WalkScope(qualified_name, Inside.CODE, qualified_name)
    return [(child, inside) for child in node.named_children if child not in names]


def _visit_key(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    """Visit an element with a key; a key that is a plain name names a field and is not read."""
    key = node.child_by_field_name("key")
    children: list[Step] = [(child, scope) for child in node.named_children if child != key]
    if key is None or (key.named_child_count == 1 and key.named_children[0].type == "identifier"):
        return children
    return [(key, scope), *children]


def _visit_literal(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    """Visit a literal; making a value of a named type counts as a call of the type."""
    made = node.child_by_field_name("type")
    return (
        calls("type")(walk, node, scope)
        if made is not None and made.type in _NAMED_TYPES
        else visit_children(walk, node, scope)
    )


_NAMED_TYPES = frozenset({"type_identifier", "qualified_type", "generic_type"})

READING = GrammarReading(
    handlers={
        "import_spec": _visit_import,
        "type_declaration": _visit_declaration,
        "const_declaration": _visit_declaration,
        "var_declaration": _visit_declaration,
        "type_spec": _visit_type,
        "type_alias": _visit_type,
        "field_declaration": define_member,
        "method_elem": defines_function(),
        "method_spec": defines_function(),
        "function_declaration": defines_function(),
        "method_declaration": _visit_method,
        "func_literal": visit_anonymous,
        "const_spec": _visit_variables,
        "var_spec": _visit_variables,
        "short_var_declaration": binds("left"),
        "range_clause": binds("left"),
        "receive_statement": binds("left"),
        "type_switch_statement": binds("alias"),
        "parameter_declaration": binds("name"),
        "variadic_parameter_declaration": binds("name"),
        "type_parameter_declaration": binds("name"),
        "call_expression": calls(),
        "composite_literal": _visit_literal,
        "keyed_element": _visit_key,
        "selector_expression": visit_name,
        "qualified_type": visit_name,
        "identifier": Walk.refer_plain,
        "type_identifier": Walk.refer_plain,
    },
    names=frozenset({"identifier", "type_identifier", "field_identifier", "package_identifier"}),
    links={"selector_expression": Link("operand", "field"), "qualified_type": Link("package", "name")},
    wrappers={"generic_type": "type", "type_instantiation_expression": "type"},
    patterns={"expression_list": ()},
    arguments=frozenset({"type_arguments"}),
    skipped=frozenset(
        {
            *("package_clause", "int_literal", "float_literal", "imaginary_literal", "rune_literal", "label_name"),
            *("interpreted_string_literal", "raw_string_literal", "true", "false", "nil", "iota", "empty_statement"),
        }
    ),
)
