"""From source to what it does with values: ``read_module`` gives the code of a module as flat lists of steps."""

from __future__ import annotations

from tree_sitter import Node

from rolecall_analysis.flow.code import RETURNED, Block, FlowScope, ModuleCode
from rolecall_analysis.flow.reading import calls, definitions, expressions, imports, patterns, statements
from rolecall_analysis.flow.reading.blocks import STATEMENTS, read_statements
from rolecall_analysis.flow.reading.builder import Builder, Cursor, start_module
from rolecall_analysis.flow.reading.dispatch import HANDLERS, followed, read_later
from rolecall_analysis.flow.reading.parameters import block_of
from rolecall_analysis.syntax import parse

HANDLERS.update(calls.RULES | expressions.RULES)
STATEMENTS.update(definitions.RULES | imports.RULES | patterns.RULES | statements.RULES)


def read_module(path: str, text: str) -> ModuleCode:
    """Read what the file at *path* does with values. Broken source gives what can be read."""
    syntax = parse(text)
    builder = start_module(syntax.source)
    if syntax.tree is not None:
        _read_top(builder, syntax.tree.root_node)
        while builder.bodies or builder.later:
            while builder.bodies:
                node, scope = builder.bodies.popleft()
                _read_body(builder, node, scope)
            read_later(builder)
    builder.name_everything()
    return ModuleCode(path, syntax.source, builder.scopes, builder.stars, builder.exported)


def _read_top(builder: Builder, root: Node) -> None:
    for statement in root.named_children:
        builder.block = Block()
        builder.scope.blocks.append(builder.block)
        read_statements(builder, [statement])


def _read_body(builder: Builder, node: Node, scope: FlowScope) -> None:
    builder.move_to(Cursor(scope, block_of(scope), {}, {}, {}))
    builder.depth = 0
    if scope.kind == "lambda":
        builder.copy(RETURNED, followed(builder, node))
    elif scope.kind == "class":
        _read_top(builder, node)
    else:
        read_statements(builder, [node])
