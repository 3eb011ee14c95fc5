"""Calls, attributes and operators, as they are written."""

from __future__ import annotations

from tree_sitter import Node

from rolecall_analysis.flow.code import LITERAL, NO_ARGUMENTS, NOTHING, Arguments, CallKind, InvokeStep, Receiver
from rolecall_analysis.flow.reading.builder import Builder
from rolecall_analysis.flow.reading.dispatch import Handler, parsed_text, parts_only, plain_text, value
from rolecall_analysis.flow.reading.kinds import DICTIONARY_SPLAT, GENERATOR, KEYWORD_ARGUMENT, LIST_SPLAT, TRIVIA
from rolecall_analysis.flow.reading.parameters import is_first_parameter
from rolecall_analysis.grammar import ATTRIBUTE, CALL, IDENTIFIER, STRING, child_of, kind_id

OPERATORS = {
    "+": "__add__",
    "-": "__sub__",
    "*": "__mul__",
    "/": "__truediv__",
    "//": "__floordiv__",
    "%": "__mod__",
    "**": "__pow__",
    "@": "__matmul__",
    "&": "__and__",
    "|": "__or__",
    "^": "__xor__",
    "<<": "__lshift__",
    ">>": "__rshift__",
}
"""The method of the left operand that each operator runs."""


def _read_call(builder: Builder, node: Node) -> int:
    function = child_of(node, "function")
    if function is None:
        return parts_only(builder, node)
    callee, receiver, receiver_variable = _read_callee(builder, function)
    given = child_of(node, "arguments")
    result = builder.variable()
    arguments = _read_arguments(builder, given) if given is not None else NO_ARGUMENTS
    name = _written_name(builder, function)
    builder.block.calls.append(
        InvokeStep(result, callee, arguments, "call", name, receiver, receiver_variable, node.start_byte, node.end_byte)
    )
    if name in ("eval", "exec") and given is not None:
        _read_evaluated(builder, given)
    return result


def _read_arguments(builder: Builder, node: Node) -> Arguments:
    if node.kind_id == GENERATOR:
        return Arguments((value(builder, node),))
    positional: list[int] = []
    starred: list[int] = []
    keywords: list[tuple[str, int]] = []
    double_starred: list[int] = []
    texts: list[str | None] = []
    for argument in node.named_children:
        kind = argument.kind_id
        if kind == KEYWORD_ARGUMENT:
            name, held = child_of(argument, "name"), child_of(argument, "value")
            if name is not None and held is not None:
                keywords.append((builder.text(name), builder.held(value(builder, held))))
        elif kind in LIST_SPLAT or kind in DICTIONARY_SPLAT:
            spread = starred if kind in LIST_SPLAT else double_starred
            spread.extend(value(builder, child) for child in argument.named_children)
        elif kind not in TRIVIA:
            texts.append(plain_text(builder, argument))
            positional.append(builder.held(value(builder, argument)))
    return Arguments(tuple(positional), tuple(starred), tuple(keywords), tuple(double_starred), tuple(texts))


def _read_evaluated(builder: Builder, arguments: Node) -> None:
    """``eval`` of a literal: what the text calls is called here."""
    for argument in arguments.named_children[:1]:
        evaluated = parsed_text(builder, argument) if argument.kind_id == STRING else None
        if evaluated is not None:
            parts_only(builder, evaluated)


def call_unwritten(builder: Builder, node: Node, callee: int, arguments: Arguments, kind: CallKind) -> int:
    """Note a call of the expression *node* without parentheses, such as a decorator or the ``raise`` of a class; return
    its result.
    """
    result = builder.variable()
    receiver: Receiver = "name" if node.kind_id == IDENTIFIER else "value"
    name = _written_name(builder, node)
    builder.block.calls.append(
        InvokeStep(result, callee, arguments, kind, name, receiver, NOTHING, node.start_byte, node.end_byte)
    )
    return result


def _written_name(builder: Builder, function: Node) -> str:
    if function.kind_id == IDENTIFIER:
        return builder.text(function)
    name = child_of(function, "attribute") if function.kind_id == ATTRIBUTE else None
    return builder.text(name) if name is not None else ""


def _read_callee(builder: Builder, function: Node) -> tuple[int, Receiver, int]:
    if function.kind_id != ATTRIBUTE:
        return value(builder, function), "name" if function.kind_id == IDENTIFIER else "value", NOTHING
    owner_node = child_of(function, "object")
    if owner_node is None:
        return NOTHING, "value", NOTHING
    owner = value(builder, owner_node)
    receiver: Receiver = "value"
    if is_first_parameter(builder.scope, owner):
        receiver = "self"
    elif owner_node.kind_id == CALL and (inner := child_of(owner_node, "function")) and builder.text(inner) == "super":
        receiver = "super"
    return _load(builder, function, owner), receiver, owner


def _read_attribute(builder: Builder, node: Node) -> int:
    owner_node = child_of(node, "object")
    return NOTHING if owner_node is None else _load(builder, node, value(builder, owner_node))


def _load(builder: Builder, node: Node, owner: int) -> int:
    name_node = child_of(node, "attribute")
    if owner == LITERAL or name_node is None:
        return LITERAL
    if owner < 0:
        return NOTHING
    result = builder.variable()
    builder.block.loads.append((result, owner, builder.text(name_node), name_node.start_byte, node.end_byte))
    return result


def _read_binary(builder: Builder, node: Node) -> int:
    left_node, right_node = child_of(node, "left"), child_of(node, "right")
    if left_node is None or right_node is None:
        return parts_only(builder, node)
    left, right = value(builder, left_node), value(builder, right_node)
    return operate(builder, node, left, right)


def operate(builder: Builder, node: Node, left: int, right: int) -> int:
    """Note the call of a binary operator, which may be a method of the left operand, and return its result."""
    operator = child_of(node, "operator")
    method = OPERATORS.get(builder.text(operator).removesuffix("=") if operator is not None else "")
    if left < 0 or method is None:
        return LITERAL
    callee, result = builder.variable(), builder.variable()
    start, end = node.start_byte, node.end_byte
    builder.block.loads.append((callee, left, method, start, end))
    given = Arguments((builder.held(right),))
    builder.block.calls.append(InvokeStep(result, callee, given, "operator", method, "value", left, start, end))
    return result


RULES: dict[int, Handler] = {
    ATTRIBUTE: _read_attribute,
    CALL: _read_call,
    kind_id("binary_operator"): _read_binary,
}
