"""The parameters of a function, the arguments of a call, and whether the one fits the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from tree_sitter import Node

from rolecall_analysis.grammar import CALL, child_of, kind_id
from rolecall_analysis.names import text_of
from rolecall_analysis.syntax import parse
from rolecall_analysis.text import code_points
from rolecall_analysis.values import Position, Span

ParameterKind = Literal["positional only", "positional or keyword", "splat", "keyword only", "double splat"]


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a function."""

    name: str
    kind: ParameterKind
    is_required: bool


@dataclass(frozen=True, slots=True)
class Header:
    """The content between the parentheses of a class statement."""

    n_bases: int
    """Including those that are not names."""
    keywords: tuple[tuple[str, str], ...]
    """Names and values, as written."""


Arguments = tuple[str, ...]
"""For each argument of a call ``""`` if it is positional, ``*``, ``**``, or the name of the keyword."""

_ARGUMENT_LIST = kind_id("argument_list")
_COMMENT = kind_id("comment")
_PARAMETER_KINDS: dict[int, tuple[ParameterKind, bool]] = {
    kind_id("identifier"): ("positional or keyword", True),
    kind_id("typed_parameter"): ("positional or keyword", True),
    kind_id("default_parameter"): ("positional or keyword", False),
    kind_id("typed_default_parameter"): ("positional or keyword", False),
}
_SPLATS: dict[int, ParameterKind] = {
    kind_id("list_splat_pattern"): "splat",
    kind_id("dictionary_splat_pattern"): "double splat",
}
_KEYWORD_SEPARATOR = kind_id("keyword_separator")
_POSITIONAL_SEPARATOR = kind_id("positional_separator")
_KEYWORD_ARGUMENT = kind_id("keyword_argument")
_BLOCK = kind_id("block")
_TRY = kind_id("try_statement")
_BLOCKS = frozenset({_TRY, kind_id("with_statement")})
_SPLAT_ARGUMENTS = {kind_id("list_splat"): "*", kind_id("dictionary_splat"): "**"}


def parameters_of(signature: str) -> tuple[Parameter, ...] | None:
    """Return the parameters in a function's *signature*; None if it cannot be read."""
    node, source = _statement(signature)
    parameters = child_of(node, "parameters") if node is not None else None
    if parameters is None:
        return None
    found: list[Parameter] = []
    is_keyword_only = False
    for child in parameters.named_children:
        if child.kind_id == _POSITIONAL_SEPARATOR:
            found = [replace(parameter, kind="positional only") for parameter in found]
        elif child.kind_id == _KEYWORD_SEPARATOR:
            is_keyword_only = True
        elif child.kind_id != _COMMENT:
            parameter = _parameter(source, child, is_keyword_only)
            if parameter is None:
                return None
            is_keyword_only = is_keyword_only or parameter.kind == "splat"
            found.append(parameter)
    return tuple(found)


def class_header(signature: str) -> Header | None:
    """Return the header with the bases that a class's *signature* names; None if it cannot be read."""
    node, source = _statement(signature)
    if node is None:
        return None
    listed = child_of(node, "superclasses")
    children = [child for child in listed.named_children if child.kind_id != _COMMENT] if listed is not None else []
    keywords = [child for child in children if child.kind_id == _KEYWORD_ARGUMENT]
    pairs = ((child_of(child, "name"), child_of(child, "value")) for child in keywords)
    return Header(
        len(children) - len(keywords),
        tuple((text_of(source, name), text_of(source, value)) for name, value in pairs if name and value),
    )


def arguments_in(text: str) -> dict[Span, Arguments]:
    """Return the arguments of each call in *text*, by its span; without those that are made to fail.

    They stand in a ``with`` block of ``raises``, or in a ``try`` block that catches a TypeError.
    """
    syntax = parse(text)
    if syntax.tree is None:
        return {}
    columns = code_points(syntax.source)
    found: dict[Span, Arguments] = {}
    stack = [syntax.tree.root_node]
    while stack:
        node = stack.pop()
        expects_failure = node.kind_id in _BLOCKS and _expects_failure(syntax.source, node)
        stack.extend(child for child in node.named_children if not expects_failure or child.kind_id != _BLOCK)
        given = child_of(node, "arguments") if node.kind_id == CALL else None
        if given is not None:
            start = Position(node.start_point[0], columns.column(node.start_byte, node.start_point[1]))
            end = Position(node.end_point[0], columns.column(node.end_byte, node.end_point[1]))
            found[Span(start, end)] = _arguments(syntax.source, given)
    return found


