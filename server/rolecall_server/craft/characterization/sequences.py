"""Calls on objects of which another method was called before: a lock that was acquired, a table that has a row."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeGuard

from rolecall_server.craft.characterization.call_trials import TrialState
from rolecall_server.craft.characterization.inputs.call_forms import snake_case
from rolecall_server.craft.characterization.inputs.survey import CallTarget
from rolecall_server.craft.characterization.observation import LIKELY, Arc, CandidateCall, filled

_MAX_CHANGED = 16
"""So many changed objects of a class are tried."""
_OF_A_METHOD = 2
"""So many of them come from one method."""
_MAX_ARGUMENTS = 3
"""So many calls of each method are made on a changed object."""
_LONGEST = 200


def calls_on_changed_objects(work: TrialState, known: frozenset[Arc]) -> list[CandidateCall]:
    """Return calls on objects as calls seen before left them, where these took a way that is not *known*."""
    found: list[CandidateCall] = []
    for owner in dict.fromkeys(target.owner for target in work.targets if target.is_of_object):
        targets = [target for target in work.targets if target.owner == owner and target.is_of_object]
        calls = {target: _calls_by_way(work, target) for target in targets}
        changed = list(_changed(work, {one: each for one, each in calls.items() if _may_change(one)}, known))
        found += [
            replace(call, operands=(source, *call.operands[1:]), origin=max(call.origin, LIKELY))
            for source in list(dict.fromkeys(changed))[:_MAX_CHANGED]
            for each in calls.values()
            for call in each[:_MAX_ARGUMENTS]
        ]
    return found


def _calls_by_way(work: TrialState, target: CallTarget) -> list[CandidateCall]:
    """Return the simplest call of *target* on an object for each way through the code, the simplest first."""
    ways: dict[object, CandidateCall] = {}
    for call in sorted((one for one in work.seen if one.target == target.qualified_name), key=CandidateCall.cost):
        seen = work.seen[call]
        if call.template.startswith(("{0}", "setattr({0}", "asyncio.run({0}")) and seen.kind in ("value", "raises"):
            ways.setdefault((call.template, seen.kind, seen.arcs), call)
    return list(ways.values())


def _changed(work: TrialState, calls: dict[CallTarget, list[CandidateCall]], known: frozenset[Arc]) -> Iterator[str]:
    """Yield expressions of objects on which one of *calls* was made: the first of each target, then the next."""
    for turn in range(_OF_A_METHOD):
        for target, each in calls.items():
            new = [call for call in each if work.seen[call].kind == "value" and not work.seen[call].arcs <= known]
            for call in new[turn : turn + 1]:
                source = _with_step(snake_case(target.owner), call)
                if len(source) <= _LONGEST:
                    yield source


def _with_step(name: str, call: CandidateCall) -> str:
    """Return the object of *call*, called *name*, with that call as a last step."""
    receiver = call.operands[0]
    step, end = filled(call.template, (name, *call.operands[1:])), f", {name}][-1]"
    if receiver.startswith(f"[({name} := ") and receiver.endswith(end):
        return f"{receiver.removesuffix(end)}, {step}{end}"
    return f"[({name} := {receiver}), {step}{end}"


def _may_change(target: CallTarget) -> bool:
    """Return whether a method sets something of its object, or calls something that may."""
    arguments: Sequence[ast.arg] = () if isinstance(target.node, ast.ClassDef) else target.node.args.args
    own = arguments[0].arg if arguments else ""
    changes = (node for node in ast.walk(target.node) if isinstance(node, ast.Call) or _is_set(node))
    return target.kind != "property" and any(_root(node) == own for node in changes)


def _is_set(node: ast.AST) -> TypeGuard[ast.expr]:
    return isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del)


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""
