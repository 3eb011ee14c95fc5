"""Calls under other circumstances: with environment variables that the code asks for, with a flag such as
``WINDOWS`` set and not set.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from rolecall_server.craft.characterization.call_trials import TrialState
from rolecall_server.craft.characterization.inputs.domains import ValueSources, expressions_of, interleaved
from rolecall_server.craft.characterization.inputs.literals import literals_in
from rolecall_server.craft.characterization.inputs.related import related_nodes
from rolecall_server.craft.characterization.inputs.stand_ins import with_patches
from rolecall_server.craft.characterization.inputs.survey import CallableParameter, CallTarget
from rolecall_server.craft.characterization.inputs.text_forms import FORMS, forms_by_name
from rolecall_server.craft.characterization.inputs.usage.likely_types import names_file
from rolecall_server.craft.characterization.observation import ENVIRONMENT, LIKELY, CandidateCall
from rolecall_server.python_trees import parse_expression
from rolecall_server.sandbox import even_choice

_PLAIN = ("'1'", "'0'", "'true'", "'a'", "''")
_MAX_VALUES = 14
_MAX_CALLS = 3
"""So many calls of a target that ask for the same variables are made with others."""
_MAX_VARIABLES = 6
_MAX_OF_A_TARGET = 60
_FLAG = re.compile(r"_?[A-Z][A-Z0-9_]*")
_NEAR = 2
_MAX_FLAGGED = 16
_MAX_FLAGS = 4


def calls_with_variables(work: TrialState) -> list[CandidateCall]:
    """Return calls seen before with values for the variables that they asked for and were not given."""
    asking: dict[tuple[object, ...], list[CandidateCall]] = {}
    for call in sorted(work.seen, key=CandidateCall.cost):
        wanted = frozenset(work.seen[call].variables).difference(_given(call))
        if wanted and (not call.patched or _given(call)):
            asking.setdefault((call.target, wanted, *_given(call).items()), []).append(call)
    found: dict[str, list[CandidateCall]] = {}
    for calls in asking.values():
        for call in calls[:_MAX_CALLS]:
            found.setdefault(call.target, []).extend(_with_others(call, work))
    return [call for calls in found.values() for call in calls[:_MAX_OF_A_TARGET]]


def _with_others(call: CandidateCall, work: TrialState) -> Iterator[CandidateCall]:
    """Yield *call* without any variable, with all that it asked for, then with each by itself."""
    given = _given(call)
    names = [name for name in work.seen[call].variables if name not in given][:_MAX_VARIABLES]
    sources = work.sources.get(call.target, work.sources[""])
    nodes = [one.node for one in work.targets if one.qualified_name == call.target]
    values = {name: _values(name, sources, nodes) for name in names}
    yield _in_environment(call, given)
    for number in range(_MAX_VALUES if len(names) > 1 else 0):
        yield _in_environment(call, given | {name: each[number % len(each)] for name, each in values.items()})
    for name, each in values.items():
        yield from (_in_environment(call, given | {name: value}) for value in each)


def _values(name: str, sources: ValueSources, nodes: Sequence[ast.AST]) -> list[str]:
    """Return expressions of texts that the variable *name* may have, by its name and by what the code compares."""
    formed = [value for form in forms_by_name(name) for value in FORMS[form] if value[:1] in "'\""]
    files = expressions_of("filename", sources)[:2] if names_file(CallableParameter(name.lower())) else []
    compared = [repr(text) for text in literals_in(nodes).strings if text != name and "\0" not in text]
    others = [repr(text) for text in sources.strings if "\0" not in text]
    return list(islice(dict.fromkeys(interleaved(files, formed, _PLAIN, compared, others)), _MAX_VALUES))


def _given(call: CandidateCall) -> dict[str, str]:
    """Return the variables that *call* is made with, as expressions."""
    for place, name in call.patched:
        node = parse_expression(call.operands[place])
        if name == ENVIRONMENT and isinstance(node, ast.Dict):
            pairs = zip(node.keys, node.values, strict=True)
            return {str(key.value): ast.unparse(value) for key, value in pairs if isinstance(key, ast.Constant)}
    return {}


def _in_environment(call: CandidateCall, variables: dict[str, str]) -> CandidateCall:
    """Return *call* with exactly these *variables*."""
    written = "{" + ", ".join(f"{name!r}: {value}" for name, value in variables.items()) + "}"
    if call.patched:
        place = call.patched[0][0]
        return replace(call, operands=(*call.operands[:place], written, *call.operands[place + 1 :]))
    place = len(call.operands)
    return replace(
        call,
        operands=(*call.operands, written),
        names=(*call.names, "environ"),
        patched=((place, ENVIRONMENT),),
        origin=max(call.origin, LIKELY),
    )


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
    return list(even_choice(list(ends.values()), _MAX_FLAGGED))


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
