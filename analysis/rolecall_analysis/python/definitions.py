"""Classes and functions."""

from __future__ import annotations

import re
from typing import NamedTuple

from tree_sitter import Node

from rolecall_analysis.grammar import (
    ATTRIBUTE,
    CLASS,
    DECORATOR,
    ERROR,
    FUNCTION,
    IDENTIFIER,
    SUBSCRIPT,
    child_of,
    field_id,
)
from rolecall_analysis.python.bindings import bind_parameters, bind_type_parameters
from rolecall_analysis.python.headers import docstring, one_line
from rolecall_analysis.python.reading import ModuleReading, clean
from rolecall_analysis.python.region import Region
from rolecall_analysis.values import DefinitionKind

_BODY = field_id("body")
# ASCII, because the text has a character for each byte: `\w` would take a part of a wide character for a letter.
_PLAIN_FUNCTION = re.compile(r"(?:async )?def (\w+)\(((?:\w+(?:, \w+)*)?)\)(?=:)", re.ASCII)
_FIRST_PARAMETER = re.compile(r"\(\s*([^\s,:=*)(]+)")


class _Header(NamedTuple):
    name_start: int
    name_end: int
    end: int
    bound: set[str]
    """The parameters, of types as well."""
    evaluated: list[Node]
    """Bases, annotations and defaults."""
    is_generic: bool = False
    bases: tuple[str, ...] = ()


def read_decorated(reading: ModuleReading, region: Region, node: Node) -> None:
    """A class or function with its decorators."""
    children = node.named_children
    if children[-1].kind_id in (FUNCTION, CLASS):
        decorators = [child for child in children if child.kind_id == DECORATOR]
        _read(reading, region, children[-1], decorators, node.start_byte)
    else:
        region.push(children)


def read_definition(reading: ModuleReading, region: Region, node: Node) -> None:
    """A class or function."""
    _read(reading, region, node, [], node.start_byte)


def _read(reading: ModuleReading, region: Region, node: Node, decorators: list[Node], start: int) -> None:
    body = node.child_by_field_id(_BODY)
    header_start = node.start_byte if decorators else start
    header = _plain_header(reading, header_start) or _header(reading, node)
    if body is None or header is None:
        region.push([*decorators, *node.named_children])
        return
    name = reading.text[header.name_start : header.name_end]
    qualified_name = region.qualified(name)
    is_method = region.kind == "class"
    kind: DefinitionKind = "class" if node.kind_id == CLASS else "method" if is_method else "function"
    statements = body.named_children
    written = tuple([clean(reading.cut(one))[1:].strip() for one in decorators])
    reading.definitions.append(
        (
            name,
            qualified_name,
            region.name,
            kind,
            one_line(clean(reading.text[header_start : header.end])),
            docstring(reading, statements),
            written,
            header.bases,
            start,
            body.end_byte,
            header.name_start,
            header.name_end,
        )
    )
    if reading.is_broken:  # then statements of the body can stand before it, in an error
        statements = [*(child for child in node.named_children if child.kind_id == ERROR), *statements]
    inside = Region(qualified_name, kind, qualified_name, statements)
    inside.bound = header.bound
    if kind == "method" and header.bound and "staticmethod" not in written:
        first = _FIRST_PARAMETER.match(reading.text, header.name_end)
        inside.receiver = first[1] if first else ""
    if decorators:
        reading.regions.append(Region(region.name, region.kind, qualified_name, decorators))
    if header.evaluated:
        # The header of a generic sees its type parameters, which are noted inside.
        around = inside if header.is_generic else region
        reading.regions.append(Region(around.name, around.kind, qualified_name, header.evaluated))
    reading.regions.append(inside)


def _plain_header(reading: ModuleReading, start: int) -> _Header | None:
    """Return the header of a function whose parameters are names alone, as most are: quicker than by its nodes."""
    found = _PLAIN_FUNCTION.match(reading.text, start)
    if found is None:
        return None
    name_start, name_end = found.span(1)
    parameters = found[2]
    return _Header(name_start, name_end, found.end(), set(parameters.split(", ")) if parameters else set(), [])


def _header(reading: ModuleReading, node: Node) -> _Header | None:
    """Return the header of a class or function; None if its name is not typed yet."""
    name, generic = child_of(node, "name"), child_of(node, "type_parameters")
    if name is None or name.is_missing:
        return None
    parts = [child_of(node, field) for field in ("parameters", "return_type", "superclasses")]
    parameters, returned, superclasses = parts
    end = max(part.end_byte for part in (name, generic, *parts) if part is not None)
    bound: set[str] = set()
    evaluated = bind_type_parameters(reading, generic, bound) if generic is not None else []
    if parameters is not None:
        evaluated += bind_parameters(reading, parameters, bound)
    if returned is not None:
        evaluated.append(returned)
    bases: tuple[str, ...] = ()
    if superclasses is not None:
        evaluated += superclasses.named_children
        bases = tuple(base for child in superclasses.named_children if (base := _base_name(reading, child)))
    return _Header(name.start_byte, name.end_byte, end, bound, evaluated, generic is not None, bases)


def _base_name(reading: ModuleReading, base: Node) -> str:
    """Return the dotted name of a base class; "" if it is something else."""
    if base.kind_id == SUBSCRIPT:
        base = base.children[0]
    if base.kind_id not in (IDENTIFIER, ATTRIBUTE):
        return ""
    name = "".join(clean(reading.cut(base)).split())
    return name if all(part.isidentifier() for part in name.split(".")) else ""
