"""JavaScript, TypeScript and both with JSX."""

from __future__ import annotations

from tree_sitter import Node

from rolecall_analysis.languages.grammar import GrammarReading, Link
from rolecall_analysis.languages.grammars.javascript_imports import (
    note_reexports,
    note_require,
    required_module,
    visit_import,
)
from rolecall_analysis.languages.handlers import (
    binds,
    binds_children,
    calls,
    define_member,
    defines_function,
    defines_type,
    type_steps,
    visit_anonymous,
    visit_attribute,
    visit_children,
    visit_name,
)
from rolecall_analysis.languages.walk import Inside, Step, Steps, Walk, WalkScope

_FUNCTIONS = frozenset({"arrow_function", "function_expression", "generator_function"})
_DEFINING = _FUNCTIONS | {"class"}
_AROUND_A_VALUE = frozenset({"parenthesized_expression", "as_expression", "satisfies_expression"})
_CLASS_BASES = ("class_heritage", "extends_type_clause")
_EXPORTS = frozenset({"exports", "module.exports"})


def _value_of(node: Node | None) -> Node | None:
    while node is not None and node.type in _AROUND_A_VALUE and node.named_child_count:
        node = node.named_children[0]
    return node


def _visit_export(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    source = node.child_by_field_name("source")
    if source is not None:
        return note_reexports(walk, node, source, scope)
    value = _value_of(node.child_by_field_name("value"))
    default = next((child for child in node.children if child.type == "default"), None)
    if value is not None and default is not None:
        return _visit_default_export(walk, node, value, default, scope)
    declaration = node.child_by_field_name("declaration")
    if declaration is not None:
        walk.wrapper = (node, declaration.start_byte)
    return visit_children(walk, node, scope)


def _visit_default_export(walk: Walk, node: Node, value: Node, default: Node, scope: WalkScope) -> Steps:
    """Define an exported value without a name as ``default``, the name by which other files import it."""
    if value.type in _FUNCTIONS:
        return _define_function(walk, default, value, node, scope)
    if value.type == "class":
        return _define_class(walk, value.child_by_field_name("name") or default, value, node, scope)
    if value.type == "object":
        inside = walk.define("variable", default, node, scope, body=value)
        return [(value, WalkScope(inside.name, Inside.TYPE, inside.name))]
    return [(value, scope)]


def _visit_variables(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    declarators = [child for child in node.named_children if child.type == "variable_declarator"]
    steps: list[Step] = []
    for declarator in declarators:
        whole = node if len(declarators) == 1 else declarator
        steps.extend(_visit_declarator(walk, declarator, whole, scope))
    return steps


def _visit_declarator(walk: Walk, node: Node, whole: Node, scope: WalkScope) -> Steps:
    name, value = node.child_by_field_name("name"), _value_of(node.child_by_field_name("value"))
    if name is None:
        return visit_children(walk, node, scope)
    types = [child for child in node.named_children if child.type == "type_annotation"]
    steps: list[Step] = [(child, scope) for child in types]
    if value is None:
        return [*steps, *walk.bind_pattern(name, scope, whole)]
    if name.type == "identifier" and value.type in _DEFINING:
        define = _define_class if value.type == "class" else _define_function
        return [*steps, *define(walk, name, value, whole, scope)]
    if required_module(walk, value) is not None:
        return [*steps, *note_require(walk, node, name, value, scope)]
    read = walk.bind_pattern(name, scope, whole)
    if name.type == "identifier" and scope.inside is not Inside.CODE:
        return [*steps, (value, _inside_value(scope.qualified(walk.text(name)), value))]
    return [*steps, *read, (value, scope)]


def _inside_value(name: str, value: Node) -> WalkScope:
    """Return the scope of a variable's value: what stands in it belongs to the variable; functions in an object are its
    methods.
    """
    return WalkScope(name, Inside.TYPE if value.type == "object" else Inside.CODE, name)


def _define_function(
    walk: Walk, name: Node, function: Node, whole: Node, scope: WalkScope, *, text: str | None = None
) -> Steps:
    kind = "method" if scope.inside is Inside.TYPE else "function"
    inside = walk.define(kind, name, whole, scope, body=function.child_by_field_name("body"), text=text)
    return _function_parts(walk, function, inside)


def _function_parts(walk: Walk, function: Node, inside: WalkScope) -> Steps:
    single = function.child_by_field_name("parameter")
    if single is not None:
        walk.bind(walk.text(single), inside)
    own_name = function.child_by_field_name("name")
    return [(child, inside) for child in function.named_children if child not in (single, own_name)]


def _define_class(walk: Walk, name: Node, node: Node, whole: Node, scope: WalkScope) -> Steps:
    own_name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    steps = type_steps(walk, node, scope, kind="class", name=name, body=body, bases=_CLASS_BASES, whole=whole)
    return [step for step in steps if step[0] != own_name]


def _visit_function_value(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    name = node.child_by_field_name("name")
    if name is None:
        return _function_parts(walk, node, scope.code())
    return _define_function(walk, name, node, node, scope if scope.inside is Inside.FILE else scope.code())


def _visit_class(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    name = node.child_by_field_name("name")
    if name is None or name.is_missing:
        return visit_anonymous(walk, node, scope)
    return _define_class(walk, name, node, node, scope)


def _visit_call(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    function = node.child_by_field_name("function")
    if function is not None and function.type in {"identifier", "import"}:
        module = required_module(walk, node)
        if module is not None:
            walk.note_import(node, node, scope, module, None)
            return ()
    if function is not None and function.type in _AROUND_A_VALUE:
        return visit_children(walk, node, scope)
    return calls()(walk, node, scope)


def _visit_assignment(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    """``Cart.prototype.total = function () {}`` and ``exports.total = ...`` define."""
    left, right = node.child_by_field_name("left"), _value_of(node.child_by_field_name("right"))
    if left is None or right is None:
        return visit_children(walk, node, scope)
    target = walk.dotted(left) if left.type == "member_expression" else ""
    if target and right.type == "object":
        return _visit_assigned_object(left, right, target, scope)
    if target and right.type in _DEFINING:
        return _visit_assigned_function(walk, node, left, right, scope)
    module = required_module(walk, right)
    if target == "module.exports" and module is not None:
        walk.note_import(node, right, scope, module, "*")
        return ()
    holder, _, name = target.rpartition(".")
    member = left.child_by_field_name("property")
    if member is None or holder not in _EXPORTS or scope.inside is Inside.CODE:
        return visit_children(walk, node, scope)
    return _export_value(walk, node, member, right, name)


def _visit_assigned_object(left: Node, right: Node, target: str, scope: WalkScope) -> Steps:
    if target in _EXPORTS:
        # As in a type, so that functions in the object are defined; without a name, so that they are the file's.
        return [(right, WalkScope("", Inside.TYPE, ""))]
    holder = _holder(target.removesuffix(".prototype"), scope) if target.endswith(".prototype") else None
    inside = WalkScope(holder.name, Inside.TYPE, holder.name) if holder is not None else scope
    return [(left, scope), (right, inside)]


def _visit_assigned_function(walk: Walk, node: Node, left: Node, right: Node, scope: WalkScope) -> Steps:
    target = walk.dotted(left)
    member, outer = left.child_by_field_name("property"), _holder(target.rpartition(".")[0], scope)
    if member is None or outer is None:
        return [(left, scope), (right, scope)]
    if target == "module.exports":
        # `module.exports = function total() {}`: the function is known by the name it has.
        member, outer = right.child_by_field_name("name") or member, WalkScope("", Inside.FILE, "")
    define = _define_class if right.type == "class" else _define_function
    return define(walk, member, right, node, outer)


def _export_value(walk: Walk, node: Node, member: Node, right: Node, name: str) -> Steps:
    """``exports.total = ...``: a name of the file, unless it has that name already."""
    outside = WalkScope("", Inside.FILE, "")
    if (module := required_module(walk, right)) is not None:
        walk.note_import(node, member, outside, module, None, alias=name)
        return ()
    if walk.text(right) != name:
        walk.bind_or_define(member, outside, node)
    return [(right, outside)]


def _holder(target: str, scope: WalkScope) -> WalkScope | None:
    """Return the scope that an assignment to a member of *target* defines in; None if that cannot be told."""
    if target in _EXPORTS:
        return WalkScope("", Inside.FILE, "")
    holder = target.removesuffix(".prototype").removeprefix("module.exports.").removeprefix("exports.")
    if holder == "this":
        return WalkScope(scope.name, Inside.TYPE, scope.owner) if scope.name else None
    if "this" in holder.split("."):
        return None
    return WalkScope(holder, Inside.TYPE, holder)


def _visit_pair(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    key, value = node.child_by_field_name("key"), _value_of(node.child_by_field_name("value"))
    if key is None or value is None:
        return visit_children(walk, node, scope)
    if scope.inside is Inside.TYPE and key.type in {"property_identifier", "string"}:
        name = walk.text(key).strip("'\"")
        if value.type in _FUNCTIONS:
            outer = scope if scope.name else WalkScope("", Inside.FILE, "")
            return _define_function(walk, key, value, node, outer, text=name if name.isidentifier() else None)
        if value.type == "object":
            return [(value, WalkScope(scope.qualified(name), Inside.TYPE, scope.owner))]
    inner = scope if scope.inside is not Inside.TYPE else scope.code()
    return [(child, inner) for child in (key, value) if child.type != "property_identifier"]


def _visit_shorthand(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    walk.refer([node], True, scope)
    return ()


def _visit_field(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    """Define a field of a class; one that holds a function is a method."""
    name = node.child_by_field_name("name") or node.child_by_field_name("property")
    value = _value_of(node.child_by_field_name("value"))
    if name is None or name.type == "computed_property_name" or scope.inside is not Inside.TYPE:
        return visit_children(walk, node, scope)
    others = [child for child in node.named_children if child not in (name, node.child_by_field_name("value"))]
    steps: list[Step] = [(child, scope) for child in others]
    if value is not None and value.type in _FUNCTIONS:
        return [*steps, *_define_function(walk, name, value, node, scope)]
    inside = walk.define("variable", name, node, scope)
    return [*steps, (value, inside)] if value is not None else steps


def _visit_parameter(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    """Bind a parameter with a type; one with an access modifier is also defined as a field of the class."""
    pattern = node.child_by_field_name("pattern")
    modified = any(child.type in {"accessibility_modifier", "readonly"} for child in node.children)
    if pattern is not None and pattern.type == "identifier" and modified and scope.name.endswith(".constructor"):
        owner = scope.name.removesuffix(".constructor")
        walk.define("variable", pattern, node, WalkScope(owner, Inside.TYPE, owner))
    return binds("pattern")(walk, node, scope)


def _visit_enum_body(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    steps: list[Step] = []
    for child in node.named_children:
        name = child.child_by_field_name("name") if child.type == "enum_assignment" else child
        value = child.child_by_field_name("value")
        if name is not None and name.type == "property_identifier":
            walk.define("variable", name, child, scope)
        if value is not None:
            steps.append((value, scope))
    return steps


def _visit_module(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    if name is None:
        return visit_children(walk, node, scope)
    if name.type == "string":  # the declaration of another module's names
        return [(body, scope)] if body is not None else ()
    outer, _, last = walk.dotted(name).rpartition(".")
    holder = WalkScope(scope.qualified(outer), scope.inside, scope.owner) if outer else scope
    name_node = name.child_by_field_name("property") or name
    inside = walk.define("module", name_node, node, holder, body=body, text=last or None)
    return [(body, inside)] if body is not None else ()


def _visit_jsx(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    """Note a component as a call of its function; an HTML tag calls nothing."""
    name = node.child_by_field_name("name")
    children = [child for child in node.named_children if child != name]
    steps: list[Step] = [(child, scope) for child in children]
    if name is not None and (name.type != "identifier" or not walk.text(name)[:1].islower()):
        return [*walk.call(node, name, scope), *steps]
    return steps


def _visit_type_parameter(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    name = node.child_by_field_name("name")
    if name is not None:
        walk.bind(walk.text(name), scope)
    return [(child, scope) for child in node.named_children if child != name]


def _visit_signature(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    """Define a function or method by its signature; in a type without a name it defines nothing."""
    if scope.inside is Inside.TYPE or node.type == "function_signature":
        return defines_function()(walk, node, scope)
    return visit_anonymous(walk, node, scope)


READING = GrammarReading(
    handlers={
        "import_statement": visit_import,
        "export_statement": _visit_export,
        "lexical_declaration": _visit_variables,
        "variable_declaration": _visit_variables,
        "function_declaration": defines_function(),
        "generator_function_declaration": defines_function(),
        "function_signature": _visit_signature,
        "method_definition": defines_function(),
        "method_signature": _visit_signature,
        "abstract_method_signature": _visit_signature,
        "arrow_function": _visit_function_value,
        "function_expression": _visit_function_value,
        "generator_function": _visit_function_value,
        "function_type": visit_anonymous,
        "construct_signature": visit_anonymous,
        "call_signature": visit_anonymous,
        "class_declaration": _visit_class,
        "abstract_class_declaration": _visit_class,
        "class": _visit_class,
        "interface_declaration": defines_type("interface", _CLASS_BASES),
        "type_alias_declaration": defines_type("type", body="value"),
        "enum_declaration": defines_type("class"),
        "enum_body": _visit_enum_body,
        "internal_module": _visit_module,
        "module": _visit_module,
        "field_definition": _visit_field,
        "public_field_definition": _visit_field,
        "property_signature": define_member,
        "pair": _visit_pair,
        "shorthand_property_identifier": _visit_shorthand,
        "assignment_expression": _visit_assignment,
        "formal_parameters": binds_children,
        "required_parameter": _visit_parameter,
        "optional_parameter": _visit_parameter,
        "catch_clause": binds("parameter"),
        "for_in_statement": binds("left"),
        "type_parameter": _visit_type_parameter,
        "index_signature": binds("name"),
        "call_expression": _visit_call,
        "new_expression": calls("constructor"),
        "jsx_opening_element": _visit_jsx,
        "jsx_self_closing_element": _visit_jsx,
        "decorator": visit_attribute,
        "member_expression": visit_name,
        "nested_identifier": visit_name,
        "nested_type_identifier": visit_name,
        "generic_type": visit_name,
        "identifier": Walk.refer_plain,
        "type_identifier": Walk.refer_plain,
    },
    names=frozenset(
        {
            *("identifier", "property_identifier", "private_property_identifier", "type_identifier"),
            *("this", "super", "shorthand_property_identifier"),
        }
    ),
    links={
        "member_expression": Link("object", "property"),
        "nested_identifier": Link("object", "property"),
        "nested_type_identifier": Link("module", "name"),
    },
    wrappers={"non_null_expression": "", "generic_type": "name", "instantiation_expression": ""},
    patterns={
        "array_pattern": (),
        "object_pattern": (),
        "rest_pattern": (),
        "object_assignment_pattern": ("right",),
        "assignment_pattern": ("right",),
        "pair_pattern": ("key",),
    },
    bound=frozenset({"identifier", "shorthand_property_identifier_pattern"}),
    attributes=frozenset({"decorator"}),
    arguments=frozenset({"arguments", "type_arguments"}),
    skipped=frozenset(
        {
            "jsx_closing_element",
            *("string", "number", "regex", "property_identifier", "predefined_type", "jsx_text", "hash_bang_line"),
            *("true", "false", "null", "undefined", "literal_type", "statement_identifier", "empty_statement"),
            *("accessibility_modifier", "optional_chain"),
        }
    ),
)
