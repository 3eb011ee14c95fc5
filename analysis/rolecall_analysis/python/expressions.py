"""Names, calls, strings and what is evaluated in a scope of its own."""

from __future__ import annotations

import re

from tree_sitter import Node

from rolecall_analysis.grammar import (
    ARGUMENTS,
    ATTRIBUTE,
    CALL,
    FOR_IN,
    IDENTIFIER,
    INTERPOLATION,
    LAMBDA_PARAMETERS,
    STRING,
)
from rolecall_analysis.python.bindings import bind_parameters, bind_targets
from rolecall_analysis.python.reading import ModuleReading
from rolecall_analysis.python.region import Region

MAX_PLAIN_LENGTH = 200
"""Longer chains are read part by part: cutting a chain of calls at each of its calls would take quadratic time."""

_CONSTANTS = frozenset({"True", "False", "None"})
_QUOTES = frozenset("\"'")
# From \x80 on stand the bytes of wide characters, any of which may be letters.
_NAME = r"[A-Za-z_\x80-\xff][\w\x80-\xff]*"
_DOTTED_NAME = re.compile(rf"{_NAME}(?:\.{_NAME})*")
_PROSE = re.compile(r"\w\s+\w")
_TYPE_IN_QUOTES = re.compile(r"""(["']|\"\"\"|\'\'\')[\w\x80-\xff.,|\[\]\s]+\1""")


def read_identifier(reading: ModuleReading, region: Region, node: Node) -> None:
    """A name that is read."""
    start = node.start_byte
    region.starts[reading.text[start : node.end_byte]].append(start)


def read_attribute(reading: ModuleReading, region: Region, node: Node) -> str:
    """Note a dotted chain of names, perhaps on another expression, and return it: ``a.total``, ``?.total``; empty if
    there is none.
    """
    start, end = node.start_byte, node.end_byte
    if end - start <= MAX_PLAIN_LENGTH:
        name = reading.text[start:end]
        # One call in C: nothing but names and dots, thus no gap, no comment and no other expression between them.
        is_plain = name.replace(".", "_").isidentifier()
        # Only names with these letters can be a constant (`True`, `False`, `None`); few need the closer look.
        if is_plain and ((name[0] not in "TFN" and not reading.is_broken) or _is_name(name)):
            region.starts[name].append(start)
            return name
    return _read_parts(reading, region, node)


def _is_name(chain: str) -> bool:
    """Return whether a chain of letters and dots has all its parts, and does not begin with a constant."""
    parts = chain.split(".")
    return all(parts) and parts[0] not in _CONSTANTS


def _read_parts(reading: ModuleReading, region: Region, node: Node) -> str:
    parts: list[Node] = []
    while node.kind_id == ATTRIBUTE:
        children = node.children
        if children[-1].kind_id != IDENTIFIER or children[-1].is_missing:
            break
        parts.append(children[-1])
        node = children[0]
    if not parts:
        region.push(node.named_children)
        return ""
    parts.append(node)
    names = list(map(reading.cut, parts))
    if node.kind_id != IDENTIFIER:
        region.stack.append(node)
        names[-1] = "super()" if _is_super(reading, node) else "?"
    name = ".".join(reversed(names))
    region.add_spread(name, parts[::-1])
    return name


def _is_super(reading: ModuleReading, node: Node) -> bool:
    if node.kind_id != CALL:
        return False
    function = node.children[0]
    return function.kind_id == IDENTIFIER and reading.cut(function) == "super"


def read_call(reading: ModuleReading, region: Region, node: Node) -> None:
    """A call, with its callee's name if it has one."""
    children = node.children
    function, arguments = children[0], children[-1]
    if arguments.kind_id == ARGUMENTS:
        region.stack += arguments.named_children[::-1]
    elif len(children) > 1:
        region.stack.append(arguments)  # a generator expression
    kind = function.kind_id
    start = function.start_byte
    if kind == IDENTIFIER:
        name = reading.text[start : function.end_byte]
        region.starts[name].append(start)
    elif kind == ATTRIBUTE:
        name = read_attribute(reading, region, function)
    else:
        name = ""
        region.stack.append(function)
    if name:
        region.calls.append((name, start, node.end_byte))


def read_dotted(reading: ModuleReading, region: Region, node: Node) -> None:
    """A dotted name that is no expression: a class or a value in a pattern."""
    parts = node.named_children
    region.add_spread(".".join(map(reading.cut, parts)), parts)


def read_string(reading: ModuleReading, region: Region, node: Node) -> None:
    """A string: what an f-string evaluates."""
    start = node.start_byte
    if reading.text[start : start + 1] not in _QUOTES:
        region.push([child for child in node.named_children if child.kind_id == INTERPOLATION])


def read_type(reading: ModuleReading, region: Region, node: Node) -> None:
    """An annotation; the names in one that is a string are read as well."""
    children = node.named_children
    if len(children) == 1 and children[0].kind_id == STRING:
        literal = reading.cut(children[0])
        # Two words with a gap are a sentence, as in the metadata of `Annotated`, and no type.
        if _TYPE_IN_QUOTES.fullmatch(literal) and not _PROSE.search(literal):
            for name in _DOTTED_NAME.finditer(literal):
                region.starts[name[0]].append(children[0].start_byte + name.start())
    region.push(children)


def read_generic(reading: ModuleReading, region: Region, node: Node) -> None:
    """``List[int]`` in an annotation; the strings in ``Literal["a"]`` are no names."""
    children = node.named_children
    region.push(children[:1] if reading.cut(children[0]) == "Literal" else children)


def read_last(_reading: ModuleReading, region: Region, node: Node) -> None:
    """A keyword and its value, of which only the value is read."""
    children = node.children
    if len(children) > 1:
        region.stack.append(children[-1])


def read_lambda(reading: ModuleReading, region: Region, node: Node) -> None:
    """A lambda: its defaults are evaluated outside, its body sees its parameters."""
    children = node.named_children
    if len(children) < 2 or children[0].kind_id != LAMBDA_PARAMETERS:
        region.push(children)
        return
    inner = reading.begin_unnamed("lambda", region, children[1:])
    region.push(bind_parameters(reading, children[0], inner.bound))


def read_comprehension(reading: ModuleReading, region: Region, node: Node) -> None:
    """A comprehension: what it runs over first is evaluated outside, all else sees its variables."""
    children = node.named_children
    inner = reading.begin_unnamed("comprehension", region, children)
    inner.around = region
    loop = next((child for child in children if child.kind_id == FOR_IN), None)
    if loop is not None:
        inner.stack.remove(loop)
        target, *iterables = loop.named_children
        inner.stack.extend(reversed(bind_targets(reading, target, inner.bound)))
        region.push(iterables)


def read_assignment_expression(reading: ModuleReading, region: Region, node: Node) -> None:
    """``name := value``, which binds in the function around a comprehension."""
    children = node.children
    if len(children) > 1:
        region.stack.append(children[-1])
        while region.around is not None:
            region = region.around
        region.bound.add(reading.cut(children[0]))
