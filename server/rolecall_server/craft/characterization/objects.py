"""Expressions that build objects of a module's classes, found by trying."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any, Literal

from rolecall_server.craft.characterization.call_trials import LEAST_S, TrialState, strings_in
from rolecall_server.craft.characterization.execution import Observed, Stage, observe
from rolecall_server.craft.characterization.inputs.calls import Example, calls_of
from rolecall_server.craft.characterization.inputs.domains import ValueSources, instances_of, interleaved
from rolecall_server.craft.characterization.inputs.literals import literals_in
from rolecall_server.craft.characterization.inputs.neighbours import attributes_of
from rolecall_server.craft.characterization.inputs.stand_ins import with_stand_ins
from rolecall_server.craft.characterization.inputs.survey import (
    CallableParameter,
    CallTarget,
    constructor_parameters,
)
from rolecall_server.craft.characterization.observation import CandidateCall, Observation, Part
from rolecall_server.python_trees import parse_expression
from rolecall_server.sandbox import NotRun

_MAX_INSTANCES = 10
_ROUNDS = 3
_MAX_BUILDERS = 120
_MAX_CALLS_OF_A_BUILDER = 16
_LONGEST_SOURCE = 140
_SHARE_OF_TIME = 0.5
"""The part of the time that building objects may take."""


async def build_instances(work: TrialState, examples: Sequence[Example]) -> NotRun | None:
    """Finds expressions that build objects of the module's classes and of those around it; those that others are built
    from come first.
    """
    strings = strings_in(work, [work.survey.tree])
    base = ValueSources(work.survey, strings, literals_in([work.survey.tree]).numbers, classes=work.around.classes)
    work.sources[""] = base
    first = await observe(work.stage, [], trace=True)
    if isinstance(first, NotRun):
        return first
    work.classes, work.import_lines = dict(first.classes), first.import_lines
    members = {
        name: tuple(f"{name}.{one}" for one in told["members"])
        for name, told in work.classes.items()
        if told["members"]
    }
    base = replace(base, members=members)
    recorded = work.recording.instances
    instances: dict[str, tuple[str, ...]] = {}
    around: dict[str, tuple[str, ...]] = dict(recorded)
    for _ in range(_ROUNDS):  # a class may be built from objects of another
        around = _joined(around, await _harvested(work, _with(work, base, _joined(instances, around)), examples))
        base_now = _with(work, base, _joined(instances, around))
        calls = [
            call
            for target in constructors(work)
            if not members.get(target.name)
            for call in calls_of(target, base_now, examples, work.random)
        ]
        observed = await observe(_in_time(work), list(dict.fromkeys(calls)), trace=True)
        if isinstance(observed, NotRun):
            return observed
        found = _joined(_instances(observed), around)
        # Only a class that could not be built before makes more possible.
        if found.keys() == instances.keys() or len(observed.observations) < len(set(calls)):
            break
        instances = found
    work.sources[""] = _with(work, base, instances)
    return None


def _in_time(work: TrialState) -> Stage:
    """Return the stage with the time that building objects may still take: where each takes long, few will do."""
    left_s = work.left_s - (1 - _SHARE_OF_TIME) * work.subject.budget_s
    return replace(work.stage, timeout_s=max(LEAST_S, left_s))


def _with(work: TrialState, base: ValueSources, instances: Mapping[str, tuple[str, ...]]) -> ValueSources:
    classes = {**work.around.classes, **work.survey.classes}
    attributes = {
        name: attributes_of(node, classes)
        for name, node in classes.items()
        if instances_of(name, replace(base, instances=instances))
    }
    return replace(base, instances=instances, attributes=attributes)


def _joined(own: Mapping[str, tuple[str, ...]], around: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """Return the expressions of both: of a class that both know, in turn."""
    return {
        name: tuple(interleaved(own.get(name, ()), around.get(name, ())))[:_MAX_INSTANCES]
        for name in [*own, *(one for one in around if one not in own)]
    }


async def _harvested(
    work: TrialState, sources: ValueSources, examples: Sequence[Example]
) -> dict[str, tuple[str, ...]]:
    """Return expressions for the objects that the functions and classes around the module give."""
    calls = [
        call
        for target in work.around.builders[:_MAX_BUILDERS]
        for call in calls_of(target, sources, examples, Random(target.qualified_name))[:_MAX_CALLS_OF_A_BUILDER]
    ]
    if not calls:
        return {}
    observed = await observe(_in_time(work), list(dict.fromkeys(calls)), trace=False, harvest=True)
    if isinstance(observed, NotRun):
        return {}
    made: dict[str, dict[str, str]] = {}
    built: dict[str, dict[str, str]] = {}
    for call, (template, kind, look) in sorted(_parts(observed), key=_by_length):
        source = template.replace("{}", call.source, 1)
        if len(source) <= _LONGEST_SOURCE:
            found = built if call.target == kind and template == "{}" else made
            found.setdefault(kind, {}).setdefault(look, source)
    # What the repository's own code makes is likelier whole than what was built from guesses.
    return {
        kind: tuple(interleaved(made.get(kind, {}).values(), built.get(kind, {}).values()))[:_MAX_INSTANCES]
        for kind in sorted({*made, *built})
    }


def _parts(observed: Observed) -> list[tuple[CandidateCall, Part]]:
    return [(call, part) for call, seen in observed.observations.items() for part in seen.parts]


def _by_length(found: tuple[CandidateCall, Part]) -> tuple[int, str, str]:
    call, (template, *_) = found
    return len(call.source) + len(template), call.source, template


def constructors(work: TrialState) -> list[CallTarget]:
    """Return the constructors of all classes, and the class methods that may build objects too."""
    found: list[CallTarget] = []
    for name, node in work.survey.classes.items():
        told = work.classes.get(name, {"abstract": True})
        if told["abstract"] or name.startswith("_"):
            continue
        parameters = constructor_parameters(node, {**work.around.classes, **work.survey.classes})
        found.append(CallTarget(name, "constructor", parameters or _told_parameters(told), node, name))
    return [*found, *(one for one in work.survey.targets if one.kind == "class method")]


def stood_in(work: TrialState, targets: Sequence[CallTarget]) -> list[CandidateCall]:
    """Return calls of *targets* in which mocks stand in for the objects that they take, or that their class takes."""
    if {"MagicMock", "AsyncMock", "call", "patch"} & (work.survey.names | work.survey.borrowed):
        return []  # a test could not tell them from the module's own
    makers = {one.name: one for one in constructors(work) if one.kind == "constructor"}
    return [
        call
        for target in targets
        for call in with_stand_ins(target, makers.get(target.owner), work.sources[""], work.stage.module)
    ]


def _told_parameters(told: Mapping[str, Any]) -> tuple[CallableParameter, ...]:
    """Return a constructor's parameters as the imported class tells them."""
    many: dict[str, Literal["*", "**"]] = {"VAR_POSITIONAL": "*", "VAR_KEYWORD": "**"}
    return tuple(
        CallableParameter(
            name,
            default=ast.Constant(None) if optional else None,
            keyword_only=kind == "KEYWORD_ONLY",
            many=many.get(kind, ""),
        )
        for name, kind, optional in told["parameters"]
    )


