"""The edits of a sprint as one change: run with its tests, and repaired in a conversation."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rolecall_analysis import is_test
from rolecall_server.craft.attempt import Attempt, AttemptWork
from rolecall_server.craft.attempts import work_out
from rolecall_server.craft.from_memory import tell_from_memory
from rolecall_server.craft.installed import checking
from rolecall_server.craft.trial import breaks_the_run, evidence, failures_to_mend
from rolecall_server.craft.verdicts import to_mend
from rolecall_server.model import ChatMessage, Reply
from rolecall_server.model.prompts import prompts_beside
from rolecall_server.review.guards.edit_paths import why_not_changed
from rolecall_server.review.proposals.evidence import Evidence
from rolecall_server.sandbox import NotRun, TestRun
from rolecall_server.store.messages import MessageRow
from rolecall_server.team.documents import (
    Design,
    Kind,
    TaskList,
)
from rolecall_server.team.messages.board import content_of
from rolecall_server.team.messages.edits import Edits, desk_with, fingerprints, joined
from rolecall_server.team.model_stack import RememberingClient, conversation
from rolecall_server.team.plan.steps import Step
from rolecall_server.team.request import Desk
from rolecall_server.team.sprint.building import prose_alone
from rolecall_server.team.sprint.edit_scope import answer_wishes, files_of, read_wishes
from rolecall_server.team.test_quality.trials import Trials
from rolecall_server.workspace import read_for_model

_ROLES = Path(__file__).parents[1] / "roles"
_PROMPTS = prompts_beside(__file__)


@dataclass(frozen=True)
class WholeChange:
    """All of a sprint's edits, and how their tests went."""

    edits: Edits
    attempt: Attempt
    before: TestRun | NotRun | None
    lacks: tuple[str, ...] = ()
    """The things that are missing and that no test shows, a point each: a file that a task names, say."""

    @property
    def is_sound(self) -> bool:
        """Return whether nothing in the change has to be repaired."""
        return self.attempt.works and not self.attempt.certain_findings and not self.lacks


@dataclass(frozen=True)
class RepairReach:
    """The files that may be changed while a change is repaired."""

    known: frozenset[str]
    """Those of the change, of the tasks and the design, and those that it breaks; another one needs a reason."""
    others: Collection[str] = ()
    """Those of somebody else."""
    is_closed: bool = False
    """No reason opens another file."""


@dataclass(frozen=True)
class Repair:
    """One conversation about a change as a whole."""

    opening: tuple[ChatMessage, ...]
    reach: RepairReach
    on_failure: str


async def try_whole(desk: Desk, edits: Edits) -> WholeChange:
    """Check *edits* and run the tests that reach them; return them with their findings and the run."""
    trials = _trials(desk, edits)
    check = await checking(desk.bench, desk.snapshot, desk.workspace.root)
    findings = await asyncio.to_thread(check, edits.files)
    run = await trials.of_change(edits.files)
    before = trials.before
    attempt = Attempt(
        edits.files,
        run,
        failures=failures_to_mend(before, run),
        breaks_the_run=breaks_the_run(before, run),
        findings=findings,
        renames=edits.renames,
    )
    return WholeChange(edits, attempt, before)


def _trials(desk: Desk, edits: Edits) -> Trials:
    return Trials(desk, [path for path in edits.files if path.endswith(".py") and not is_test(desk.snapshot, path)])


def repair_conversation(
    desk: Desk, whole: WholeChange, reach: RepairReach, begun: Sequence[Reply] = ()
) -> RememberingClient:
    """Return a client for a conversation about *whole*, in which who asks for another file is shown it."""
    overheard = conversation(desk, looks_up=False, begun=begun)
    laid = desk_with(desk, whole.edits).workspace
    overheard.answer = lambda said: answer_wishes(laid, lambda path: _refusal(desk, reach, path, said), said)
    return overheard


