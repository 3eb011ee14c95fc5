"""Before anybody writes code: which files each task of a sprint will touch. The developer may drop tasks then."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from rolecall_server.errors import DocumentUnusable, NotFound, RunPaused
from rolecall_server.store import Store
from rolecall_server.store.messages import NewMessage
from rolecall_server.team.documents import (
    ChangePlan,
    Design,
    FileWork,
    Kind,
    PlanStep,
    Question,
    Sprint,
    Task,
    TaskList,
)
from rolecall_server.team.messages.board import DEVELOPER, TEAM, Pool, as_draft, content_of, publish
from rolecall_server.team.plan.agenda import agenda_of, sprints_of
from rolecall_server.team.plan.steps import Step
from rolecall_server.team.room import Room
from rolecall_server.team.sprint.edit_scope import files_of

ALL_OF_IT = "do all of it"
STOP = "stop here: I edit the task list first"
_MANY_FILES = 3
"""A sprint of several tasks that change more files than this is not begun without a question."""
_MOST_OFFERED = 3
_TASK_ID = re.compile(r"\bT[1-9]\d*\b")


async def show_changes(step: Step, room: Room, pool: Pool) -> tuple[NewMessage, ...]:
    """Return the change plan of a sprint; where the developer drops tasks, also a task list whose sprints no longer
    have them.

    Only a larger change is asked about, and only once: not where the list is the developer's own, or was asked about.
    Silence begins all of it.

    Raises:
        RunPaused: the developer wants to look at the tasks first.
        DocumentUnusable: the developer left out all of them.
    """
    message = step.message(Kind.TASK_LIST)
    assert message is not None
    agenda, listed = agenda_of(pool), content_of(message, TaskList)
    tasks = [task for task in listed.tasks if task in agenda.tasks]
    dropped: frozenset[str] = frozenset()
    if is_large(tasks) and message.sender not in (DEVELOPER, TEAM):
        question = _question(agenda.sprint, tasks)
        said = (await room.developer.ask([question])).get(question.id, "")
        if said == STOP:
            raise RunPaused(
                f"{room.run_id} waits for your changes to the task list ({message.document_id}).",
                f"Save it without the tasks you do not want, or name them: `rolecall resume {room.run_id} --drop T2`.",
            )
        # By the ids in it: a terminal and an editor let the developer answer in words of their own.
        dropped = dependents(tasks, _TASK_ID.findall(said))
    left = (as_draft(Kind.TASK_LIST, without(listed, dropped)),) if dropped else ()
    kept = [task for task in tasks if task.id not in dropped]
    return (*left, as_draft(Kind.CHANGE_PLAN, _plan_of(step, kept), step.subject))


def is_large(tasks: Collection[Task]) -> bool:
    """Return whether the change is so large that the developer is asked about its tasks before the sprint begins."""
    return len(tasks) > 1 and len({path for task in tasks for path in task.files}) > _MANY_FILES


def dependents(tasks: Collection[Task], dropped: Collection[str]) -> frozenset[str]:
    """Return *dropped* and the tasks that need one of them."""
    found = {task.id for task in tasks if task.id in dropped}
    while more := {task.id for task in tasks if task.id not in found and found.intersection(task.needs)}:
        found |= more
    return frozenset(found)


def without(listed: TaskList, dropped: Collection[str]) -> TaskList:
    """Return *listed* with the tasks *dropped*, and those that need them, in no sprint: they stay in the backlog.

    Raises:
        NotFound: one of them is in no sprint.
        DocumentUnusable: no task is left.
    """
    planned = dict(sprints_of(listed))
    titles = {sprint.id: sprint.title for sprint in listed.sprints}
    if unknown := [one for one in dropped if not any(one in tasks for tasks in planned.values())]:
        raise NotFound(f"{', '.join(unknown)} is in no sprint.", "The task list has the ids.")
    gone = dependents(listed.tasks, dropped)
    sprints = tuple(
        Sprint(id=name, title=titles.get(name, listed.title), tasks=left)
        for name, tasks in planned.items()
        if (left := tuple(task for task in tasks if task not in gone))
    )
    if not sprints:
        raise DocumentUnusable(f"Without {', '.join(sorted(dropped))} no task is left.", "Leave out fewer of them.")
    return listed.model_copy(update={"sprints": sprints})


def drop_tasks(store: Store, pool: Pool, dropped: Collection[str]) -> None:
    """Have a run go on without some tasks: the developer's version of its task list.

    Raises:
        NotFound: the run has no task list, or not these tasks.
        DocumentUnusable: no task is left.
    """
    message = pool.latest(Kind.TASK_LIST)
    if message is None:
        raise NotFound(f"{pool.run_id} has no task list yet.", f"`rolecall log {pool.run_id}` shows how far it is.")
    listed = without(content_of(message, TaskList), dropped)
    publish(store, pool.run_id, DEVELOPER, as_draft(Kind.TASK_LIST, listed), [message.id])


def _plan_of(step: Step, tasks: Sequence[Task]) -> ChangePlan:
    """Return each file that one of *tasks* touches, task by task, and the files of these that the design does
    not name.
    """
    message = step.message(Kind.DESIGN)
    known = files_of(content_of(message, Design)) if message else ()
    steps = [
        (task, path) for task in tasks for path in (task.files or tuple(s.partition("::")[0] for s in task.symbols))
    ]
    outside = {path: task for task, path in steps if message and path not in known}
    return ChangePlan(
        title=f"What {step.sprint} changes",
        tasks=tuple(task.id for task in tasks),
        steps=tuple(PlanStep(code=path, what=f"{task.id}: {task.title}") for task, path in dict.fromkeys(steps)),
        files_outside_the_design=tuple(FileWork(path=path, what=task.title) for path, task in outside.items()),
    )


def _question(sprint: str, tasks: Sequence[Task]) -> Question:
    """Return the question whether the tasks of a sprint, with their files, are what the developer wants."""
    files = {path for task in tasks for path in task.files}
    told = "; ".join(f"{task.id} {task.title}: {', '.join(task.files) or 'no file named'}" for task in tasks)
    options = (ALL_OF_IT, STOP, *(f"leave out {task.id}" for task in tasks[-_MOST_OFFERED:]))
    return Question(
        id="Q1",
        title=f"{sprint} changes {len(files)} files in {len(tasks)} tasks. {told}. Go on?",
        options=options,
        recommended=ALL_OF_IT,
    )
