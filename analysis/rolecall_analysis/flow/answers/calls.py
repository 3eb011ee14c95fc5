"""The calls that were found, as frozen values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rolecall_analysis.flow.answers.places import SourcePositions, places_in
from rolecall_analysis.flow.graph import SURE
from rolecall_analysis.flow.rules import FlowRule
from rolecall_analysis.flow.state import EdgeKey, Flow
from rolecall_analysis.modules import location_of
from rolecall_analysis.values import Span


@dataclass(frozen=True, slots=True)
class CallEdge:
    """A call that may run a function of the repository."""

    caller_path: str
    caller_name: str
    """Qualified within its module; empty for code of the module itself."""
    callee_path: str
    callee_name: str
    certain: bool
    """The code was followed all the way from the definition to this call."""
    rule: FlowRule
    span: Span
    """The whole call, or what stands for it."""


def as_edges(flow: Flow, keys: Iterable[EdgeKey]) -> tuple[CallEdge, ...]:
    """Return the calls that *keys* stand for, in source order."""
    found: list[CallEdge] = []
    places: dict[str, SourcePositions] = {}
    for key in sorted(keys, key=lambda key: (key[0], key[4], key[5], key[2], key[3])):
        caller_path, caller, callee_path, callee, start, end = key
        reason, rule = flow.edges[key]
        caller_code = flow.codes[caller_path]
        if caller_path not in places:
            places[caller_path] = places_in(caller_code.source)
        found.append(
            CallEdge(
                caller_path,
                caller_code.scopes[caller].qualified_name,
                callee_path,
                flow.codes[callee_path].scopes[callee].qualified_name,
                reason == SURE,
                rule,
                places[caller_path].span(start, end),
            )
        )
    # Two definitions of one name are one function to a reader.
    return tuple(dict.fromkeys(found))


def edges_as_dotted(
    edges: Iterable[CallEdge], below: str = "", *, has_operators: bool = False
) -> dict[str, list[dict[str, str | bool]]]:
    """Return *edges* as ``{caller: [{"callee": name, "certain": whether}]}``, modules named by their path below a
    folder.

    Operators that run a method, such as ``a + b``, are left out unless *has_operators*.
    """
    found: dict[str, dict[str, bool]] = {}
    for edge in edges:
        if edge.rule == "operator" and not has_operators:
            continue
        caller = dotted_name(edge.caller_path, edge.caller_name, below)
        callee = dotted_name(edge.callee_path, edge.callee_name, below)
        callees = found.setdefault(caller, {})
        callees[callee] = callees.get(callee, False) or edge.certain
    return {
        caller: [{"callee": callee, "certain": is_certain} for callee, is_certain in sorted(callees.items())]
        for caller, callees in sorted(found.items())
    }


def dotted_name(path: str, name: str, below: str = "") -> str:
    """Return the dotted name of a definition: its module's path below a folder, then its qualified name."""
    location = location_of(path).removeprefix(f"{below.strip('/')}/" if below.strip("/") else "")
    return ".".join(part for part in (location.replace("/", "."), name) if part)
