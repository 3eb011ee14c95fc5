"""More numbers of the grammar: the kinds of nodes that only the flow of values tells apart."""

from __future__ import annotations

from rolecall_analysis.grammar import kind_id

ALIASED = kind_id("aliased_import")
ASSIGNMENT = kind_id("assignment")
AS_PATTERN = kind_id("as_pattern")
BLOCK = kind_id("block")
BOOLEAN = kind_id("boolean_operator")
CASE_PATTERN = kind_id("case_pattern")
DICTIONARY_SPLAT = frozenset({kind_id("dictionary_splat"), kind_id("dictionary_splat_pattern")})
ESCAPE = kind_id("escape_sequence")
FOR_IN = kind_id("for_in_clause")
GENERATOR = kind_id("generator_expression")
GENERIC_TYPE = kind_id("generic_type")
IF_CLAUSE = kind_id("if_clause")
INTEGER = kind_id("integer")
KEYWORD_ARGUMENT = kind_id("keyword_argument")
KEYWORD_ONLY = kind_id("keyword_separator")
LIST_SPLAT = frozenset({kind_id("list_splat"), kind_id("list_splat_pattern"), kind_id("splat_pattern")})
PAIR = kind_id("pair")
PARENTHESIZED = kind_id("parenthesized_expression")
POSITIONAL_ONLY = kind_id("positional_separator")
SEQUENCES = {
    kind_id("tuple"): "tuple",
    kind_id("expression_list"): "tuple",
    kind_id("list"): "list",
    kind_id("set"): "set",
    kind_id("pattern_list"): "tuple",
    kind_id("tuple_pattern"): "tuple",
    kind_id("list_pattern"): "list",
}
SLICE = kind_id("slice")
STRING_CONTENT = kind_id("string_content")
TRIVIA = frozenset({kind_id("comment"), kind_id("line_continuation")})
TUPLE = kind_id("tuple")
