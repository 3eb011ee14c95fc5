"""The calls of a module that are tried, what is known of them so far, and which of them can be relied on."""

from __future__ import annotations

import ast
import asyncio
import re
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from rolecall_server.craft.characterization.behaviour import cluster
from rolecall_server.craft.characterization.execution import Observed, RunConditions, Stage, observe
from rolecall_server.craft.characterization.inputs.call_forms import call_of_result
from rolecall_server.craft.characterization.inputs.calls import MAX_CALLS, Example, calls_of, values_for
from rolecall_server.craft.characterization.inputs.domains import STRINGS, ValueSources, interleaved, rows_of
from rolecall_server.craft.characterization.inputs.literals import Literals, literals_in
from rolecall_server.craft.characterization.inputs.neighbours import NearbyModule, Neighbourhood
from rolecall_server.craft.characterization.inputs.patterns import matching, matching_with
from rolecall_server.craft.characterization.inputs.related import related_nodes
from rolecall_server.craft.characterization.inputs.survey import (
    CallableParameter,
    CallTarget,
    Survey,
    constructor_parameters,
    is_private,
)
from rolecall_server.craft.characterization.inputs.usage.command_line import calls_with_command_lines
from rolecall_server.craft.characterization.inputs.variation import vary
from rolecall_server.craft.characterization.observation import (
    DOCUMENTED,
    IN_REPOSITORY,
    STOOD_IN,
    THROUGH_ANOTHER,
    CandidateCall,
    Observation,
)
from rolecall_server.craft.characterization.recording import Recording
from rolecall_server.craft.characterization.selection import assertable, stable, tells
from rolecall_server.sandbox import Mutant, NotRun

# The two zones lie 21 hours apart and more: what depends on the local day or hour comes out otherwise in one.
_ELSEWHERE = (
    RunConditions(hash_seed=1, time_zone="Pacific/Kiritimati", clock_shift_days=400, more_path="/nowhere", columns=40),
    RunConditions(hash_seed=4242, time_zone="America/Los_Angeles", clock_shift_days=-1000, columns=200, alone=True),
)
_VARIATIONS = 70
_MAX_PARTS = 8
_LONGEST_PART = 12
_MAX_SIGNED = 12
"""So many texts that a pattern matches have the target's own texts in them."""
_ALIKE = 40
_SHARE_OF_REAL = 0.6
_MAX_FIRST_CALLS = 4500
_MAX_GIVERS = 4
"""So many calls of one form that give a function are gone on from."""
_MAX_GIVEN = 8
"""So many arguments are given to each of these functions."""
_WORD = re.compile(r"\w+")
_SAYING_LITTLE = frozenset(["Any", "Callable", "object"])
_SLOW_S = 0.1
LEAST_S = 15.0
"""The time that calls may take where the time is over: those that were not heard of in time would be lost."""


@dataclass(frozen=True)
class Subject:
    """The module or symbol that is to be tested, and what is known of it."""

    text: str
    """The module."""
    symbols: Collection[str] = ()
    """Qualified names; empty for the whole module."""
    covered: frozenset[int] = frozenset()
    """Lines that tests reach already."""
    noticed: Collection[Mutant] = ()
    """Mutants that tests notice already, where these were tried: then only calls that tell others are worth a test."""
    related: Sequence[ast.Module] = ()
    """Files that use the module, the tests among them."""
    neighbours: Sequence[NearbyModule] = ()
    """Modules around it, from whose objects its arguments may be built; the nearest first."""
    tests: Sequence[str] = ()
    """The test files that use the module, relative to the workspace; the nearest first."""
    documents: Sequence[str] = ()
    """The texts of documents that may show how it is used."""
    budget_s: float = 20.0


