"""From a module to the cases worth testing: try calls, vary the telling ones, keep what is stable and tells most."""

from __future__ import annotations

import ast
import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from random import Random

from rolecall_server.craft.characterization.call_trials import (
    Subject,
    TrialState,
    confirmed,
    first_calls,
    observe_new,
    read_with_documentation,
    thinned,
    variations,
)
from rolecall_server.craft.characterization.distinguishing import hunt, kill_mutants
from rolecall_server.craft.characterization.execution import Stage
from rolecall_server.craft.characterization.inputs.calls import examples_in
from rolecall_server.craft.characterization.inputs.documents import pieces_in, pieces_of
from rolecall_server.craft.characterization.inputs.neighbours import Neighbourhood, neighbourhood
from rolecall_server.craft.characterization.inputs.survey import CallTarget, Survey, survey
from rolecall_server.craft.characterization.objects import build_instances
from rolecall_server.craft.characterization.observation import (
    DOCUMENTED,
    IN_REPOSITORY,
    Arc,
    CandidateCall,
    Observation,
)
from rolecall_server.craft.characterization.recording import Recording, record
from rolecall_server.craft.characterization.selection import choose
from rolecall_server.sandbox import Mutant, NotRun, even_choice, mutants_of

_ROUNDS = 2
_MAX_MUTANTS = 700
_CALLS_A_MUTANT = (120, 1500)
"""The numbers of calls that are tried on a mutant: few on each first, then all on those that are left."""
_SHARE_FOR_THE_REST = 0.6
"""The part of the time that is left to what comes after varying calls."""
_SHARE_FOR_MUTANTS = 0.35
"""The part of the time that mutants may take however late it is."""
_LEAST_FOR_MUTANTS_S = 6.0
_VAIN_HUNTS = 2
"""After how many searches for cases without a find the next is left out."""
_HUNT_S = 5.0
_CRASHES = frozenset(
    [
        "AttributeError",
        "IndexError",
        "KeyError",
        "NameError",
        "RecursionError",
        "TypeError",
        "UnboundLocalError",
        "ZeroDivisionError",
    ]
)
_BUILDERS = ("__init__", "__new__", "__post_init__")
Report = Callable[[str, float | None], None]
"""Told what is going on, and how far it is (0 to 1) where that is known."""


@dataclass(frozen=True)
class Study:
    """The result of a study of a module."""

    survey: Survey
    cases: Mapping[CandidateCall, Observation]
    """The calls to assert and what each did, in the order of the source."""
    borrowed: Mapping[str, str] = field(default_factory=dict[str, str])
    """The names of other modules of the repository that the cases may use, and the module of each."""
    targets: tuple[CallTarget, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict[str, str])
    """Targets without a case, and why."""
    crashes: tuple[tuple[CandidateCall, Observation], ...] = ()
    """Calls of the annotated types that end in an exception nobody raised on purpose."""
    n_calls: int = 0
    n_mutants: int = 0
    """Those that were tried, or that no call reaches."""
    n_killed: int = 0
    n_untried: int = 0
    """Mutants for which there was no time."""
    survivors: tuple[Mutant, ...] = ()


async def study(stage: Stage, subject: Subject, report: Report) -> Study | NotRun:
    """Return the cases worth testing of *subject* in *stage*.

    Raises:
        SyntaxError: this Python cannot parse it.
    """
    known = survey(subject.text)
    around = neighbourhood(known, subject.neighbours)
    known = replace(known, borrowed=frozenset(around.sources))
    stage = replace(
        stage, imports={**{name: (module, name) for name, module in around.sources.items()}, **stage.imports}
    )
    wanted = [one for one in known.targets if _is_wanted(one, subject.symbol)]
    report("running the tests there are, to see what they pass", None)
    shown = [*map(pieces_in, subject.documents), *(one for tree in [known.tree] for one in pieces_of(tree))]
    recording = await record(stage, known, subject.tests, [one for one in shown if one])
    known, around, stage = _with_names(known, around, stage, recording)
    untested = [one for one in wanted if not set(_body_lines(one)) <= subject.covered]
    targets = untested or wanted
    work = TrialState(stage, subject, known, around, targets, {}, time.monotonic() + subject.budget_s, Random(0))
    work.recording = recording
    examples = [
        *(example for tree in known.examples for example in examples_in(tree, known, DOCUMENTED)),
        *(example for tree in around.documented for example in examples_in(tree, known, DOCUMENTED)),
        *(example for tree in [*subject.related, *around.trees] for example in examples_in(tree, known, IN_REPOSITORY)),
    ]
    report("building objects", None)
    refused = await build_instances(work, examples)
    if refused is not None:
        return refused
    report(f"trying calls of {len(targets)} targets", None)
    refused = await observe_new(work, await asyncio.to_thread(first_calls, work, examples))
    if refused is not None:
        return refused
    for number in range(_ROUNDS):
        if number and work.left_s < _SHARE_FOR_THE_REST * subject.budget_s:
            break  # the first round is made however late it is: what is found depends little on the machine
        report(f"varying the telling calls, round {number + 1} of {_ROUNDS}", None)
        await observe_new(work, await asyncio.to_thread(variations, work, work.seen))
    report("repeating every call under other circumstances", None)
    pool = await confirmed(work, await asyncio.to_thread(thinned, work))
    return await _select(work, pool, report)