def misfit(parameters: Sequence[Parameter], arguments: Arguments, n_bound: int = 0) -> str | None:
    """Return the reason why a call with *arguments* fails, as a sentence without a subject; None if it may succeed.

    The first *n_bound* parameters are given by other means, as ``self`` is.
    """
    slots = [p for p in parameters if p.kind in ("positional only", "positional or keyword")]
    has_splat = any(p.kind == "splat" for p in parameters)
    if n_bound > len(slots) and not has_splat:
        return "takes no positional argument, not even the one it is bound to"
    slots = slots[n_bound:]
    n_given = arguments.count("")
    if n_given > len(slots) and not has_splat:
        return f"takes {len(slots)} positional arguments but is given {n_given}"
    keywords = [name for name in arguments if name not in ("", "*", "**")]
    # The name of a positional-only parameter is free: `**kwargs` may take a keyword that is called so.
    filled = {p.name for p in slots[:n_given] if p.kind == "positional or keyword"}
    wrong = _wrong_keyword(parameters, keywords, filled, {p.name for p in parameters[:n_bound]})
    if wrong is not None:
        return wrong
    absent = _missing(parameters, slots[n_given:], arguments)
    missing = [p.name for p in absent if p.kind == "positional only" or p.name not in keywords]
    return f"needs {', '.join(map(repr, missing))}" if missing else None


def _wrong_keyword(
    parameters: Sequence[Parameter], keywords: Sequence[str], filled: set[str], bound: set[str]
) -> str | None:
    names = {p.name for p in parameters if p.kind in ("positional or keyword", "keyword only")} - bound
    takes_any = any(p.kind == "double splat" for p in parameters)
    for name in keywords:
        if name in filled:
            return f"is given {name!r} twice"
        if name not in names and not takes_any:
            return f"has no parameter {name!r}"
    return None


def _missing(parameters: Sequence[Parameter], slots: Sequence[Parameter], arguments: Arguments) -> Iterator[Parameter]:
    """Yield the required parameters that no positional argument fills, and no splat may fill."""
    if "*" not in arguments:
        yield from (p for p in slots if p.is_required and ("**" not in arguments or p.kind == "positional only"))
    if "**" not in arguments:
        yield from (p for p in parameters if p.is_required and p.kind == "keyword only")


def _expects_failure(source: bytes, node: Node) -> bool:
    """Return whether what is in the ``with`` or ``try`` block is meant to raise a TypeError."""
    # Of an `except` only its first line: what it does may name other exceptions.
    headers = [text_of(source, child).partition(":\n")[0] for child in node.named_children if child.kind_id != _BLOCK]
    if node.kind_id == _TRY:
        return any("TypeError" in header for header in headers)
    return any("raises" in header.lower() for header in headers)


def _statement(signature: str) -> tuple[Node | None, bytes]:
    syntax = parse(f"{signature}: ...")
    root = syntax.tree.root_node if syntax.tree is not None else None
    if root is None or root.has_error or not root.named_child_count:
        return None, syntax.source
    return next((child for child in root.named_children if child.kind_id != _COMMENT), None), syntax.source


def _parameter(source: bytes, node: Node, is_keyword_only: bool) -> Parameter | None:
    inner = node.named_children[0] if node.named_child_count else node
    splat = _SPLATS.get(node.kind_id) or _SPLATS.get(inner.kind_id)
    if splat is not None:
        return Parameter(text_of(source, inner).lstrip("* "), splat, is_required=False)
    if node.kind_id not in _PARAMETER_KINDS:
        return None
    kind, is_required = _PARAMETER_KINDS[node.kind_id]
    name = text_of(source, child_of(node, "name") or inner)
    return Parameter(name, "keyword only" if is_keyword_only else kind, is_required)


def _arguments(source: bytes, given: Node) -> Arguments:
    if given.kind_id != _ARGUMENT_LIST:
        return ("",)  # a generator expression
    return tuple(_argument(source, child) for child in given.named_children if child.kind_id != _COMMENT)


def _argument(source: bytes, node: Node) -> str:
    if node.kind_id == _KEYWORD_ARGUMENT:
        name = child_of(node, "name")
        return text_of(source, name) if name is not None else ""
    return _SPLAT_ARGUMENTS.get(node.kind_id, "")
