"""A run of the team: steps are taken as soon as they can be, several at a time, until nothing is left to do.

The pool in the store is all there is to know of a run. Whoever works on it, in this process or after a crash in the
next, looks at the messages, takes the steps that are due, and stores each with what it publishes in one transaction.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Generator, Mapping
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from rolecall_server.errors import (
    BudgetSpent,
    DocumentUnusable,
    HunkStale,
    KeyRefused,
    NoModelConfigured,
    NotFound,
    ProviderUnavailable,
    RolecallError,
    RunPaused,
    StoreUnavailable,
    UnknownModel,
)
from rolecall_server.model import Chosen
from rolecall_server.sandbox import NotRun
from rolecall_server.store import Store
from rolecall_server.store.messages import NewMessage, StepRow, finish_step, note_step
from rolecall_server.team.code_review.verdicts import judge_code
from rolecall_server.team.documents import Kind
from rolecall_server.team.documents.understanding import understand
from rolecall_server.team.messages.board import TEAM, Pool, as_draft, body_of, content_of, load_pool, publish
from rolecall_server.team.messages.edits import Edits, SharedBench, moved_files
from rolecall_server.team.plan.agenda import agenda_of
from rolecall_server.team.plan.planning import LEAN, planned_roster, request_of, restore_brief, settle_strategy
from rolecall_server.team.plan.steps import Step, possible_steps, steps_to_take
from rolecall_server.team.request import Repository
from rolecall_server.team.roles.declarations import Role, Verb, known_roles
from rolecall_server.team.room import Developer, Room
from rolecall_server.team.run import check_request, open_bench, work_alone
from rolecall_server.team.sprint.answering import answer_review
from rolecall_server.team.sprint.building import implement_task, write_requirement_tests
from rolecall_server.team.sprint.change_plan import show_changes
from rolecall_server.team.sprint.integration import integrate
from rolecall_server.team.sprint.proposing import propose, review_sprint
from rolecall_server.team.sprint.writing import allot, ask_questions, write_document

logger = logging.getLogger(__name__)


async def _raise_doubt(step: Step, room: Room, pool: Pool) -> tuple[NewMessage, ...]:
    from rolecall_server.team.sprint.doubting import raise_doubt  # slow to import, and seldom needed

    return await raise_doubt(step, room, pool)


_DO: Mapping[Verb, Callable[[Step, Room, Pool], Coroutine[Any, Any, tuple[NewMessage, ...]]]] = {
    Verb.WRITE: write_document,
    Verb.DOUBT: _raise_doubt,
    Verb.ASK: ask_questions,
    Verb.ALLOT: allot,
    Verb.SHOW: show_changes,
    Verb.IMPLEMENT: implement_task,
    Verb.TEST: write_requirement_tests,
    Verb.INTEGRATE: integrate,
    Verb.ANSWER: answer_review,
    Verb.PROPOSE: propose,
    Verb.ALONE: work_alone,
    Verb.REVISE: work_alone,
    Verb.JUDGE: judge_code,
}

_SAME_WORDS_HELP = (ProviderUnavailable, BudgetSpent, KeyRefused, UnknownModel, StoreUnavailable, HunkStale, RunPaused)
"""Failures after which what the model said before is as good as it was; after others it is asked anew."""

NO_CODE = NotRun("Nobody of the team writes code.")


@dataclass(frozen=True)
class Ended:
    """The point that a run reached."""

    state: str
    """``finished``, ``waiting`` for decisions, ``paused`` or ``failed``."""
    proposal_id: str = ""
    """The proposal of the open sprint, or of the one role that works alone; empty where there is none."""
    errors: tuple[RolecallError, ...] = ()
    """The errors that kept roles from going on."""

    @property
    def error(self) -> RolecallError | None:
        """The first of them."""
        return self.errors[0] if self.errors else None


async def carry_out_run(
    run_id: str, repository: Repository, model: Chosen | NoModelConfigured, developer: Developer
) -> Ended:
    """Work on a run, begun or taken up again, until it waits for the developer or nothing is left to do.

    How it ended is stored in every case.

    Raises:
        RolecallError: it cannot be taken up again, or nobody can build on what the developer wrote.
    """
    store = repository.store
    async with AsyncExitStack() as stack:
        stack.enter_context(_end_stored(store, run_id))
        restore_brief(store, run_id)
        pool = load_pool(store, run_id)
        if (request := request_of(pool)) is not None:
            check_request(request, repository.workspace)
        # The plan may be published anew here, so the pool is read once more below.
        repository = replace(repository, settings=await settle_strategy(repository, pool, developer.tell))
        pool = load_pool(store, run_id)
        # One role alone is one of ours (`role_alone`): roles of the repository count in a team only.
        roles = known_roles(repository.workspace, store) if request is None else {}
        roster = planned_roster(pool, roles, doubts=repository.settings.team.doubt)
        await _publish_understanding(repository, pool, roster)
        bench = SharedBench(NO_CODE, NO_CODE, 0.0)
        if any(role.publishes(kind) for role in roster.values() for kind in ("edits", "proposal")):
            # Without a model, what tests print goes to the developer alone, who may see the secrets of the workspace.
            is_shown = not isinstance(model, NoModelConfigured)
            bench = await stack.enter_async_context(open_bench(repository, developer.report, for_model=is_shown))
        return await operate(Room(run_id, repository, roster, model, bench, developer))


async def _publish_understanding(repository: Repository, pool: Pool, roster: Mapping[str, Role]) -> None:
    """Tell a team that has not begun what code understands of the repository; a role alone sees for itself."""
    is_alone = TEAM not in roster or {*roster} == {TEAM, *LEAN}
    if not is_alone and not pool.steps and pool.latest(Kind.UNDERSTANDING) is None:
        understood = await asyncio.to_thread(understand, repository.snapshot, repository.workspace)
        publish(repository.store, pool.run_id, TEAM, as_draft(Kind.UNDERSTANDING, understood))


async def operate(room: Room) -> Ended:
    """Take all steps that can be taken; how the run ended is stored in every case.

    Raises:
        RolecallError: nobody can build on a document that the developer wrote.
        StoreUnavailable: the store failed.
    """
    store = room.repository.store
    with _end_stored(store, room.run_id):
        ended = await _Operation(room).go_on()
    store.end_run(room.run_id, ended.state, " ".join(str(error) for error in ended.errors))
    return ended


@contextmanager
def _end_stored(store: Store, run_id: str) -> Generator[None]:
    """Store the end of a run that an error or the developer ends."""
    try:
        yield
    except asyncio.CancelledError:
        store.end_run(run_id, "cancelled")
        raise
    # Ctrl+C as well: else the run would stand as running until somebody finds its process gone.
    except BaseException as error:
        store.end_run(run_id, "failed", str(error))
        raise


@dataclass
class _Operation:
    """One process at work on a run."""

    room: Room
    running: dict[str, tuple[Step, asyncio.Task[tuple[NewMessage, ...]]]] = field(
        default_factory=dict[str, tuple[Step, "asyncio.Task[tuple[NewMessage, ...]]"]]
    )
    failed: dict[str, RolecallError] = field(default_factory=dict[str, RolecallError])
    n_told: int = 0
    """The number of the last message that was told of."""

    async def go_on(self) -> Ended:
        pool = self._pool()
        # What is there by now was told of by the process that worked on the run before.
        self.n_told = max((message.id for message in pool.messages), default=0)
        if review_sprint(self.room.repository.store, pool, self.room.repository.workspace):
            pool = self._pool()
        withdraw_moved(self.room, pool)
        try:
            while True:
                pool = self._pool()
                self._tell(pool)
                self._begin_and_cancel(pool)
                self.room.developer.on_steps([step for step, _ in self.running.values()])
                if not self.running:
                    return self._end(pool)
                await self._wait()
        finally:
            # A step that outlived its run would go on to ask the model, and nobody would store its answer.
            await self._stop([task for _, task in self.running.values()])

    def _pool(self) -> Pool:
        return load_pool(self.room.repository.store, self.room.run_id)

    def _tell(self, pool: Pool) -> None:
        for message in pool.messages:
            if message.id > self.n_told:
                self.n_told = message.id
                self.room.developer.on_message(message)

    def _begin_and_cancel(self, pool: Pool) -> None:
        """Start what can be started, and stop work on documents that have changed since it began."""
        steps = possible_steps(pool, self.room.roster)
        due = {step.key: step for step in steps_to_take(pool, steps, self.failed.keys())}
        for key in [key for key in self.running if key not in due]:
            _, task = self.running.pop(key)
            task.cancel()
        # After the loop above: a pause lets steps end, but not those whose documents have changed.
        if self.room.developer.control.is_paused or self._waits():
            return
        for step in due.values():
            if step.key not in self.running and len(self.running) < self.room.repository.settings.team.at_once:
                task = asyncio.get_running_loop().create_task(_DO[step.duty.does](step, self.room, pool))
                self.running[step.key] = (step, task)

    def _waits(self) -> bool:
        """Return whether a step ended because the developer has to do something first."""
        return any(isinstance(error, BudgetSpent | RunPaused) for error in self.failed.values())

    async def _wait(self) -> None:
        """Wait until a step has ended or something came from outside, and store what ended."""
        # No change is lost by this: nothing was awaited since the messages were read.
        self.room.developer.control.changed.clear()
        look = asyncio.get_running_loop().create_task(self.room.developer.control.changed.wait())
        try:
            tasks = [task for _, task in self.running.values()]
            await asyncio.wait([*tasks, look], return_when=asyncio.FIRST_COMPLETED)
        finally:
            look.cancel()
        for key, (step, task) in list(self.running.items()):
            if task.done():
                del self.running[key]
                self._settle(step, task)

    def _settle(self, step: Step, task: asyncio.Task[tuple[NewMessage, ...]]) -> None:
        store, run_id = self.room.repository.store, self.room.run_id
        row = self._pool().steps.get(step.key)
        attempt = row.attempt if row else 0
        read = tuple(message.id for message in step.read)
        taken = StepRow(step.key, step.role.name, step.subject, "done", attempt, "", read)
        try:
            drafts = task.result()
        # Any other exception is a fault of Rolecall's, and ends the whole run (`_end_stored`).
        except RolecallError as error:
            again = attempt if isinstance(error, _SAME_WORDS_HELP) else attempt + 1
            note_step(store, run_id, replace(taken, state="failed", attempt=again, error=str(error)))
            self.failed[step.key] = error
            if not step.duty.is_whole_run:  # else who began the run says so
                logger.warning("%s: %s", step, error)
        else:
            finish_step(store, run_id, taken, drafts)

    async def _stop(self, tasks: list[asyncio.Task[tuple[NewMessage, ...]]]) -> None:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _end(self, pool: Pool) -> Ended:
        errors = tuple(self.failed.values())
        agenda = agenda_of(pool)
        message = pool.latest("proposal", agenda.sprint)
        proposal_id = body_of(message)["proposalId"] if message else ""
        # A pause that came during the last step has kept nothing from being done: such a run is finished.
        is_left = bool(steps_to_take(pool, possible_steps(pool, self.room.roster), self.failed.keys()))
        if (is_left and self.room.developer.control.is_paused) or self._waits():
            return Ended("paused", proposal_id, errors or (RunPaused.of(self.room.run_id),))
        if errors:
            return Ended("failed", proposal_id, errors)
        if agenda.sprint and not message:
            missing = DocumentUnusable(
                f"Nobody of the team can go on with {agenda.sprint}.", "Add the role whose document is missing."
            )
            return Ended("failed", errors=(missing,))
        return Ended("waiting" if message and not agenda.is_last else "finished", proposal_id)


def withdraw_moved(room: Room, pool: Pool) -> tuple[str, ...]:
    """Have the tasks done anew whose files changed since; the subjects of their edits.

    What stands in a proposal already is left to its hunks, which know how to follow a text.
    """
    agenda = agenda_of(pool)
    if not agenda.sprint or pool.latest("proposal", agenda.sprint) is not None:
        return ()
    moved = [
        message
        for kind in ("edits", "tests")
        for message in pool.of_kind(kind, agenda.sprint)
        if moved_files(content_of(message, Edits), room.repository.workspace)
    ]
    for message in moved:
        take_again(room.repository.store, pool, room.roster, message.id)
    return tuple(message.subject for message in moved)


def take_again(store: Store, pool: Pool, roster: Mapping[str, Role], number: int) -> Step:
    """Have the step taken again that published a message; the model is asked anew. The step.

    Raises:
        NotFound: no step that could be taken again did.
    """
    message = pool.message(number)
    slot = (message.kind, message.subject)
    step = next((one for one in possible_steps(pool, roster) if slot in one.writes), None)
    if step is None:
        raise NotFound(
            f"{message.code} is not the work of a role that could do it again.",
            "Name a message of a role in the open sprint.",
        )
    row = pool.steps.get(step.key)
    attempt = row.attempt + 1 if row else 1
    note_step(store, pool.run_id, StepRow(step.key, step.role.name, step.subject, "withdrawn", attempt, ""))
    return step