def _with_names(
    known: Survey, around: Neighbourhood, stage: Stage, recording: Recording
) -> tuple[Survey, Neighbourhood, Stage]:
    """Return all three with the names that recorded expressions use."""
    names = {name: (module, name) for name, module in recording.imports.items()}
    return (
        replace(known, borrowed=known.borrowed | names.keys()),
        replace(around, sources={**around.sources, **recording.imports}),
        replace(stage, imports={**stage.imports, **names}),
    )


def _is_wanted(target: CallTarget, symbol: str) -> bool:
    return not symbol or target.qualified_name == symbol or target.qualified_name.startswith(f"{symbol}.")


def _body_lines(target: CallTarget) -> list[int]:
    """Return the first line of each statement of a target, but for its documentation; of a class, those that
    build it.
    """
    if isinstance(target.node, ast.ClassDef):
        bodies = [one for one in target.node.body if isinstance(one, ast.FunctionDef) and one.name in _BUILDERS]
    else:
        bodies = [target.node]
    statements = [one for each in bodies for one in (each.body[1:] if ast.get_docstring(each) else each.body)]
    return [node.lineno for one in statements for node in ast.walk(one) if isinstance(node, ast.stmt)]


async def _select(work: TrialState, pool: dict[CandidateCall, Observation], report: Report) -> Study:
    known = frozenset(arc for seen in pool.values() for arc in seen.arcs if _is_covered(arc, work.subject.covered))
    chosen = await asyncio.to_thread(choose, pool, known)
    mutants = even_choice(await asyncio.to_thread(mutants_of, work.subject.text, _target_lines(work)), _MAX_MUTANTS)
    report(f"trying {len(chosen)} cases and others on {len(mutants)} mutants", None)
    least_s = max(_LEAST_FOR_MUTANTS_S, _SHARE_FOR_MUTANTS * work.subject.budget_s)
    in_order = {call: pool[call] for call in [*chosen, *pool]}
    killed = await kill_mutants(work, mutants, in_order, _CALLS_A_MUTANT[0] + len(chosen), least_s=least_s)
    left = [mutant for mutant in mutants if mutant not in killed]
    report(f"looking for cases that tell {len(left)} more mutants", None)
    killed |= await kill_mutants(work, left, pool, _CALLS_A_MUTANT[1])
    n_vain = 0
    while n_vain < _VAIN_HUNTS and work.left_s > _HUNT_S:
        left = [mutant for mutant in mutants if mutant not in killed]
        new = await hunt(work, left, pool)
        pool |= new
        found = await kill_mutants(work, left, new, _CALLS_A_MUTANT[-1])
        n_vain = 0 if found else n_vain + 1
        killed |= found
    kept = dict.fromkeys([*chosen, *(call for call in killed.values() if call is not None)])
    survivors = tuple(mutant for mutant in mutants if mutant not in killed and mutant not in work.untried)
    cases = {call: pool[call] for call in sorted(kept, key=lambda call: _place(work, call))}
    return Study(
        survey=work.survey,
        cases=cases,
        borrowed=work.around.sources,
        targets=tuple(work.targets),
        left_out=_left_out(work, cases),
        crashes=_crashes(work),
        n_calls=len(work.seen),
        n_mutants=len(mutants) - len(work.untried),
        n_killed=len(killed),
        n_untried=len(work.untried),
        survivors=survivors,
    )


def _is_covered(arc: Arc, covered: frozenset[int]) -> bool:
    return all(line in covered for line in arc if line > 0)


def _place(work: TrialState, call: CandidateCall) -> tuple[object, ...]:
    order = {target.qualified_name: number for number, target in enumerate(work.targets)}
    return (order[call.target], call.cost())


def _target_lines(work: TrialState) -> set[int] | None:
    """Return the lines whose mutants are tried: those of a symbol and what it calls, or None for all lines of
    a module.
    """
    if len(work.targets) == len(work.survey.targets):
        return None
    return {line for target in work.targets for line in target.lines}


def _left_out(work: TrialState, cases: Mapping[CandidateCall, Observation]) -> dict[str, str]:
    tested = {call.target for call in cases}
    reasons: dict[str, str] = {}
    for target in work.targets:
        if target.qualified_name in tested or target.kind == "constructor":
            continue
        kinds = {seen.kind for call, seen in work.seen.items() if call.target == target.qualified_name}
        if "refused" in kinds:
            reasons[target.qualified_name] = "it reaches beyond its process"
        elif not kinds:
            reasons[target.qualified_name] = "no arguments for it could be made"
        elif kinds == {"raises"}:
            reasons[target.qualified_name] = "every call of it that was tried failed"
        elif "value" in kinds:
            reasons[target.qualified_name] = "nothing it returned can be written down, or it differs from run to run"
        else:
            reasons[target.qualified_name] = "no call of it came to its end"
    return reasons


def _crashes(work: TrialState) -> tuple[tuple[CandidateCall, Observation], ...]:
    found: dict[tuple[str, int], tuple[CandidateCall, Observation]] = {}
    for call in sorted(work.well_typed & work.seen.keys(), key=CandidateCall.cost):
        seen = read_with_documentation(work, call, work.seen[call])
        if seen.kind == "raises" and seen.type_name in _CRASHES and seen.inside and not seen.deliberate:
            found.setdefault((seen.type_name, seen.line), (call, seen))
    return tuple(found.values())
