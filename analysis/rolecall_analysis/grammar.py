"""The names of tree-sitter's Python grammar, as the numbers its nodes carry: comparing numbers is fastest."""

from __future__ import annotations

import tree_sitter_python
from tree_sitter import Language, Node

PYTHON = Language(tree_sitter_python.language())


def kind_id(name: str) -> int:
    """Return the number of a kind of node."""
    found = PYTHON.id_for_node_kind(name, True)
    assert found is not None, name
    return found


def field_id(name: str) -> int:
    """Return the number of a field."""
    found = PYTHON.field_id_for_name(name)
    assert found is not None, name
    return found


def child_of(node: Node, field: str) -> Node | None:
    """Return the child of *node* that the grammar calls *field*."""
    return node.child_by_field_id(_FIELDS[field])


_FIELDS = {name: field_id(name) for name in map(PYTHON.field_name_for_id, range(1, PYTHON.field_count + 1)) if name}

ARGUMENTS = kind_id("argument_list")
ATTRIBUTE = kind_id("attribute")
CALL = kind_id("call")
CLASS = kind_id("class_definition")
COMMENT = kind_id("comment")
CONSTRAINED_TYPE = kind_id("constrained_type")
DECORATED = kind_id("decorated_definition")
DECORATOR = kind_id("decorator")
DOTTED = kind_id("dotted_name")
ERROR = 0xFFFF
"""The node that stands for source which the parser did not understand."""
EXPRESSION = kind_id("expression_statement")
FOR_IN = kind_id("for_in_clause")
FUNCTION = kind_id("function_definition")
GENERIC_TYPE = kind_id("generic_type")
GLOBAL = kind_id("global_statement")
IDENTIFIER = kind_id("identifier")
INTERPOLATION = kind_id("interpolation")
LAMBDA_PARAMETERS = kind_id("lambda_parameters")
STRING = kind_id("string")
STRING_END = kind_id("string_end")
STRING_START = kind_id("string_start")
SUBSCRIPT = kind_id("subscript")
TYPE = kind_id("type")
TYPED_PARAMETER = kind_id("typed_parameter")
WILDCARD = kind_id("wildcard_import")
TARGET_LISTS = frozenset(
    {
        kind_id("as_pattern_target"),
        kind_id("dictionary_splat_pattern"),
        kind_id("list"),
        kind_id("list_pattern"),
        kind_id("list_splat"),
        kind_id("list_splat_pattern"),
        kind_id("parenthesized_expression"),
        kind_id("pattern_list"),
        kind_id("tuple"),
        kind_id("tuple_pattern"),
        kind_id("type"),
    }
)
"""Nodes around the names that an assignment, a loop or a parameter binds."""
