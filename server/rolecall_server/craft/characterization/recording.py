"""The calls of a module that the repository's own tests and documents make, recorded while these run."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from rolecall_server.craft.characterization.execution import Stage, run_recorder
from rolecall_server.craft.characterization.inputs.call_forms import build, build_way
from rolecall_server.craft.characterization.inputs.domains import IMPORTS
from rolecall_server.craft.characterization.inputs.survey import CallableParameter, CallTarget, Survey
from rolecall_server.craft.characterization.observation import IN_REPOSITORY, CandidateCall
from rolecall_server.python_trees import parse_expression
from rolecall_server.sandbox.event_lines import GARBLED

_MAX_CALLS = 60
"""So many calls of one target are recorded, each with other arguments."""
_TIME_S = 30.0
_MAX_DEEP = 24


@dataclass(frozen=True)
class Recording:
    """The calls that were seen, and the objects that were built on the way."""

    calls: Mapping[str, tuple[CandidateCall, ...]] = field(default_factory=dict[str, tuple[CandidateCall, ...]])
    """Those of each target, the ones that tests and documents make themselves first."""
    passed: Mapping[tuple[str, str], tuple[str, ...]] = field(default_factory=dict[tuple[str, str], tuple[str, ...]])
    """The expressions that were seen for each parameter of a target; for the object of a method, its class."""
    instances: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Expressions that build an object of each class."""
    ways: tuple[CandidateCall, ...] = ()
    """The calls of other modules' functions that tests and documents make, through which the module's code runs."""
    imports: Mapping[str, str] = field(default_factory=dict[str, str])
    """The names of other modules that the expressions use, and the module of each."""


async def record(stage: Stage, known: Survey, tests: Sequence[str], examples: Sequence[str]) -> Recording:
    """Return the calls of the module of *known* that *tests*, files of the shadow, and *examples* make while they run;
    an example is pieces of code, with a zero byte between them.
    """
    if not tests and not examples:
        return Recording()
    request = {
        "targets": {
            str(line): target.qualified_name
            for target in (*known.targets, *known.private)
            for line in _first_lines(target)
        },
        "tests": list(tests),
        "examples": list(examples),
        "limit": _MAX_CALLS,
        "time_s": min(_TIME_S, stage.timeout_s / 2),
    }
    lines = await run_recorder(stage, request)
    imports = dict(_imports_of(lines, known))
    usable = [line for line in lines if _is_usable(line, imports)]
    return replace(_of_calls(usable, known), instances=_instances(usable), ways=_ways(usable), imports=imports)


def _first_lines(target: CallTarget) -> Iterator[int]:
    """Yield the lines at which the code of a target may begin, by the Python that says so."""
    nodes: list[ast.AST] = [target.node]
    if isinstance(target.node, ast.ClassDef):
        nodes = [one for one in target.node.body if getattr(one, "name", "") in ("__init__", "__new__")]
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from {node.lineno, *(one.lineno for one in node.decorator_list)}


def _imports_of(lines: Iterable[Mapping[str, Any]], known: Survey) -> Iterator[tuple[str, str]]:
    for line in lines:
        with suppress(*GARBLED):
            yield from (
                (str(name), str(module))
                for name, module in line.get("imports", {}).items()
                if name not in known.names and name not in IMPORTS and str(name).isidentifier()
            )


def _is_usable(line: Mapping[str, Any], imports: Mapping[str, str]) -> bool:
    """Return whether every name of a line means what it meant there."""
    needed: Mapping[str, str] = line.get("imports") or {}
    return all(
        imports.get(name) == module or IMPORTS.get(name, ("", ""))[0] == module for name, module in needed.items()
    )


def _of_calls(lines: Sequence[Mapping[str, Any]], known: Survey) -> Recording:
    targets = {target.qualified_name: target for target in (*known.targets, *known.private)}
    calls: dict[str, dict[CandidateCall, None]] = {}
    passed: dict[tuple[str, str], dict[str, None]] = {}
    for line in sorted((one for one in lines if "target" in one), key=lambda one: not one.get("direct")):
        with suppress(*GARBLED, SyntaxError):
            target = targets[line["target"]]
            given = {str(name): str(source) for name, source in {**line["given"], **line["words"]}.items()}
            call = build(target, given, line["receiver"], [str(one) for one in line["more"]])
            if not all(_is_flat(source) for source in call.operands):
                continue
            calls.setdefault(target.qualified_name, {})[replace(call, origin=IN_REPOSITORY)] = None
            if line["receiver"]:
                passed.setdefault((target.owner, ""), {})[line["receiver"]] = None
            for name, source in given.items():
                passed.setdefault((target.qualified_name, name), {})[source] = None
    return Recording(
        {name: tuple(found) for name, found in calls.items()}, {place: tuple(found) for place, found in passed.items()}
    )


def _ways(lines: Iterable[Mapping[str, Any]]) -> tuple[CandidateCall, ...]:
    found: dict[CandidateCall, None] = {}
    for line in lines:
        with suppress(*GARBLED, SyntaxError):
            call = _way(line)
            if all(_is_flat(source) for source in call.operands):
                found[call] = None
    return tuple(found)


def _way(line: Mapping[str, Any]) -> CandidateCall:
    optional = ast.Constant(None)
    parameters = [
        CallableParameter(name, default=optional if name in line["optional"] else None) for name in line["plain"]
    ]
    parameters += [CallableParameter("more", many="*")] if line["more"] else []
    parameters += [CallableParameter(name, keyword_only=True) for name in line["given"] if name not in line["plain"]]
    parameters += [CallableParameter("words", many="**")] if line["words"] else []
    given = {str(name): str(source) for name, source in {**line["given"], **line["words"]}.items()}
    return build_way(line["way"], parameters, given, line["receiver"], [str(one) for one in line["more"]])


def _is_flat(source: str) -> bool:
    """Return whether an expression can be read, and by a person."""
    # For its error alone: who calls passes such a line over.
    parse_expression(source)
    depth = deepest = 0
    for character in source:
        depth += (character in "([{") - (character in ")]}")
        deepest = max(deepest, depth)
    return deepest <= _MAX_DEEP


def _instances(lines: Iterable[Mapping[str, Any]]) -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for line in lines:
        with suppress(*GARBLED, SyntaxError):
            if _is_flat(line["source"]):
                found.setdefault(line["object"], {})[line["source"]] = None
    return {kind: tuple(sorted(sources, key=len)) for kind, sources in found.items()}
