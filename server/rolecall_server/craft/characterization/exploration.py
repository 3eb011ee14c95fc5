"""Calls of a module, made and varied until what it does is seen from many sides."""

from __future__ import annotations

import ast
import asyncio
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from random import Random

from rolecall_server.craft.characterization.call_trials import (
    Subject,
    TrialState,
    calls_of_results,
    first_calls,
    observe_new,
    usable,
    variations,
)
from rolecall_server.craft.characterization.circumstances import calls_with_flags, calls_with_variables
from rolecall_server.craft.characterization.execution import Stage
from rolecall_server.craft.characterization.inputs.calls import Example, examples_in
from rolecall_server.craft.characterization.inputs.documents import pieces_in, pieces_of
from rolecall_server.craft.characterization.inputs.neighbours import Neighbourhood, neighbourhood
from rolecall_server.craft.characterization.inputs.stand_ins import passed_on
from rolecall_server.craft.characterization.inputs.survey import CallTarget, Survey, survey
from rolecall_server.craft.characterization.objects import build_instances, stood_in
from rolecall_server.craft.characterization.observation import DOCUMENTED, IN_REPOSITORY, Arc
from rolecall_server.craft.characterization.recording import Recording, record
from rolecall_server.craft.characterization.sequences import calls_on_changed_objects
from rolecall_server.sandbox import NotRun

_ROUNDS = 2
_SHARE_FOR_THE_REST = 0.6
"""The part of the time that is left to what comes after varying calls."""
_MAX_PRIVATE = 40
_RESULTS_OF_RESULTS = 2
"""A decorator that takes arguments gives a function that gives a function."""
_VARIABLES_AFTER_OTHERS = 2
"""A variable may be asked for where another one is set."""
_STEPS = 2
"""So many calls are made on an object before the one that is told."""
_ENOUGH = 0.75
"""The part of a function that calls without mocks run: where it is less, mocks are tried."""
_BUILDERS = ("__init__", "__new__", "__post_init__")
Report = Callable[[str, float | None], None]
"""Told what is going on, and how far it is (0 to 1) where that is known."""


async def explore(stage: Stage, subject: Subject, report: Report) -> TrialState | NotRun:
    """Return what calls of *subject* in *stage* do: those that others make, those that types suggest, and variations.

    Raises:
        SyntaxError: this Python cannot parse it.
    """
    known = survey(subject.text)
    around = neighbourhood(known, subject.neighbours)
    known = replace(known, borrowed=frozenset(around.sources))
    stage = replace(
        stage, imports={**{name: (module, name) for name, module in around.sources.items()}, **stage.imports}
    )
    private = [one for one in known.private if _is_wanted(one, subject.symbols)]
    wanted = [one for one in known.targets if _is_wanted(one, subject.symbols)] or private
    report("running the tests there are, to see what they pass", None)
    shown = [*map(pieces_in, subject.documents), *(one for tree in [known.tree] for one in pieces_of(tree))]
    recording = await record(stage, known, subject.tests, [one for one in shown if one])
    known, around, stage = _with_names(known, around, stage, recording)
    untested = [one for one in wanted if not set(_body_lines(one)) <= subject.covered]
    targets = untested or wanted
    # A fixed seed: what is found on one text should depend on chance as little as can be.
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
    report(f"trying calls of {_counted(targets)}", None)
    refused = await observe_new(work, [*await asyncio.to_thread(first_calls, work, targets, examples), *recording.ways])
    if refused is not None:
        return refused
    await _try_further(work, private, examples, report)
    if little := await asyncio.to_thread(_little_reached, work, work.targets, _ENOUGH):
        report(f"trying mocks for what {_counted(little)} may need", None)
        await observe_new(work, await asyncio.to_thread(stood_in, work, little))
        await _ask_what_is_passed_on(work)
    for number in range(_ROUNDS):
        if number and work.left_s < _SHARE_FOR_THE_REST * subject.budget_s:
            break  # the first round is made however late it is: what is found depends little on the machine
        report(f"varying the telling calls, round {number + 1} of {_ROUNDS}", None)
        await observe_new(work, await asyncio.to_thread(variations, work, work.seen))
    return work


async def _try_further(
    work: TrialState, private: Sequence[CallTarget], examples: Sequence[Example], report: Report
) -> None:
    """Try calls with other flags and variables, of the functions that calls gave, of the *private* ones that were not
    reached, and on objects as other calls left them.
    """
    if "patch" not in work.survey.names | work.survey.borrowed:
        await observe_new(work, await asyncio.to_thread(calls_with_flags, work))
        for _ in range(_VARIABLES_AFTER_OTHERS):
            await observe_new(work, await asyncio.to_thread(calls_with_variables, work))
    for _ in range(_RESULTS_OF_RESULTS):
        await observe_new(work, await asyncio.to_thread(calls_of_results, work))
    own = [one for one in private if one not in work.targets]
    if unreached := (await asyncio.to_thread(_little_reached, work, own, 0.5))[:_MAX_PRIVATE]:
        report(f"trying calls of {len(unreached)} private functions that no public one leads to", None)
        await observe_new(work, await asyncio.to_thread(first_calls, work, unreached, examples))
        work.targets += unreached
    ways = frozenset[Arc]()
    for _ in range(_STEPS):
        new = await asyncio.to_thread(calls_on_changed_objects, work, ways)
        if new:
            report(f"trying {len(new)} calls on objects that other calls changed", None)
        ways = frozenset(arc for seen in work.seen.values() for arc in seen.arcs)
        await observe_new(work, new)


def _counted(targets: Sequence[CallTarget]) -> str:
    return f"{len(targets)} function{'s' if len(targets) != 1 else ''}"


async def _ask_what_is_passed_on(work: TrialState) -> None:
    """Try calls that ask whether what a mock gave comes back, in the place of those that do not ask."""
    asking = passed_on(work.seen)
    await observe_new(work, list(asking.values()))
    for call, asked in asking.items():
        if asked in work.seen and usable(work, asked, work.seen[asked]):
            del work.seen[call]


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


def _is_wanted(target: CallTarget, symbols: Collection[str]) -> bool:
    name = target.qualified_name
    return not symbols or any(name == symbol or name.startswith(f"{symbol}.") for symbol in symbols)


def _little_reached(work: TrialState, targets: Sequence[CallTarget], share: float) -> list[CallTarget]:
    """Return those of *targets* of which less than a *share* was run by calls that a test can use, and by tests."""
    reached = set(work.subject.covered)
    for call, seen in work.seen.items():
        if usable(work, call, seen):
            reached |= seen.lines
    lines = {one: set(_body_lines(one)) for one in targets}
    return [one for one, body in lines.items() if len(body & reached) < share * len(body)]


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
