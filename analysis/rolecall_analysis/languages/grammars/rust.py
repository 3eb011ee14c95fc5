"""Rust."""

from __future__ import annotations

from tree_sitter import Node

from rolecall_analysis.languages.grammar import GrammarReading, Link
from rolecall_analysis.languages.handlers import (
    binds,
    binds_children,
    calls,
    define_holder,
    define_member,
    define_variable,
    defines_function,
    defines_type,
    visit_anonymous,
    visit_children,
    visit_name,
)
from rolecall_analysis.languages.walk import Inside, Step, Steps, Walk, WalkScope

_SEPARATORS = frozenset({".", "::"})


def _visit_use(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    argument = node.child_by_field_name("argument")
    stack = [(argument, "")] if argument is not None else []
    while stack:
        part, before = stack.pop()
        if part.type in {"use_list", "scoped_use_list"}:
            path, inner = part.child_by_field_name("path"), part.child_by_field_name("list") or part
            prefix = _joined(before, walk.text(path)) if path is not None else before
            stack.extend((child, prefix) for child in reversed(inner.named_children))
        elif part.type == "use_as_clause":
            path, alias = part.child_by_field_name("path"), part.child_by_field_name("alias")
            if path is not None:
                _note_use(walk, node, path, before, walk.text(alias) if alias else None, scope=scope)
        elif part.type == "use_wildcard":
            inner_path = part.named_children[0] if part.named_children else None
            module = _joined(before, walk.text(inner_path)) if inner_path is not None else before
            walk.note_import(node, part, scope, module, "*")
        else:
            _note_use(walk, node, part, before, None, scope=scope)
    return ()


def _note_use(walk: Walk, statement: Node, path: Node, before: str, alias: str | None, *, scope: WalkScope) -> None:
    whole = _joined(before, "".join(walk.text(path).split()))
    # `use shop::price::{self}` imports the module itself.
    module, _, name = whole.removesuffix("::self").rpartition("::")
    named = path.child_by_field_name("name") or path
    if module:
        walk.note_import(statement, named, scope, module, name, alias=alias)
    else:
        walk.note_import(statement, named, scope, name, None, alias=alias or name)


def _joined(before: str, path: str) -> str:
    return f"{before}::{path}" if before else path


def _visit_extern_crate(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    name, alias = node.child_by_field_name("name"), node.child_by_field_name("alias")
    if name is not None:
        walk.note_import(node, name, scope, walk.text(name), None, alias=walk.text(alias or name))
    return ()


def _visit_module(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    if name is None:
        return visit_children(walk, node, scope)
    if body is None:
        # `mod price;` says that the module stands in a file of its own.
        walk.note_import(node, name, scope, f"self::{walk.text(name)}", None, alias=walk.text(name))
        return ()
    return [(body, walk.define("module", name, node, scope, body=body))]


def _visit_impl(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    """Visit the names in the block as members of the type, wherever the type is defined."""
    named, trait, body = (node.child_by_field_name(field) for field in ("type", "trait", "body"))
    types = walk.names_under(named, walk.grammar.reading.arguments)
    owner = types[0] if types else ""
    # These paths begin at a place of their own, not in the module around.
    if owner and not owner.startswith(("crate.", "super.")):
        owner = scope.qualified(owner)
    if owner and trait is not None:
        walk.more_bases.setdefault(owner, []).extend(walk.names_under(trait, walk.grammar.reading.arguments)[:1])
    inside = WalkScope(owner, Inside.TYPE, owner) if owner else scope
    return [
        (child, inside if child == body or child.type == "type_parameters" else scope) for child in node.named_children
    ]


def _visit_macro(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    name = node.child_by_field_name("name")
    rule = next((child for child in node.named_children if child.type == "macro_rule"), None)
    if name is not None:
        walk.define("macro", name, node, scope, body=rule)
    return ()


def _visit_tokens(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    """Visit what a macro is called with, which is not parsed: names and calls are told by how they look."""
    steps: list[Step] = []
    parts: list[Node] = []
    follows_separator = False
    for child in node.children:
        kind = child.type
        if kind in {"identifier", "self", "crate", "super"} and (not parts or follows_separator):
            parts.append(child)
        elif kind in _SEPARATORS and parts:
            follows_separator = True
            continue
        else:
            steps.extend(_token_steps(walk, parts, child, scope))
            parts = [child] if kind in {"identifier", "self", "crate", "super"} else []
        follows_separator = False
    steps.extend(_token_steps(walk, parts, None, scope))
    return steps


def _token_steps(walk: Walk, parts: list[Node], after: Node | None, scope: WalkScope) -> Steps:
    is_tree = after is not None and after.type == "token_tree"
    if parts and after is not None and is_tree and after.children and after.children[0].type == "(":
        walk.note_call(parts, parts[0], after, scope)
    elif parts:
        walk.refer(parts, True, scope)
    return [(after, scope)] if after is not None and after.is_named and after.type not in _TOKENS else ()


_TOKENS = frozenset({"identifier", "self", "crate", "super"})


def _visit_attribute(walk: Walk, node: Node, _scope: WalkScope) -> Steps:
    walk.note_above(node, is_attribute=True)
    return ()


READING = GrammarReading(
    handlers={
        "use_declaration": _visit_use,
        "extern_crate_declaration": _visit_extern_crate,
        "mod_item": _visit_module,
        "struct_item": defines_type("class"),
        "union_item": defines_type("class"),
        "enum_item": defines_type("class"),
        "trait_item": defines_type("interface", ("trait_bounds",)),
        "impl_item": _visit_impl,
        "type_item": defines_type("type", body="type"),
        "associated_type": defines_type("type", body="type"),
        "function_item": defines_function(),
        "function_signature_item": defines_function(),
        "const_item": define_variable,
        "static_item": define_variable,
        "enum_variant": define_holder,
        "field_declaration": define_member,
        "macro_definition": _visit_macro,
        "macro_invocation": calls("macro"),
        "token_tree": _visit_tokens,
        "attribute_item": _visit_attribute,
        "let_declaration": binds("pattern"),
        "let_condition": binds("pattern"),
        "parameter": binds("pattern"),
        "closure_parameters": binds_children,
        "closure_expression": visit_anonymous,
        "match_arm": binds("pattern"),
        "for_expression": binds("pattern"),
        "type_parameter": binds("name"),
        "const_parameter": binds("name"),
        "call_expression": calls(),
        "struct_expression": calls("name"),
        "field_expression": visit_name,
        "scoped_identifier": visit_name,
        "scoped_type_identifier": visit_name,
        "generic_function": visit_name,
        "generic_type": visit_name,
        "identifier": Walk.refer_plain,
        "type_identifier": Walk.refer_plain,
    },
    names=frozenset(
        {
            *("identifier", "type_identifier", "field_identifier", "shorthand_field_identifier"),
            *("self", "super", "crate", "metavariable"),
        }
    ),
    links={
        "field_expression": Link("value", "field"),
        "scoped_identifier": Link("path", "name"),
        "scoped_type_identifier": Link("path", "name"),
    },
    wrappers={"generic_type": "type", "generic_function": "function", "generic_type_with_turbofish": "type"},
    patterns={
        "tuple_pattern": (),
        "tuple_struct_pattern": ("type",),
        "struct_pattern": ("type",),
        "field_pattern": (),
        "slice_pattern": (),
        "ref_pattern": (),
        "reference_pattern": (),
        "mut_pattern": (),
        "or_pattern": (),
        "captured_pattern": (),
        "match_pattern": ("condition",),
    },
    bound=frozenset({"identifier", "shorthand_field_identifier"}),
    capitals_are_read=True,
    comments=frozenset({"line_comment", "block_comment"}),
    arguments=frozenset({"type_arguments"}),
    skipped=frozenset(
        {
            *("string_literal", "raw_string_literal", "char_literal", "integer_literal", "float_literal"),
            *("boolean_literal", "lifetime", "primitive_type", "visibility_modifier", "mutable_specifier"),
            *("inner_attribute_item", "label", "field_identifier", "empty_statement"),
        }
    ),
)
