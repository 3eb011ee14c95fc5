"""C and C++."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tree_sitter import Node

from rolecall_analysis.languages.grammar import GrammarReading, Link
from rolecall_analysis.languages.handlers import (
    calls,
    define_holder,
    defines_type,
    type_steps,
    visit_anonymous,
    visit_children,
    visit_name,
    visit_wrapper,
)
from rolecall_analysis.languages.walk import Inside, Step, Steps, Walk, WalkScope

_NAMES = frozenset(
    {
        *("identifier", "field_identifier", "type_identifier", "qualified_identifier", "operator_name"),
        *("destructor_name", "template_function", "operator_cast"),
    }
)
_AROUND_A_DECLARATOR = frozenset({"parenthesized_declarator", "reference_declarator", "attributed_declarator"})
_TYPE_SPECIFIERS = frozenset({"struct_specifier", "class_specifier", "union_specifier", "enum_specifier"})
_BASES = ("base_class_clause",)
_INCLUDE_GUARD = re.compile(r"\w*_H(PP|XX|H)?_*", re.IGNORECASE)
_ANNOTATION = re.compile(
    rb"^[A-Z][A-Z0-9_]{3,}[ \t]*$"
    rb"|\b[A-Z][A-Z0-9_]*_(?:API|ATTR|EXPORT|EXPLICIT|INLINE|NOINLINE|CONSTEXPR|NOEXCEPT|NODISCARD|DEPRECATED|CONST|PURE)\b"
    rb"(?=[ \t]*[\w;{])",
    re.MULTILINE,
)
"""Macros that annotate a declaration: alone on a line that is not indented, or by the custom of their names. Unexpanded
they make the grammar lose the declaration."""


@dataclass(frozen=True, slots=True)
class _Declared:
    """The name that a declarator gives, and the other nodes in it."""

    name: Node | None
    is_function: bool
    others: tuple[Node, ...]
    """Parameters, sizes, values and types in the declarator."""


def _declared(declarator: Node) -> _Declared:
    others: list[Node] = []
    node, around = declarator, ""
    while node.type not in _NAMES:
        children = node.named_children
        inner = node.child_by_field_name("declarator")
        if inner is None and node.type in _AROUND_A_DECLARATOR and children:
            inner = children[-1]
        if inner is None:
            return _Declared(None, False, (*others, node))
        others.extend(child for child in children if child != inner)
        # Parentheses decide nothing: `int (f)(void)` is a function, `int (*f)(void)` a pointer to one.
        if node.type != "parenthesized_declarator":
            around = node.type
        node = inner
    return _Declared(node, around == "function_declarator" or node.type == "operator_cast", tuple(others))


def _outside(walk: Walk, name: Node, scope: WalkScope) -> tuple[Node, str, WalkScope]:
    """Return the node, the text and the scope of a name that may be qualified: ``Cart::total``."""
    if name.type == "operator_cast":
        text = walk.slice(name.start_byte, (name.child_by_field_name("declarator") or name).start_byte)
        return name, " ".join(text.split()), scope
    if name.type == "template_function":
        name = name.child_by_field_name("name") or name
    qualifiers: list[str] = []
    while name.type == "qualified_identifier":
        qualifier, inner = name.child_by_field_name("scope"), name.child_by_field_name("name")
        if qualifier is not None:
            qualifiers.append(walk.dotted(qualifier))
        if inner is None:
            break
        name = inner
    if not qualifiers:
        return name, walk.text(name), scope
    holder = scope.qualified(".".join(filter(None, qualifiers)))
    return name, walk.text(name), WalkScope(holder, Inside.TYPE, scope.owner)


def _visit_function(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    declarator, body = node.child_by_field_name("declarator"), node.child_by_field_name("body")
    declared = _declared(declarator) if declarator is not None else _Declared(None, False, ())
    if declared.name is None:
        return visit_anonymous(walk, node, scope)
    name, text, outer = _outside(walk, declared.name, scope)
    kind = "method" if outer.inside is Inside.TYPE else "function"
    # A constructor's header ends before the list of what it initializes.
    end = next((child for child in node.named_children if child.type == "field_initializer_list"), body)
    inside = walk.define(kind, name, node, outer, body=end, text=text)
    others = [child for child in node.named_children if child != declarator]
    return [
        (part, inside)
        for part in sorted((*declared.others, *others), key=lambda part: part.start_byte)
        if part.type != "destructor_name"
    ]


def _visit_declaration(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    """Variables, fields and prototypes. In a function a prototype is more likely a variable with arguments."""
    declarators = walk.fields(node, "declarator")
    steps: list[Step] = [(child, scope) for child in node.named_children if child not in declarators]
    for declarator in declarators:
        declared = _declared(declarator)
        if declared.name is None:
            steps.extend((part, scope) for part in declared.others)
            continue
        whole = node if len(declarators) == 1 else declarator
        name, text, outer = _outside(walk, declared.name, scope)
        if declared.is_function and scope.inside is not Inside.CODE:
            kind = "method" if outer.inside is Inside.TYPE else "function"
            inside = walk.define(kind, name, whole, outer, text=text)
            steps.extend((part, inside) for part in declared.others)
        else:
            walk.bind_or_define(name, outer if scope.inside is not Inside.CODE else scope, whole)
            inside = scope if not declared.is_function else scope.code()
            steps.extend((part, inside) for part in declared.others)
    return steps


def _visit_parameter(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    declarator = node.child_by_field_name("declarator")
    steps: list[Step] = [(child, scope) for child in node.named_children if child != declarator]
    if declarator is None:
        return steps
    declared = _declared(declarator)
    if declared.name is not None and declared.name.type == "identifier":
        walk.bind(walk.text(declared.name), scope)
    local = scope.code()
    return [*steps, *((part, local) for part in declared.others)]


def _visit_binding(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    """``auto [a, b] = pair``."""
    for child in node.named_children:
        walk.bind(walk.text(child), scope)
    return ()


def _visit_type_definition(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    """``typedef struct { int n; } cart_t``: a type without a name of its own has that of its first alias."""
    declarators = walk.fields(node, "declarator")
    specifier = next((one for one in walk.fields(node, "type") if one.type in _TYPE_SPECIFIERS), None)
    body = specifier.child_by_field_name("body") if specifier is not None else None
    if specifier is None or body is None:
        steps = [(child, scope) for child in node.named_children if child not in declarators]
        return [*steps, *_define_aliases(walk, node, declarators, scope)]
    name = specifier.child_by_field_name("name")
    if name is None and declarators and declarators[0].type == "type_identifier":
        name = declarators.pop(0)
    if name is None:
        return [(child, scope) for child in node.named_children]
    steps = list(type_steps(walk, specifier, scope, kind="class", name=name, body=body, whole=node))
    aliases = [one for one in declarators if walk.text(one) != walk.text(name)]
    return [*steps, *_define_aliases(walk, None, aliases, scope)]


def _define_aliases(walk: Walk, statement: Node | None, declarators: list[Node], scope: WalkScope) -> Steps:
    steps: list[Step] = []
    for declarator in declarators:
        declared = _declared(declarator)
        if declared.name is not None:
            walk.define("type", declared.name, statement or declarator, scope)
        steps.extend((part, scope.code()) for part in declared.others)
    return steps


def _visit_type(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    """Define a class, struct, union or enumeration; without a body it is only mentioned."""
    name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    if body is None:
        return visit_children(walk, node, scope)
    if name is None:
        return [(child, scope) for child in node.named_children]
    if name.type in {"qualified_identifier", "template_type"}:
        if name.type == "template_type":
            name = name.child_by_field_name("name") or name
        name, _, scope = _outside(walk, name, scope)
    return type_steps(walk, node, scope, kind="class", name=name, body=body, bases=_BASES)


def _visit_namespace(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    if body is None:
        return ()
    if name is None:
        # What an anonymous namespace holds is known by its bare name in the scope around it.
        return [(body, scope)]
    parts = name.named_children if name.type == "nested_namespace_specifier" else [name]
    *outer, last = parts or [name]
    holder = scope.qualified(".".join(map(walk.text, outer))) if outer else scope.name
    return [(body, walk.define("module", last, node, WalkScope(holder, Inside.FILE, scope.owner), body=body))]


def _visit_include(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    path = node.child_by_field_name("path")
    if path is not None:
        walk.note_import(node, path, scope, walk.text(path).strip('"'), "*")
    return ()


def _visit_macro(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    """Define a macro, whose expansion is not parsed; leave out a guard against double inclusion."""
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    if name is not None and (value is not None or not _INCLUDE_GUARD.fullmatch(walk.text(name))):
        is_short = value is None or value.end_byte - value.start_byte <= 80
        # A macro belongs to no namespace and no class, wherever it is defined.
        walk.define("macro", name, node, WalkScope("", Inside.FILE, scope.owner), body=None if is_short else value)
    return ()


def _visit_friend(_walk: Walk, node: Node, scope: WalkScope) -> Steps:
    # A friend is no member of the class that names it.
    return [(child, scope.code()) for child in node.named_children]


READING = GrammarReading(
    handlers={
        "preproc_include": _visit_include,
        "preproc_def": _visit_macro,
        "preproc_function_def": _visit_macro,
        "function_definition": _visit_function,
        "inline_method_definition": _visit_function,
        "declaration": _visit_declaration,
        "field_declaration": _visit_declaration,
        "parameter_declaration": _visit_parameter,
        "optional_parameter_declaration": _visit_parameter,
        "variadic_parameter_declaration": _visit_parameter,
        "for_range_loop": _visit_parameter,
        "structured_binding_declarator": _visit_binding,
        "type_definition": _visit_type_definition,
        "struct_specifier": _visit_type,
        "class_specifier": _visit_type,
        "union_specifier": _visit_type,
        "enum_specifier": _visit_type,
        "enumerator": define_holder,
        "namespace_definition": _visit_namespace,
        "alias_declaration": defines_type("type", body="type"),
        "concept_definition": defines_type("type", body=""),
        "template_declaration": visit_wrapper,
        "friend_declaration": _visit_friend,
        "lambda_expression": visit_anonymous,
        "call_expression": calls(),
        "new_expression": calls("type"),
        "compound_literal_expression": calls("type"),
        "field_expression": visit_name,
        "qualified_identifier": visit_name,
        "template_type": visit_name,
        "template_function": visit_name,
        "identifier": Walk.refer_plain,
        "type_identifier": Walk.refer_plain,
        "namespace_identifier": Walk.refer_plain,
    },
    names=frozenset(
        {
            *("identifier", "field_identifier", "type_identifier", "namespace_identifier", "this"),
            *("operator_name", "destructor_name"),
        }
    ),
    links={"field_expression": Link("argument", "field")},
    compounds=frozenset({"qualified_identifier", "dependent_name"}),
    wrappers={"template_type": "name", "template_function": "name", "template_method": "name"},
    blanked=_ANNOTATION,
    arguments=frozenset({"template_argument_list", "access_specifier"}),
    skipped=frozenset(
        {
            "type_parameter_declaration",
            "namespace_alias_definition",
            *("string_literal", "number_literal", "char_literal", "raw_string_literal", "concatenated_string"),
            *("primitive_type", "sized_type_specifier", "storage_class_specifier", "type_qualifier", "true", "false"),
            *("null", "nullptr", "statement_identifier", "preproc_arg", "field_designator", "access_specifier"),
            *("attribute_declaration", "attribute_specifier", "preproc_call", "field_identifier"),
        }
    ),
)
