"""Before a brief is carried out: the developer is asked about a difference that somebody can see, if there is one."""

from __future__ import annotations

import ast
import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from rolecall_analysis import is_python, is_test, module_names
from rolecall_server.craft.attempts import SHORT_EDIT_FORMAT
from rolecall_server.craft.characterization import Stage
from rolecall_server.craft.characterization.inputs.domains import IMPORTS
from rolecall_server.craft.doubt.disagreement import Behaviour, Trial, compare
from rolecall_server.craft.doubt.example import EXAMPLE_JSON, example_of
from rolecall_server.craft.doubt.question import DoubtQuestion, question_about
from rolecall_server.craft.doubt.solutions import PROFILE, ShortSolution, read_solutions
from rolecall_server.craft.doubt.subjects import subjects_of
from rolecall_server.errors import FileRefused, ReplyUnusable
from rolecall_server.review.guards.edit_paths import why_not_changed
from rolecall_server.sandbox import NotRun
from rolecall_server.store.messages import NewMessage
from rolecall_server.team.documents import Question
from rolecall_server.team.messages.board import Pool, as_draft
from rolecall_server.team.messages.edits import Edits, SharedBench, desk_with
from rolecall_server.team.model_stack import conversation
from rolecall_server.team.opening import open_conversation
from rolecall_server.team.plan.planning import request_in
from rolecall_server.team.plan.steps import Step
from rolecall_server.team.request import Desk, RunRequest
from rolecall_server.team.roles.engineer import focus_of, task_of
from rolecall_server.team.room import Room
from rolecall_server.team.test_quality.surroundings import subject_of
from rolecall_server.text_work import beside_the_loop
from rolecall_server.workspace import read_for_model

_EXPLORING_S = 6.0
"""The time for finding calls on each solution, beside that for running tests to see what they pass."""
_MOST_STAGE_S = 40.0
"""The time that one process may take."""
MOST_COMPARING_S = 120.0
"""The time for all of it. Solutions that end took 6 to 49 s on a machine with more to do than cores (docs/craft.md)."""


async def raise_doubt(step: Step, room: Room, pool: Pool) -> tuple[NewMessage, ...]:
    """Ask the developer what solutions of the brief disagree on, and publish the answer as an example that must hold;
    or why nothing was asked.

    Raises:
        RolecallError: the model failed.
    """
    brief = step.message("brief")
    assert brief is not None
    desk = room.desk(step, pool)
    found = await find_doubt(request_in(brief), desk)
    if isinstance(found, str):
        desk.tell(f"{found} Nothing is asked.")
        return (as_draft("doubt", {"said": f"{found} Nothing is asked.", "told": ""}),)
    options = tuple(option.text for option in found.question.options)
    question = Question(id="Q1", title=found.question.title, options=options, recommended=options[0])
    answer = (await room.developer.ask([question])).get(question.id, "")
    said = f"{question.title} {answer or f'Nobody answered, so the likeliest holds: {question.recommended}'}"
    if not answer:
        desk.tell(said)
    chosen = found.question.option(answer)
    example = example_of(found.path, found.module, chosen.ends) if chosen is not None else None
    held = EXAMPLE_JSON.dump_python(example, mode="json") if example is not None else None
    told = found.question.told(answer)
    return (as_draft("doubt", {"said": said, "told": told, "options": options, "answer": answer, "example": held}),)


@dataclass(frozen=True)
class Doubt:
    """A question about the callables of one file."""

    question: DoubtQuestion
    path: str
    module: str
    """The dotted name by which the file is imported."""


async def find_doubt(request: RunRequest, desk: Desk) -> Doubt | str:
    """Return the question that solutions of the brief of *request* lead to, or the reason why there is none.

    Raises:
        RolecallError: the model failed.
    """
    if not desk.snapshot.files:
        return "There is no code yet that a solution of the brief could be run with."
    # Asked before the model is: solutions that cannot be run would be paid for in vain.
    if (reason := desk.bench.why_no_snippet) is not None:
        return f"Solutions of the brief cannot be run here: {reason.reason}"
    try:
        solutions = await _solutions(request, desk)
    except ReplyUnusable as error:
        return f"No solution of the brief was given that could be used: {error.what}"
    if len(solutions) < 2:
        return f"{'One solution' if solutions else 'No solution'} of the brief was given that could be used."
    return await _differences(solutions, desk)