@dataclass
class TrialState:
    """The knowledge gathered so far."""

    stage: Stage
    subject: Subject
    survey: Survey
    around: Neighbourhood
    targets: list[CallTarget]
    sources: dict[str, ValueSources]
    deadline: float
    random: Random
    seen: dict[CandidateCall, Observation] = field(default_factory=dict[CandidateCall, Observation])
    classes: dict[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    import_lines: frozenset[int] = frozenset()
    well_typed: set[CandidateCall] = field(default_factory=set[CandidateCall])
    recording: Recording = field(default_factory=Recording)
    untried: set[Mutant] = field(default_factory=set[Mutant])
    """Mutants that calls might tell, and for which there was no time."""

    @property
    def left_s(self) -> float:
        """The time that is left."""
        return max(0.0, self.deadline - time.monotonic())


def first_calls(work: TrialState, targets: Sequence[CallTarget], examples: Sequence[Example]) -> list[CandidateCall]:
    return [call for target in targets for call in _first_calls_of(work, target, examples)]


def _first_calls_of(work: TrialState, target: CallTarget, examples: Sequence[Example]) -> list[CandidateCall]:
    told = work.classes.get(target.owner)
    if told is not None and (told["abstract"] or (target.kind == "constructor" and not _builds(work, target, told))):
        return []
    nodes = list(related_nodes(work.survey, target))
    own = [node for tree in work.survey.examples for node in [tree] if target.name in ast.unparse(tree)]
    sources = replace(
        work.sources[""],
        strings=strings_in(work, [*nodes[:1], *own, *nodes[1:], work.survey.tree]),
        numbers=literals_in([*nodes[:1], *own, *nodes[1:]]).numbers[:40],
    )
    work.sources[target.qualified_name] = sources
    limit = min(MAX_CALLS, max(60, _MAX_FIRST_CALLS // (len(work.targets) or 1)))
    recorded = work.recording.calls.get(target.qualified_name, ())
    # A seed by name: which calls are made up for a target does not hang on the other targets.
    made_up = calls_of(target, sources, examples, Random(target.qualified_name), work.recording.passed)[:limit]
    at_a_prompt = [] if "patch" in work.survey.names | work.survey.borrowed else calls_with_command_lines(target, nodes)
    calls = list(dict.fromkeys([*recorded, *made_up, *at_a_prompt]))
    if target.parameters and all(map(_tells_its_type, target.parameters)):
        work.well_typed.update(calls)
    return calls


def _tells_its_type(parameter: CallableParameter) -> bool:
    """Return whether an annotation says what is passed; for a function it rarely says what that must take and give."""
    names = set[str](_WORD.findall(ast.unparse(parameter.annotation))) if parameter.annotation else set[str]()
    return bool(names) and not names & _SAYING_LITTLE


def _builds(work: TrialState, target: CallTarget, told: Mapping[str, Any]) -> bool:
    """Return whether the class has a constructor of its own that is worth a test."""
    node = work.survey.classes[target.name]
    own = constructor_parameters(node, work.survey.classes)
    return not told["members"] and bool(own) and not told["exception"]


def calls_of_results(work: TrialState) -> list[CandidateCall]:
    """Return calls of the functions that calls gave: a few for each form of a call."""
    # What stands behind an operator's last operand would call that operand.
    targets = {one.qualified_name: one for one in work.targets if not one.operation}
    givers: dict[tuple[str, str], list[CandidateCall]] = {}
    for call in sorted(work.seen, key=CandidateCall.cost):
        if work.seen[call].takes is not None and call.target in targets:
            givers.setdefault((call.target, call.template), []).append(call)
    return [
        call_of_result(call, given)
        for (name, _), calls in givers.items()
        for call in calls[:_MAX_GIVERS]
        for given in _given_to(work, targets[name], work.seen[call].takes or ())
    ]


def _given_to(work: TrialState, target: CallTarget, names: Sequence[str]) -> Iterator[dict[str, str]]:
    """Yield arguments for a function that *target* gave, by their names; of any number, none and one function."""
    sources = work.sources.get(target.qualified_name, work.sources[""])
    plain = ["function" if name.startswith("*") else name for name in names]
    if plain != list(names):
        yield {}
    yield from rows_of({name: values_for(target, CallableParameter(name), sources)[:_MAX_GIVEN] for name in plain})


def strings_in(work: TrialState, nodes: Sequence[ast.AST]) -> tuple[str, ...]:
    """Return the strings that *nodes* name, strings that their regular expressions match, and those of related files,
    in turn.
    """
    own = literals_in(nodes)
    random = Random(1)
    samples = [text for pattern in own.patterns for text in matching(pattern, 2, random)]
    named = literals_in(nodes[:1])
    signs = [text for text in (*named.patterns, *named.strings) if 0 < len(text) <= _LONGEST_PART][:_MAX_PARTS]
    patterns = [one for one in own.patterns if " " not in one][:_MAX_PARTS]  # without what is a message
    signed = [text for one in patterns for text in matching_with(one, signs, _MAX_SIGNED, random)]
    words = [text for text in own.strings if text.isalpha()][:40]
    in_other_cases = [form for word in words for form in (word.capitalize(), word.upper())]
    around = [text for part in literals_in(nodes[:1]).strings[:_MAX_PARTS] for text in _texts_with(part)]
    others = _texts_of(work.subject.related)
    numbers = _number_texts(nodes[:1])
    return tuple(interleaved(own.strings[:120], samples[:120], signed, around, numbers, in_other_cases, others))


def _number_texts(nodes: Sequence[ast.AST]) -> list[str]:
    """Return texts of the numbers that *nodes* name, and of the next ones, where they make numbers of texts."""
    calls = (one for node in nodes for one in ast.walk(node) if isinstance(one, ast.Call))
    if not any(isinstance(call.func, ast.Name) and call.func.id in ("int", "float") for call in calls):
        return []
    numbers = literals_in(nodes).numbers[:_MAX_PARTS]
    return [str(one) for number in numbers for one in (number + 1, number, number - 1)]


def _texts_with(part: str) -> Iterable[str]:
    """Yield texts that begin or end with *part*, or hold it: code often asks for that."""
    if 0 < len(part) <= _LONGEST_PART:
        yield from (f"{part}abc", f"abc{part}", f"{part}abc{part}", f"abc{part}def")


def _texts_of(trees: Sequence[ast.Module]) -> Iterable[str]:
    found: Literals = literals_in(trees)
    return found.strings[:60]


async def observe_new(work: TrialState, calls: Sequence[CandidateCall]) -> NotRun | None:
    new = [call for call in dict.fromkeys(calls) if call not in work.seen]
    if not new:
        return None
    observed = await observe(replace(work.stage, timeout_s=max(LEAST_S, work.left_s)), new, trace=True)
    if isinstance(observed, NotRun):
        return observed
    work.seen.update(observed.observations)
    return None


def usable(work: TrialState, call: CandidateCall, seen: Observation) -> bool:
    """Return whether a test can use a call: one of what is not public, not of this module, or given a mock has to tell
    something.
    """
    is_mocked = call.origin == STOOD_IN
    if (call.is_through_another or is_private(call.target) or is_mocked) and not tells(seen):
        return False
    if is_mocked and seen.kind != "value" and not _is_refusal_of_parts(seen):
        return False  # what is raised because a mock is no true object says nothing
    return assertable(read_with_documentation(work, call, seen)) and seen.duration_s < _SLOW_S


def _is_refusal_of_parts(seen: Observation) -> bool:
    """Return whether a call that was given a mock raised what it would raise of a true object with the same parts."""
    return seen.deliberate and seen.type_name not in ("TypeError", "AttributeError") and "Mock" not in seen.message


def thinned(work: TrialState) -> dict[CandidateCall, Observation]:
    """Return the calls that a test can use, without those that have the same way and outcome as several
    simpler ones.
    """
    calls = {call: seen for call, seen in work.seen.items() if usable(work, call, seen)}
    groups: dict[object, int] = {}
    found: dict[CandidateCall, Observation] = {}
    for call in sorted(calls, key=CandidateCall.cost):
        seen = calls[call]
        key = (call.target, call.template, seen.outcome, seen.arcs)
        groups[key] = groups.get(key, 0) + 1
        if groups[key] <= _ALIKE:
            found[call] = seen
    return found


def read_with_documentation(work: TrialState, call: CandidateCall, seen: Observation) -> Observation:
    """Return *seen*, marked as deliberate also where the documentation names the exception."""
    if seen.kind != "raises" or seen.deliberate or not seen.inside:
        return seen
    target = next((one for one in work.targets if one.qualified_name == call.target), None)
    documentation = (ast.get_docstring(target.node) or "") if target is not None else ""
    return replace(seen, deliberate=seen.type_name.rpartition(".")[2] in documentation)


def variations(work: TrialState, seen: Mapping[CandidateCall, Observation]) -> list[CandidateCall]:
    """Variations of the calls that stand for a behaviour each, and of those that somebody made."""
    ended = {call: one for call, one in seen.items() if one.kind in ("value", "raises")}
    by_target: dict[str, list[CandidateCall]] = {}
    for call in dict.fromkeys([*(group.representative for group in cluster(ended)), *filter(_is_real, ended)]):
        if assertable(read_with_documentation(work, call, ended[call])):
            by_target.setdefault(call.target, []).append(call)
    found: list[CandidateCall] = []
    for name, seeds in by_target.items():
        found += varied(work, name, seeds, _VARIATIONS)
    return found


def varied(
    work: TrialState, target: str, seeds: Sequence[CandidateCall], how_many: int, words: Sequence[str] = ()
) -> list[CandidateCall]:
    """Return variations of *seeds*, with *words* in their texts, else with those that the target may know."""
    sources = work.sources.get(target, work.sources[""])
    strings = words or sources.strings or STRINGS
    # A text as a seed gives the same numbers in every process; its hash would not.
    random = Random(f"{target} {len(work.seen)}")
    # What somebody passed has the form that the target is made for.
    real = [*filter(_is_real, seeds)] or seeds
    return [
        vary(random.choice(real if random.random() < _SHARE_OF_REAL else seeds), seeds, strings, random)
        for _ in range(how_many)
    ]


def _is_real(call: CandidateCall) -> bool:
    return call.origin in (DOCUMENTED, IN_REPOSITORY, THROUGH_ANOTHER)


async def confirmed(work: TrialState, calls: Mapping[CandidateCall, Observation]) -> dict[CandidateCall, Observation]:
    """Run *calls* again in other processes, in other orders, at other times and places; return those that end alike."""
    orders = [list(calls), list(calls)[::-1]]
    work.random.shuffle(orders[0])
    stage = replace(work.stage, timeout_s=max(LEAST_S, work.left_s))
    runs = await asyncio.gather(
        *(
            observe(stage, order, trace=False, circumstances=circumstances)
            for order, circumstances in zip(orders, _ELSEWHERE, strict=True)
        )
    )
    again = [run.observations for run in runs if isinstance(run, Observed)]
    if len(again) < len(runs):
        return {}
    confirmed = stable([calls, *again])
    return {call: read_with_documentation(work, call, seen) for call, seen in confirmed.items()}
