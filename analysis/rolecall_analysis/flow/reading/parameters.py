"""The parameters of functions and lambdas."""

from __future__ import annotations

from tree_sitter import Node

from rolecall_analysis.flow.code import NOTHING, Block, FlowScope, ParameterKind, ParameterVariable
from rolecall_analysis.flow.reading.annotations import annotate
from rolecall_analysis.flow.reading.builder import Builder, Cursor
from rolecall_analysis.flow.reading.dispatch import followed
from rolecall_analysis.flow.reading.kinds import (
    DICTIONARY_SPLAT,
    KEYWORD_ONLY,
    LIST_SPLAT,
    POSITIONAL_ONLY,
    TRIVIA,
)
from rolecall_analysis.grammar import IDENTIFIER, TYPED_PARAMETER, child_of


def read_parameters(builder: Builder, scope: FlowScope, nodes: list[Node]) -> tuple[tuple[int, int], ...]:
    """Declare a function's parameters; return ((parameter, default), ...), the defaults as variables around it."""
    defaults: list[tuple[int, int]] = []
    kind: ParameterKind = "positional"
    for node in nodes:
        if node.kind_id in TRIVIA:
            continue
        if node.kind_id == KEYWORD_ONLY:
            kind = "keyword only"
            continue
        if node.kind_id == POSITIONAL_ONLY:
            _close_positional_only(scope)
            continue
        name = child_of(node, "name")
        if name is None:
            name = node.named_children[0] if node.kind_id == TYPED_PARAMETER and node.named_children else node
        own: ParameterKind = kind
        if name.kind_id in LIST_SPLAT:
            own, kind = "rest", "keyword only"
        elif name.kind_id in DICTIONARY_SPLAT:
            own = "keywords"
        default = child_of(node, "value")
        variable = _declare(builder, scope, name, own, has_default=default is not None)
        if default is not None and (held := builder.held(followed(builder, default))) != NOTHING:
            defaults.append((variable, held))
        annotation = child_of(node, "type")
        # The annotation of `*rest` speaks of each element, not of the tuple.
        if annotation is not None and own in ("positional", "keyword only"):
            annotate_inside(builder, scope, variable, annotation)
    return tuple(defaults)


def annotate_inside(builder: Builder, scope: FlowScope, variable: int, annotation: Node) -> None:
    """Let a variable of *scope* have what *annotation* promises; names are read in *scope*, not around it."""
    around = builder.place()
    builder.move_to(Cursor(scope, block_of(scope), builder.hidden, {}, {}))
    annotate(builder, variable, annotation)
    builder.move_to(around)


def block_of(scope: FlowScope) -> Block:
    """Return the first block of *scope*."""
    if not scope.blocks:
        scope.blocks.append(Block())
    return scope.blocks[0]


def is_first_parameter(scope: FlowScope, variable: int) -> bool:
    """Return whether *variable* is a method's ``self`` or ``cls``, however it is called."""
    return bool(
        scope.parameters
        and scope.parent is not None
        and scope.parent.kind == "class"
        and scope.parameters[0].variable == variable
        and not scope.is_static
    )


def _close_positional_only(scope: FlowScope) -> None:
    scope.parameters = [
        ParameterVariable(known.name, known.variable, "positional only", known.has_default)
        for known in scope.parameters
    ]


def _declare(builder: Builder, scope: FlowScope, node: Node, kind: ParameterKind, *, has_default: bool) -> int:
    while node.kind_id != IDENTIFIER and node.named_child_count:
        node = node.named_children[0]
    name = builder.text(node)
    variable = scope.names.get(name)
    if variable is None:
        variable = scope.names[name] = scope.n_variables
        scope.n_variables += 1
    scope.bound.add(name)
    scope.parameters.append(ParameterVariable(name, variable, kind, has_default))
    return variable