def _instances(observed: Observed) -> dict[str, tuple[str, ...]]:
    """Return a few expressions for each class: the simplest of each shape first, then others."""
    shapes: dict[str, dict[object, CandidateCall]] = {}
    others: dict[str, list[CandidateCall]] = {}
    for call in sorted(observed.observations, key=CandidateCall.cost):
        seen = observed.observations[call]
        if seen.kind == "value" and seen.type_name in observed.classes and not seen.pollutes:
            first = shapes.setdefault(seen.type_name, {}).setdefault(_shape_of(seen), call)
            if first is not call:
                others.setdefault(seen.type_name, []).append(call)
    return {
        name: tuple(call.source for call in [*calls.values(), *others.get(name, ())][:_MAX_INSTANCES])
        for name, calls in shapes.items()
    }


def _shape_of(seen: Observation) -> object:
    """Return the shape of the object that was built: for each thing that can be read off it, its type and whether it is
    empty.
    """
    return tuple((template, _shape(parse_expression(literal))) for template, literal in seen.views)


def _shape(node: ast.expr) -> object:
    match node:
        case ast.Call(args=args, keywords=words):
            return tuple(_shape(one) for one in [*args, *(word.value for word in words)])
        case ast.Constant(value=value):
            return type(value).__name__, bool(value)
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
            return type(node).__name__, min(len(parts), 2)
        case ast.Dict(keys=keys):
            return "dict", min(len(keys), 2)
        case _:
            return type(node).__name__
