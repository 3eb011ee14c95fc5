"""The documents that the Product Manager writes: what is understood of the repository, and what is wanted."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field, StringConstraints, model_validator

from rolecall_server.team.documents.diagrams import Quadrant
from rolecall_server.team.documents.values import (
    ByOthers,
    Entry,
    Line,
    OptionalLine,
    Prose,
    Remark,
    RequirementId,
    ToFill,
    Unique,
    Value,
    repeated,
)


class Priority(StrEnum):
    """How much a requirement matters: ``P0`` must be there, ``P1`` should, ``P2`` may."""

    P0 = "P0"
    P1 = "P1"
    P2 = "P2"


class Requirement(Entry):
    """One thing that is wanted, and how one could tell that it is there."""

    id: RequirementId
    title: Line
    priority: Priority
    consequence: Line = Field(description="What a test can observe once it is there.")
    text: Prose = ""


class Question(Entry):
    """Something the brief leaves open. Without an answer the recommended option holds."""

    id: Annotated[str, StringConstraints(pattern=r"^Q[1-9][0-9]{0,5}$")]
    title: Line = Field(description="The question, in one short sentence.")
    options: Annotated[tuple[Line, ...], Field(min_length=2, max_length=5)]
    recommended: Line = Field(description="One of the options, word for word.")
    answer: ByOthers[Annotated[OptionalLine, ToFill]] = ""
    """What the developer answered; empty until then."""

    @model_validator(mode="after")
    def _recommends_an_option(self) -> Question:
        if twice := repeated(self.options):
            raise ValueError(f"the option {twice[0]!r} is there twice")
        if self.recommended not in self.options:
            raise ValueError(f"what is recommended, {self.recommended!r}, is none of the options")
        return self

    @property
    def holds(self) -> str:
        """The answer, or what was recommended where there is none."""
        return self.answer or self.recommended


class Requirements(Value):
    """What is wanted, for whom, and what is not."""

    title: Line = Field(description="What is asked for, in a few words.")
    goals: Annotated[tuple[Line, ...], Field(max_length=3)] = ()
    user_stories: tuple[Line, ...] = ()
    requirements: Annotated[tuple[Requirement, ...], Unique]
    non_goals: tuple[Line, ...] = Field(default=(), description="What a reader might expect and will not get.")
    assumptions: tuple[Line, ...] = ()
    questions: Annotated[tuple[Question, ...], Field(max_length=5), Unique] = ()
    comparison: Quadrant | None = Field(default=None, description="Comparable products on two axes, where that helps.")


class Fact(Remark):
    """One thing that is known of the repository."""

    topic: Annotated[Line, StringConstraints(pattern=r"^[^*:`\\]+$")]
    text: Line


class Understanding(Value):
    """The repository in ten lines, which the developer may correct."""

    title: Line
    facts: Annotated[tuple[Fact, ...], Field(max_length=10)]
    corrections: tuple[Line, ...] = Field(
        default=(), description="What the developer says instead; it goes before the facts."
    )
