"""SQL and shell commands that are put together from values."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from rolecall_analysis.faults.possible import PossibleFault
from rolecall_analysis.faults.reading import ParsedFile, Reader, arguments_of
from rolecall_analysis.grammar import ATTRIBUTE, CALL, IDENTIFIER, INTERPOLATION, STRING, child_of, kind_id
from rolecall_analysis.names import text_of
from rolecall_analysis.unbound.conditions import without_parentheses
from rolecall_analysis.unbound.flowgraph import Act

_EXECUTES = frozenset({"execute", "executemany", "executescript", "raw"})
_SHELLS = frozenset({"os.popen", "os.system", "subprocess.getoutput", "subprocess.getstatusoutput"})
_PROCESSES = frozenset({"Popen", "call", "check_call", "check_output", "create_subprocess_shell", "run"})
_SQL = re.compile(r"(?is)^[rbfu]*[\"']+\s*(?:select|insert|update|delete|replace|create|drop|alter|with|pragma)\b")
_BINARY = kind_id("binary_operator")
_QUOTING = frozenset({"int", "float", "len", "quote", "shlex.quote", "shlex.join", "pipes.quote"})


def injections(source: ParsedFile, _reader: Reader) -> Iterator[PossibleFault]:
    """Yield the SQL and the shell commands that are built from something else than constants."""
    bound = _bound_once(source)
    for call in source.of_kind(CALL):
        kind = _kind_of(source, call)
        first = arguments_of(call)[:1] if kind else []
        if not first:
            continue
        written = without_parentheses(first[0])
        if written.kind_id == IDENTIFIER:
            written = bound.get((source.scope(call), source.words(written)), written)
        parts = [part for part in _put_in(source, written) if not _is_harmless(source, part)]
        if parts and (kind == "a shell" or _SQL.match(source.words(_leftmost(written)))):
            names = ", ".join(dict.fromkeys(f"`{source.quoted(part)}`" for part in parts))
            what = "a shell command" if kind == "a shell" else "SQL"
            yield source.fault(
                call,
                f"{names} is put into {what} as text.",
                source.waypoint(written, f"{what} is put together with {names}"),
                source.waypoint(call, "and carried out"),
            )


def _kind_of(source: ParsedFile, call: Node) -> str:
    name = source.callee(call)
    last = name.rpartition(".")[2]
    if name in _SHELLS or last == "create_subprocess_shell":
        return "a shell"
    if last in _PROCESSES and any(source.words(one).replace(" ", "") == "shell=True" for one in arguments_of(call)):
        return "a shell"
    return "a database" if last in _EXECUTES and "." in name else ""


def _bound_once(source: ParsedFile) -> dict[tuple[str, str], Node]:
    """Return the values of the names that get one value in their scope."""
    found: dict[tuple[str, str], Node | None] = {}
    for graph in source.graphs:
        for block in graph.blocks:
            for event in block.events:
                if event.act is Act.BIND:
                    key = graph.scope, event.name
                    # A `finally` is walked for each way out: the same node once more is no second value.
                    found[key] = event.node if key not in found or found[key] == event.node else None
    return {key: without_parentheses(node) for key, node in found.items() if node is not None}


def _leftmost(node: Node) -> Node:
    while node.kind_id in (_BINARY, CALL, ATTRIBUTE):
        part = child_of(node, "left") or child_of(node, "function") or child_of(node, "object")
        if part is None:
            break
        node = part
    return node


def _put_in(source: ParsedFile, node: Node) -> Iterator[Node]:
    """Yield what a text is put together from, besides literals."""
    stack = [node]
    while stack:
        part = without_parentheses(stack.pop())
        if part.kind_id == STRING:
            inner = (child for child in part.named_children if child.kind_id == INTERPOLATION)
            yield from (child.named_children[0] for child in inner if child.named_child_count)
        elif part.type == "concatenated_string":
            stack.extend(reversed(part.named_children))
        elif part.kind_id == _BINARY:
            stack.extend(reversed(_sides(part)))
        elif part.kind_id == CALL and _is_format(source, part):
            yield from (child_of(argument, "value") or argument for argument in arguments_of(part))
        elif part != node:
            yield part


def _sides(node: Node) -> list[Node]:
    """Return the parts of ``a + b`` and of ``text % values``."""
    left, operator, right = (child_of(node, field) for field in ("left", "operator", "right"))
    if left is None or right is None or operator is None or operator.type not in ("+", "%"):
        return []
    if operator.type == "%":
        return [left, *(right.named_children if right.type == "tuple" else [right])]
    return [left, right]


def _is_format(source: ParsedFile, call: Node) -> bool:
    function = child_of(call, "function")
    method = child_of(function, "attribute") if function is not None and function.kind_id == ATTRIBUTE else None
    return method is not None and text_of(source.source, method) == "format"


def _is_harmless(source: ParsedFile, part: Node) -> bool:
    """Return whether a part is a constant, a number, or quoted."""
    part = without_parentheses(part)
    if part.kind_id == CALL:
        return source.callee(part) in _QUOTING
    name = source.name(part).rpartition(".")[2]
    is_constant = bool(name) and name == name.upper()
    return is_constant or part.kind_id in (STRING, kind_id("integer"))
