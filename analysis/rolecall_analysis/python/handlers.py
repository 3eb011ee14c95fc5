"""A table of how each node of the grammar is read."""

from __future__ import annotations

from tree_sitter import Node

from rolecall_analysis.grammar import ERROR, PYTHON, kind_id
from rolecall_analysis.python.bindings import (
    read_as,
    read_assignment,
    read_case_pattern,
    read_keyword_pattern,
    read_loop,
    read_rebinding,
    read_splat,
    read_type_alias,
)
from rolecall_analysis.python.definitions import read_decorated, read_definition
from rolecall_analysis.python.expressions import (
    read_assignment_expression,
    read_attribute,
    read_call,
    read_comprehension,
    read_dotted,
    read_generic,
    read_identifier,
    read_lambda,
    read_last,
    read_string,
    read_type,
)
from rolecall_analysis.python.imports import read_if, read_import, read_import_from
from rolecall_analysis.python.reading import Handler, ModuleReading
from rolecall_analysis.python.region import Region

_BY_NAME: dict[str, Handler] = {
    "as_pattern": read_as,
    "assignment": read_assignment,
    "attribute": read_attribute,
    "call": read_call,
    "case_pattern": read_case_pattern,
    "class_definition": read_definition,
    "decorated_definition": read_decorated,
    "dictionary_comprehension": read_comprehension,
    "dotted_name": read_dotted,
    "elif_clause": read_if,
    "for_in_clause": read_loop,
    "for_statement": read_loop,
    "function_definition": read_definition,
    "future_import_statement": read_import_from,
    "generator_expression": read_comprehension,
    "generic_type": read_generic,
    "global_statement": read_rebinding,
    "identifier": read_identifier,
    "if_statement": read_if,
    "import_from_statement": read_import_from,
    "import_statement": read_import,
    "keyword_argument": read_last,
    "keyword_pattern": read_keyword_pattern,
    "lambda": read_lambda,
    "list_comprehension": read_comprehension,
    "named_expression": read_assignment_expression,
    "nonlocal_statement": read_rebinding,
    "set_comprehension": read_comprehension,
    "splat_pattern": read_splat,
    "string": read_string,
    "type": read_type,
    "type_alias_statement": read_type_alias,
}

_LEAVES = ("comment", "ellipsis", "escape_sequence", "false", "float", "integer", "none", "string_content", "true")


def skip(_reading: ModuleReading, _region: Region, _node: Node) -> None:
    """The handler of nodes in which there is nothing to read."""


# Keywords and signs are nodes too, which the grammar does not name: nothing is in them.
HANDLERS: dict[int, Handler | None] = {
    **{kind: None if PYTHON.node_kind_is_named(kind) else skip for kind in range(PYTHON.node_kind_count)},
    **dict.fromkeys(map(kind_id, _LEAVES), skip),
    **{kind_id(name): handler for name, handler in _BY_NAME.items()},
    ERROR: None,
}
"""By the number of the kind; None: the children of the node are read."""
