"""Calls for which a flag of the module, such as ``WINDOWS``, is set or not set."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from rolecall_server.craft.characterization.call_trials import TrialState
from rolecall_server.craft.characterization.inputs.related import related_nodes
from rolecall_server.craft.characterization.inputs.stand_ins import with_patches
from rolecall_server.craft.characterization.inputs.survey import CallTarget
from rolecall_server.craft.characterization.observation import LIKELY, CandidateCall
from rolecall_server.sandbox import even_choice

_FLAG = re.compile(r"_?[A-Z][A-Z0-9_]*")
_NEAR = 2
_MAX_CALLS = 16
_MAX_FLAGS = 4


def calls_with_flags(work: TrialState) -> list[CandidateCall]:
    """Return calls seen before, of each target some that had different ends, with each flag that it asks set and
    not set.
    """
    found: list[CandidateCall] = []
    for target in work.targets:
        flags = list(dict.fromkeys(_flags_of(work, target)))[:_MAX_FLAGS]
        for call in _various_calls(work, target) if flags else ():
            given = ({flag: value} for flag in flags for value in ("True", "False"))
            found += [with_patches(call, one, work.stage.module) for one in given]
    return [replace(call, origin=max(call.origin, LIKELY)) for call in found]


def _various_calls(work: TrialState, target: CallTarget) -> list[CandidateCall]:
    """Return calls of *target* without patches: the simplest for each end that they had, of many an even choice."""
    ends: dict[object, CandidateCall] = {}
    for call in sorted((one for one in work.seen if one.target == target.qualified_name), key=CandidateCall.cost):
        seen = work.seen[call]
        if not call.patched and seen.kind in ("value", "raises"):
            ends.setdefault((call.template, seen.outcome), call)
    return list(even_choice(list(ends.values()), _MAX_CALLS))


def _flags_of(work: TrialState, target: CallTarget) -> Iterator[str]:
    """Yield the names in capitals that the target, or what it calls, asks whether they are true."""
    bound = {*work.survey.names, *work.survey.imported}
    for node, distance in related_nodes(work.survey, target).items():
        if distance <= _NEAR:
            names = (one.id for one in _asked(node) if isinstance(one, ast.Name))
            yield from (name for name in names if _FLAG.fullmatch(name) and name in bound)


def _asked(node: ast.AST) -> Iterable[ast.expr]:
    """Yield the expressions in *node* of which only the truth counts."""
    for one in ast.walk(node):
        match one:
            case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
                yield test
            case ast.BoolOp(values=values):
                yield from values
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                yield operand
            case _:
                pass
