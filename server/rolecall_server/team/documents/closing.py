"""The documents that are left at the end of a sprint and of a run."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from rolecall_server.team.documents.values import (
    Code,
    Entry,
    Line,
    OptionalLine,
    Prose,
    Remark,
    ServedId,
    TaskId,
    Unique,
    Value,
)


class HunkDecision(Remark):
    """A hunk the developer decided on, what it was there for, and what the developer said."""

    hunk: Code
    serves: tuple[ServedId, ...] = ()
    reason: OptionalLine = ""


class SprintReview(Value):
    """What the developer made of a sprint's proposal; the next sprint answers it."""

    title: Line
    sprint: Annotated[str, StringConstraints(pattern=r"^S[1-9][0-9]{0,5}$")] | None = None
    proposal: Code | None = None
    done: tuple[TaskId, ...] = ()
    undone: tuple[TaskId, ...] = ()
    """Those of which something was rejected with a reason: they come again."""
    undone_tests: tuple[Code, ...] = Field(default=(), description="The test files to write again.")
    accepted: tuple[HunkDecision, ...] = ()
    edited: tuple[HunkDecision, ...] = ()
    rejected: tuple[HunkDecision, ...] = ()
    missing: tuple[Line, ...] = Field(
        default=(), description="What keeps each other task from being done; it stays in the backlog."
    )
    not_shown: tuple[Line, ...] = Field(
        default=(), description="Acceptance criteria of what is done that no test shows: somebody has to look."
    )
    feedback: Prose = ""


class RuleProposal(Entry):
    """A house rule that a role proposes to follow from now on. It holds only once the developer accepted it."""

    id: Annotated[str, StringConstraints(pattern=r"^H[1-9][0-9]{0,5}$")]
    title: Line = Field(description="The rule, in a sentence.")
    role: Line = Field(description="Whose rule it would be.")
    because: Line = Field(description="What was rejected or edited that a reader can look up.")


class Handover(Value):
    """What a role learned in a run."""

    title: Line
    rules: Annotated[tuple[RuleProposal, ...], Unique] = ()
    notes: Prose = ""
