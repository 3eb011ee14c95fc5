"""Arguments that bear the names of each other's parameters."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from rolecall_analysis.faults.possible import PossibleFault
from rolecall_analysis.faults.reading import ParsedFile, Reader, arguments_of
from rolecall_analysis.grammar import ATTRIBUTE, CALL, IDENTIFIER
from rolecall_analysis.queries.arguments.parameters import parameters_of
from rolecall_analysis.queries.callers import Callee


def exchanged_arguments(source: ParsedFile, _reader: Reader) -> Iterator[PossibleFault]:
    """Yield the calls two of whose arguments seem to have each other's place."""
    for call in source.of_kind(CALL):
        given = [(place, name) for place, one in enumerate(arguments_of(call)) if (name := _named(source, one))]
        if len(given) < 2 or any(one.type.endswith("splat") for one in arguments_of(call)):
            continue
        for callee in source.targets(call):
            names = _positional(callee)
            if names is not None and (pair := _crossed(names, given)) is not None:
                definition = callee.definition
                told = f"`{definition.qualified_name}` takes `{pair[0]}` before `{pair[1]}`"
                where = f"{definition.path}:{definition.span.start.line + 1}"
                message = f"`{pair[1]}` and `{pair[0]}` seem exchanged: {told} ({where})."
                yield source.fault(call, message, source.waypoint(call, told))
                break


def _named(source: ParsedFile, argument: Node) -> str:
    """Return the last part of the name that is handed over; empty for anything else, and for named arguments."""
    if argument.kind_id not in (IDENTIFIER, ATTRIBUTE):
        return ""
    return source.name(argument).rpartition(".")[2].lstrip("_")


def _positional(callee: Callee) -> list[str] | None:
    """Return the names of the parameters that positional arguments reach, in order."""
    definition = callee.definition
    found = parameters_of(definition.signature) if definition.kind in ("function", "method") else None
    if found is None:
        return None
    names = [one.name for one in found if one.kind in ("positional only", "positional or keyword")]
    is_bound = definition.kind == "method" and not any("staticmethod" in one for one in definition.decorators)
    return names[1:] if is_bound else names


def _crossed(names: list[str], given: list[tuple[int, str]]) -> tuple[str, str] | None:
    """Return the two parameters, in order, that get each other's arguments."""
    by_place = {place: name for place, name in given if place < len(names)}
    for place, name in by_place.items():
        other = names.index(name) if name in names else -1
        if other > place and by_place.get(other) == names[place] and names[place] != name:
            return names[place], name
    return None
