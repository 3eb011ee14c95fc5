"""The documents that the Project Manager writes, and the Engineer's plan for one of its tasks."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from rolecall_server.team.documents.design import FileWork
from rolecall_server.team.documents.values import (
    CodeReference,
    Entry,
    FilePath,
    Line,
    Prose,
    Remark,
    RequirementId,
    Symbol,
    TaskId,
    Unique,
    Value,
)


class Task(Entry):
    """One piece of work that can be accepted or rejected on its own."""

    id: TaskId
    title: Line
    serves: tuple[RequirementId, ...] = Field(description="The requirements it is there for.")
    needs: tuple[TaskId, ...] = Field(default=(), description="Tasks that must be done before.")
    files: tuple[FilePath, ...] = ()
    symbols: tuple[Symbol, ...] = ()
    acceptance: tuple[Line, ...] = Field(
        default=(), description="What must hold once it is done; each can be tested alone."
    )
    text: Prose = ""


class Sprint(Entry):
    """Some tasks that end in one proposal."""

    id: Annotated[str, StringConstraints(pattern=r"^S[1-9][0-9]{0,5}$")]
    title: Line = Field(description="What it is for.")
    tasks: tuple[TaskId, ...]


class TaskList(Value):
    """The work, cut into tasks. A task of no sprint is in the backlog."""

    title: Line
    shared_knowledge: tuple[Line, ...] = Field(default=(), description="What whoever does any of the tasks must know.")
    tasks: Annotated[tuple[Task, ...], Unique]
    sprints: Annotated[tuple[Sprint, ...], Unique] = ()


class PlanStep(Remark):
    """One thing to do at one place."""

    code: CodeReference
    what: Line


class ChangePlan(Value):
    """How the Engineer means to do some tasks."""

    title: Line
    tasks: tuple[TaskId, ...] = ()
    approach: Prose = ""
    steps: tuple[PlanStep, ...]
    files_outside_the_design: tuple[FileWork, ...] = Field(
        default=(),
        description="Files that the design does not name and that must change all the same, each with its reason.",
    )
    risks: tuple[Line, ...] = ()