async def _solutions(request: RunRequest, desk: Desk) -> tuple[ShortSolution, ...]:
    # Else the opening would offer lookups, which this conversation does not have.
    seated = replace(desk, lookups=())
    path = "" if request.makes_file else request.path
    focus = await asyncio.to_thread(focus_of, request, path, desk.workspace, desk.snapshot)
    opening = await open_conversation(PROFILE, seated, focus, task_of(request), SHORT_EDIT_FORMAT)
    desk.report("writing short solutions of the brief", None)
    reply = await conversation(seated, looks_up=False).complete(opening)
    texts, refusal = partial(read_for_model, desk.workspace), partial(why_not_changed, desk.workspace)
    return await beside_the_loop("Reading the reply", read_solutions, reply.text, texts, refusal)


async def _differences(solutions: Sequence[ShortSolution], desk: Desk) -> Doubt | str:
    """Return the question about the first file whose callables the solutions have do different things."""
    n_run = 0
    for path in dict.fromkeys(path for each in solutions for path in each.files):
        names = await asyncio.to_thread(_callables, path, solutions, desk)
        if not names:
            continue
        trials = await _trials(path, names, solutions, desk)
        behaviours = trials if isinstance(trials, NotRun) else await _compared(trials, desk)
        if isinstance(trials, NotRun) or isinstance(behaviours, NotRun):
            return f"Solutions of the brief cannot be run here: {behaviours}"
        n_run += len(names)
        if len(behaviours) > 1 and len((question := question_about(behaviours, solutions)).options) > 1:
            return Doubt(question, path, trials[0].stage.module)
    if not n_run:
        return "Solutions of the brief have nothing in common that could be called."
    return f"{len(solutions)} solutions of the brief do the same wherever they were tried."


def _callables(path: str, solutions: Sequence[ShortSolution], desk: Desk) -> tuple[str, ...]:
    """Return the callables of *path* that can be compared."""
    before = read_for_model(desk.workspace, path) or ""
    # A solution that deletes the file has no text here, and then there is nothing to compare.
    texts = [text for each in solutions if (text := each.files.get(path, before)) is not None]
    if not is_python(path) or is_test(desk.snapshot, path) or len(texts) < len(solutions):
        return ()
    try:
        return subjects_of(before, texts)
    except (SyntaxError, ValueError, RecursionError):
        return ()


async def _trials(
    path: str, names: Sequence[str], solutions: Sequence[ShortSolution], desk: Desk
) -> list[Trial] | NotRun:
    suggested = ast.Module([ast.Expr(call) for each in solutions for call in each.calls], [])
    trials: list[Trial] = []
    for number, solution in enumerate(solutions):
        trial = await asyncio.to_thread(_trial, path, names, solution.files, desk)
        if isinstance(trial, NotRun):
            return trial
        subject = replace(trial.subject, related=(suggested, *trial.subject.related))
        if number:  # what the repository's tests and documents pass is seen once; it is tried on all
            subject = replace(subject, tests=(), documents=())
        trials.append(replace(trial, subject=subject))
    return trials


async def _compared(trials: Sequence[Trial], desk: Desk) -> tuple[Behaviour, ...] | NotRun:
    bench = desk.bench
    assert isinstance(bench, SharedBench)
    async with bench.turn:
        try:
            # Within the turn: the time that others spend on the bench is not held against the solutions.
            async with asyncio.timeout(MOST_COMPARING_S):
                return await compare(trials, desk.report)
        except TimeoutError:
            return NotRun(f"they took longer than {MOST_COMPARING_S:.0f} s.")
        finally:
            bench.lay({})


def _trial(path: str, names: Sequence[str], files: Mapping[str, str | None], desk: Desk) -> Trial | NotRun:
    at, bench = desk_with(desk, Edits(files=files)), desk.bench
    modules = module_names(at.snapshot.modules, path)
    if not modules:
        return NotRun(f"{path} is no module that can be imported.")
    assert not isinstance(bench.shadow, NotRun)
    assert not isinstance(bench.interpreter, NotRun)
    stage_s = min(bench.timeout_s, _MOST_STAGE_S)
    stage = Stage(bench.shadow, bench.interpreter, modules[0], path, IMPORTS, stage_s)
    try:
        return Trial(partial(bench.lay, files), stage, subject_of(at, path, names, _EXPLORING_S))
    except FileRefused as error:
        return NotRun(error.what)
