"""From a module to the cases worth testing: try calls, vary the telling ones, keep what is stable and tells most."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass, field

from rolecall_server.craft.characterization.behaviour import kind_of
from rolecall_server.craft.characterization.call_trials import (
    Subject,
    TrialState,
    confirmed,
    read_with_documentation,
    thinned,
)
from rolecall_server.craft.characterization.distinguishing import hunt, kill_mutants
from rolecall_server.craft.characterization.execution import Stage
from rolecall_server.craft.characterization.exploration import Report, explore
from rolecall_server.craft.characterization.inputs.survey import CallTarget, Survey
from rolecall_server.craft.characterization.observation import (
    Arc,
    CandidateCall,
    Observation,
)
from rolecall_server.craft.characterization.selection import choose
from rolecall_server.craft.characterization.simplification import simplified
from rolecall_server.sandbox import Mutant, NotRun, even_choice, mutants_of

_MAX_MUTANTS = 700
_CALLS_A_MUTANT = (120, 1500)
"""The numbers of calls that are tried on a mutant: few on each first, then all on those that are left."""
_SHARE_FOR_MUTANTS = 0.5
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
    n_noticed: int = 0
    """Mutants that tests notice already; none of them is among the others."""
    n_untried: int = 0
    """Mutants for which there was no time."""
    survivors: tuple[Mutant, ...] = ()


async def study(stage: Stage, subject: Subject, report: Report) -> Study | NotRun:
    """Return the cases worth testing of *subject* in *stage*.

    Raises:
        SyntaxError: this Python cannot parse it.
    """
    work = await explore(stage, subject, report)
    if isinstance(work, NotRun):
        return work
    report("repeating every call under other circumstances", None)
    pool = await confirmed(work, await asyncio.to_thread(thinned, work))
    return await _select(work, pool, report)


async def _select(work: TrialState, pool: dict[CandidateCall, Observation], report: Report) -> Study:
    chosen = await asyncio.to_thread(choose, pool, _known(work, pool))
    every = await asyncio.to_thread(mutants_of, work.subject.text, _target_lines(work))
    mutants = even_choice([mutant for mutant in every if mutant not in work.subject.noticed], _MAX_MUTANTS)
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
    simpler = await simplified(work, kept, pool, killed)
    pool |= simpler.observations
    kept = dict.fromkeys(simpler.forms.get(call, call) for call in kept)
    cases = {call: pool[call] for call in sorted(kept, key=lambda call: _place(work, call))}
    return Study(
        survey=work.survey,
        cases=cases,
        borrowed=work.around.sources,
        targets=tuple(work.targets),
        left_out=_left_out(work, pool),
        crashes=_crashes(work),
        n_calls=len(work.seen),
        n_mutants=len(mutants) - len(work.untried),
        n_killed=len(killed),
        n_noticed=len(work.subject.noticed),
        n_untried=len(work.untried),
        survivors=survivors,
    )


def _known(work: TrialState, pool: Mapping[CandidateCall, Observation]) -> frozenset[Hashable]:
    """Return the ways of the calls in *pool* that tests take already; where it is known what they notice, the kinds of
    outcome too.
    """
    covered, seen = work.subject.covered, pool.values()
    ways = frozenset[Hashable](arc for one in seen for arc in one.arcs if _is_covered(arc, covered))
    return ways.union((call.target, kind_of(one)) for call, one in pool.items()) if work.subject.noticed else ways


def _is_covered(arc: Arc, covered: frozenset[int]) -> bool:
    return all(line in covered for line in arc if line > 0)


def _place(work: TrialState, call: CandidateCall) -> tuple[object, ...]:
    order = {target.qualified_name: number for number, target in enumerate(work.targets)}
    return (order.get(call.target, len(order)), call.cost())


def _target_lines(work: TrialState) -> set[int] | None:
    """Return the lines whose mutants are tried: those of a symbol and what it calls, or None for all lines of
    a module.
    """
    if all(target in work.targets for target in work.survey.targets):
        return None
    return {line for target in work.targets for line in target.lines}


def _left_out(work: TrialState, pool: Mapping[CandidateCall, Observation]) -> dict[str, str]:
    """Return why a target has no case; one of which each call shows no more than others do is not left out."""
    tested = {call.target for call in pool}
    names = [one.qualified_name for one in work.targets if one.kind != "constructor"]
    kinds: dict[str, set[str]] = {name: set() for name in names if name not in tested}
    for call, seen in work.seen.items():
        if call.target in kinds:
            kinds[call.target].add(seen.kind)
    return {name: _why_untestable(seen) for name, seen in kinds.items()}


def _why_untestable(kinds: Collection[str]) -> str:
    """Return why no test can hold a function to what its calls did, of which these *kinds* were seen."""
    if "refused" in kinds:
        return "calls would reach the network, other files or other processes"
    if "value" in kinds:
        return "results cannot be written down, or differ from run to run"
    if "raises" in kinds:
        return "every call that was tried failed"
    if {"slow", "crashed"} & {*kinds}:
        return "calls took too long, or ended Python itself"
    return "no arguments could be made"


def _crashes(work: TrialState) -> tuple[tuple[CandidateCall, Observation], ...]:
    found: dict[tuple[str, int], tuple[CandidateCall, Observation]] = {}
    for call in sorted(work.well_typed & work.seen.keys(), key=CandidateCall.cost):
        seen = read_with_documentation(work, call, work.seen[call])
        if seen.kind == "raises" and seen.type_name in _CRASHES and seen.inside and not _is_expected(call, seen):
            found.setdefault((seen.type_name, seen.line), (call, seen))
    return tuple(found.values())


def _is_expected(call: CandidateCall, seen: Observation) -> bool:
    """Return whether an exception was raised on purpose, or for an object on which another method has to be called
    first.
    """
    owner = call.target.rpartition(".")[0].rpartition(".")[2]
    return seen.deliberate or seen.message.startswith(f"'{owner}' object has no attribute")
