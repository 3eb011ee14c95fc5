"""PHP."""

from __future__ import annotations

from tree_sitter import Node

from rolecall_analysis.languages.grammar import GrammarReading, Link
from rolecall_analysis.languages.handlers import (
    binds,
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

_BASES = ("base_clause", "class_interface_clause")


def _visit_file(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    """Visit a file: what follows ``namespace App\\Shop;`` is inside of it, up to the next."""
    steps: list[Step] = []
    inside = scope
    for child in node.named_children:
        if child.type == "namespace_definition":
            steps.append((child, scope))
            name, body = child.child_by_field_name("name"), child.child_by_field_name("body")
            parts = name.named_children if name is not None and body is None else []
            qualified_name = ".".join(map(walk.text, parts))
            inside = WalkScope(qualified_name, Inside.FILE, qualified_name) if parts else scope
        else:
            steps.append((child, inside))
    return steps


def _visit_namespace(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    parts = name.named_children if name is not None else []
    inside = scope
    if parts:
        *outer, last = parts
        holder = (
            WalkScope(scope.qualified(".".join(map(walk.text, outer))), Inside.FILE, scope.owner) if outer else scope
        )
        inside = walk.define("module", last, node, holder, body=body)
    return [(body, inside)] if body is not None else ()


def _visit_use(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    prefix = next((walk.text(child) for child in node.named_children if child.type == "namespace_name"), "")
    group = node.child_by_field_name("body") or node
    for clause in group.named_children:
        if clause.type != "namespace_use_clause" or not clause.named_children:
            continue
        alias = clause.child_by_field_name("alias")
        named = next(child for child in clause.named_children if child != alias)
        whole = f"{prefix}\\{walk.text(named)}" if prefix else walk.text(named).lstrip("\\")
        module, _, name = whole.rpartition("\\")
        names = [child for child in named.named_children if child.type == "name"]
        walk.note_import(
            node,
            names[-1] if names else named,
            scope,
            module,
            name,
            alias=walk.text(alias) if alias is not None else None,
        )
    return ()


def _visit_trait_use(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    bases = [base for child in node.named_children if child.type != "use_list" for base in walk.names_under(child)]
    # A trait gives its members to the class, as a base does.
    if scope.name:
        walk.more_bases.setdefault(scope.name, []).extend(bases)
    return visit_children(walk, node, scope)


def _visit_include(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    """``require __DIR__ . '/price.php'``; a path that is computed is not told."""
    written = node.named_children[0] if node.named_children else None
    while written is not None and written.type == "parenthesized_expression" and written.named_children:
        written = written.named_children[0]
    before = ""
    if written is not None and written.type == "binary_expression":
        left, right = written.child_by_field_name("left"), written.child_by_field_name("right")
        if left is not None and walk.text(left) in {"__DIR__", "dirname(__FILE__)"}:
            before, written = ".", right
    # A string with a variable in it has more than one part.
    if written is not None and written.type in {"string", "encapsed_string"} and written.named_child_count == 1:
        walk.note_import(node, written, scope, before + walk.text(written)[1:-1], "*")
        return ()
    return visit_children(walk, node, scope)


def _visit_constants(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    elements = [child for child in node.named_children if child.type == "const_element"]
    steps: list[Step] = []
    for element in elements:
        name, *values = element.named_children or [None]
        if name is not None:
            inside = walk.define("variable", name, node if len(elements) == 1 else element, scope)
            steps.extend((value, inside) for value in values if value is not None)
    return steps


def _visit_properties(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    elements = [child for child in node.named_children if child.type == "property_element"]
    steps: list[Step] = [(child, scope) for child in node.named_children if child not in elements]
    for element in elements:
        variable = element.child_by_field_name("name")
        if variable is not None and variable.named_children:
            inside = walk.define("variable", variable.named_children[0], node if len(elements) == 1 else element, scope)
            steps.extend((child, inside) for child in element.named_children if child != variable)
    return steps


def _visit_promoted(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    """Define a parameter of the constructor as a property too, and bind it."""
    variable = node.child_by_field_name("name")
    # The scope is that of the constructor; the class is what stands before its name.
    owner = scope.name.rpartition(".")[0]
    if variable is not None and variable.named_children and owner:
        walk.define("variable", variable.named_children[-1], node, WalkScope(owner, Inside.TYPE, owner))
    return binds("name")(walk, node, scope)


def _visit_assignment(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    left = node.child_by_field_name("left")
    if left is None or left.type not in {"variable_name", "list_literal"}:
        return visit_children(walk, node, scope)
    read = walk.bind_pattern(left, scope, node)
    return [*((child, scope) for child in node.named_children if child != left), *read]


def _visit_foreach(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    collection, *others = node.named_children
    steps: list[Step] = [(collection, scope)]
    for child in others:
        if child == node.child_by_field_name("body"):
            steps.append((child, scope))
        else:
            steps.extend(walk.bind_pattern(child, scope.code()))
    return steps


def _visit_function_call(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if function is not None and arguments is not None and walk.text(function) == "define" and arguments.named_children:
        literals = arguments.named_children[0].named_children
        if literals and literals[0].type in {"string", "encapsed_string"} and literals[0].named_child_count == 1:
            # `define` makes a constant that belongs to no namespace, wherever it is called.
            walk.define("variable", literals[0].named_children[0], node, WalkScope("", Inside.FILE, ""))
    return calls()(walk, node, scope)


def _visit_member_call(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    name = node.child_by_field_name("name")
    before = node.child_by_field_name("object") or node.child_by_field_name("scope")
    if name is None or name.type != "name":
        return visit_children(walk, node, scope)
    rest = walk.call_member(node, before, name, scope)
    return [*rest, *((child, scope) for child in node.named_children if child not in (name, before))]


def _visit_new(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    first = node.named_children[0] if node.named_children else None
    if first is None or first.type not in {"name", "qualified_name", "relative_scope", "variable_name"}:
        return visit_children(walk, node, scope)
    return calls("")(walk, node, scope)


READING = GrammarReading(
    handlers={
        "program": _visit_file,
        "namespace_definition": _visit_namespace,
        "namespace_use_declaration": _visit_use,
        "use_declaration": _visit_trait_use,
        "require_expression": _visit_include,
        "require_once_expression": _visit_include,
        "include_expression": _visit_include,
        "include_once_expression": _visit_include,
        "class_declaration": defines_type("class", _BASES),
        "interface_declaration": defines_type("interface", _BASES),
        "trait_declaration": defines_type("class"),
        "enum_declaration": defines_type("class", _BASES),
        "enum_case": define_member,
        "const_declaration": _visit_constants,
        "property_declaration": _visit_properties,
        "property_promotion_parameter": _visit_promoted,
        "method_declaration": defines_function("method"),
        "function_definition": defines_function(),
        "anonymous_function": visit_anonymous,
        "arrow_function": visit_anonymous,
        "simple_parameter": binds("name"),
        "variadic_parameter": binds("name"),
        "static_variable_declaration": binds("name"),
        "catch_clause": binds("name"),
        "foreach_statement": _visit_foreach,
        "assignment_expression": _visit_assignment,
        "function_call_expression": _visit_function_call,
        "member_call_expression": _visit_member_call,
        "nullsafe_member_call_expression": _visit_member_call,
        "scoped_call_expression": _visit_member_call,
        "object_creation_expression": _visit_new,
        "argument": visit_named_argument,
        "member_access_expression": visit_name,
        "nullsafe_member_access_expression": visit_name,
        "scoped_property_access_expression": visit_name,
        "class_constant_access_expression": visit_name,
        "qualified_name": visit_name,
        "relative_name": visit_name,
        "name": Walk.refer_plain,
        "variable_name": Walk.refer_plain,
    },
    names=frozenset({"name", "variable_name", "relative_scope"}),
    links={
        "member_access_expression": Link("object", "name"),
        "nullsafe_member_access_expression": Link("object", "name"),
        "scoped_property_access_expression": Link("scope", "name"),
        "class_constant_access_expression": Link("", ""),
    },
    compounds=frozenset({"qualified_name", "namespace_name", "relative_name"}),
    patterns={"list_literal": (), "pair": (), "by_ref": ()},
    bound=frozenset({"variable_name"}),
    attributes=frozenset({"attribute_list"}),
    arguments=frozenset({"arguments"}),
    skipped=frozenset(
        {
            *("text", "php_tag", "string", "integer", "float", "boolean", "null", "primitive_type", "string_content"),
            *("visibility_modifier", "static_modifier", "abstract_modifier", "final_modifier", "readonly_modifier"),
            *("declare_statement", "named_label_statement"),
        }
    ),
)
