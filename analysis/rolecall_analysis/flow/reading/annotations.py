"""Type annotations: which classes they promise."""

from __future__ import annotations

from tree_sitter import Node

from rolecall_analysis.flow.reading.builder import Builder
from rolecall_analysis.flow.reading.dispatch import parsed_text, value
from rolecall_analysis.flow.reading.kinds import GENERIC_TYPE, PARENTHESIZED, TRIVIA
from rolecall_analysis.grammar import ATTRIBUTE, EXPRESSION, IDENTIFIER, STRING, SUBSCRIPT, kind_id

_PARTS = frozenset({kind_id("type"), kind_id("binary_operator"), kind_id("union_type"), PARENTHESIZED, EXPRESSION})
"""Annotations that promise what their parts promise."""
_TRANSPARENT = frozenset({"Optional", "Union", "Annotated", "Final", "ClassVar", "Required", "NotRequired", "ReadOnly"})
_SEQUENCES = frozenset(
    {
        *("list", "List", "Sequence", "MutableSequence", "tuple", "Tuple", "deque", "Deque"),
        *("set", "Set", "frozenset", "FrozenSet", "AbstractSet", "Collection", "Iterable", "Iterator", "Generator"),
        *("AsyncIterable", "AsyncIterator", "AsyncGenerator"),
    }
)
_MAPPINGS = frozenset({"dict", "Dict", "Mapping", "MutableMapping", "defaultdict", "DefaultDict", "OrderedDict"})
_AWAITED = frozenset({"Awaitable", "Coroutine"})


def annotate(builder: Builder, variable: int, node: Node) -> None:
    """Let *variable* have what the type annotation *node* promises."""
    stack = [(node, variable)]
    while stack:
        part, target = stack.pop()
        kind = part.kind_id
        if kind in (IDENTIFIER, ATTRIBUTE):
            held = value(builder, part)
            if held >= 0:
                builder.block.annotations.append((target, held))
        elif kind in (SUBSCRIPT, GENERIC_TYPE):
            stack.extend(_arguments(builder, part, target))
        elif kind == STRING:
            inside = parsed_text(builder, part)
            stack.extend((child, target) for child in (inside.named_children if inside is not None else ()))
        elif kind in _PARTS:
            stack.extend((child, target) for child in part.named_children)


def _arguments(builder: Builder, node: Node, target: int) -> list[tuple[Node, int]]:
    """Return the nodes that are left to read of ``list[X]``, ``Optional[X]`` and the like, each with the variable that
    it promises something of.
    """
    children = [child for child in node.named_children if child.kind_id not in TRIVIA]
    name = builder.text(children[0] if children else node).rpartition(".")[2]
    arguments = children[1:]
    # The arguments of a generic type stand in a node of their own, those of a subscript do not.
    if node.kind_id == GENERIC_TYPE and len(arguments) == 1:
        arguments = arguments[0].named_children
    if name in _TRANSPARENT:
        return [(argument, target) for argument in arguments]
    if name in _AWAITED:
        # Of `Coroutine[Yielded, Sent, Returned]` awaiting gives the last.
        return [(argument, target) for argument in arguments[-1:]]
    if name not in _SEQUENCES and name not in _MAPPINGS:
        # ``type[X]`` promises a class, not an instance of it.
        return [] if name in ("type", "Type") else [(child, target) for child in children[:1]]
    promised, element = builder.variable(), builder.variable()
    builder.block.containers.append((promised, "annotated", ((None, element),)))
    builder.block.copies.append((target, promised))
    if name in _MAPPINGS:
        return [(argument, element) for argument in arguments[1:2]]
    return [(argument, element) for argument in (arguments if name in ("tuple", "Tuple") else arguments[:1])]