async def work_out_repair(desk: Desk, whole: WholeChange, repair: Repair, client: RememberingClient) -> WholeChange:
    """Hold a conversation about *whole* and return it with the edits on top, if it is no worse with them."""
    laid = desk_with(desk, whole.edits)
    trials = _trials(desk, whole.edits)
    # The run without the change is known; else the whole suite might run for it once more.
    trials.before = whole.before
    check = await checking(desk.bench, desk.snapshot, desk.workspace.root)

    async def try_out(files: Mapping[str, str | None]) -> TestRun | NotRun:
        return await trials.of_change({**whole.edits.files, **files})

    work = AttemptWork(
        opening=repair.opening,
        read_text=lambda path: read_for_model(laid.workspace, path),
        refusal=lambda path: _refusal(desk, repair.reach, path, client.said),
        try_out=try_out,
        before=lambda: trials.before,
        on_failure=repair.on_failure,
        check=lambda files: check({**whole.edits.files, **files}),
        moves_files=True,
        to_mend=to_mend,
        most_repairs=desk.settings.team.repairs,
        keep=desk.keep,
    )
    outcome = await work_out(work, client, desk.report)
    if outcome.interrupted is not None:
        raise outcome.interrupted
    attempt = outcome.attempt
    # Without the last part, how many tests pass: a repair may take away a test that is wrong.
    if attempt.rank()[:4] < whole.attempt.rank()[:4]:
        return whole
    paths = {*attempt.files, *attempt.renames}
    wishes = read_wishes(client.said)
    change = Edits(
        files=attempt.files,
        renames=attempt.renames,
        bases=fingerprints(desk.workspace, sorted(paths)),
        tasks={path: _tasks_near(whole.edits, path) for path in attempt.files},
        widened={path: wishes[path] for path in attempt.files.keys() - repair.reach.known if path in wishes},
        rationale=prose_alone(outcome.rationale),
    )
    return replace(whole, edits=joined([whole.edits, change]), attempt=attempt, before=trials.before)


def _tasks_near(edits: Edits, path: str) -> tuple[str, ...]:
    """Return the tasks that changed *path*; all of them where none did."""
    return edits.tasks.get(path) or tuple(dict.fromkeys(task for tasks in edits.tasks.values() for task in tasks))


def repair_opening(profile: str, told: str, edit_format: str) -> tuple[ChatMessage, ...]:
    """Return the first messages to the role whose prompt is in the file *profile*."""
    system = (_ROLES / profile).read_text(encoding="utf-8")
    return ChatMessage("system", f"{system}\n# How to answer\n\n{edit_format}"), ChatMessage("user", told)


def reach_of(step: Step, whole: WholeChange, others: Collection[str]) -> RepairReach:
    """Return the files that the Engineer may change in a sprint's change, *others* left aside."""
    design, tasks = step.message(Kind.DESIGN), step.message(Kind.TASK_LIST)
    named = {path for task in content_of(tasks, TaskList).tasks for path in task.files} if tasks else set[str]()
    named |= {*files_of(content_of(design, Design))} if design else set()
    broken = {place.path for finding in whole.attempt.findings for place in finding.places}
    broken |= {finding.path for finding in whole.attempt.findings}
    return RepairReach(frozenset((*whole.edits.files, *named, *broken)), others)


def _refusal(desk: Desk, reach: RepairReach, path: str, said: str) -> str | None:
    """Return the reason why *path* may not be changed by the one who *said* that, or ``None``."""
    if path in reach.others:
        return _PROMPTS["not yours"].format(path=path)
    if path not in reach.known and reach.is_closed:
        return _PROMPTS["closed"].format(known=", ".join(sorted(reach.known)), path=path)
    if path not in reach.known and desk.snapshot.files and path not in read_wishes(said):  # else all of it is new
        return _PROMPTS["unknown"].format(path=path)
    return why_not_changed(desk.workspace, path)


def measures_in(step: Step) -> list[MessageRow]:
    """Return the documents by which the change is to be measured."""
    measures = (Kind.REQUIREMENTS, "answers", Kind.DESIGN, Kind.TASK_LIST)
    return [message for message in step.read if message.kind in measures]


def evidence_of(desk: Desk, whole: WholeChange, repairs: int) -> Evidence:
    """Return what was checked of *whole*, which took so many *repairs*."""
    assert desk.client is not None
    attempt = whole.attempt
    shown = evidence(
        whole.before,
        attempt.run,
        problems=attempt.syntax_errors,
        findings=attempt.findings,
        repairs=repairs,
        model=desk.client.label,
        changed=whole.edits.files,
    )
    lacks = (one.removeprefix("- ").partition("\n")[0] for one in whole.lacks)
    remembered = tell_from_memory(whole.edits.notes, whole.edits.files, attempt.findings, attempt.run)
    return replace(shown, notes=(*shown.notes, *lacks, *remembered, *desk.bench.kept_back.notes))
