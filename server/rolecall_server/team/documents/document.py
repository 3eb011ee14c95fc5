"""A document: what a role wrote, which version of it, when and because of what."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated, Any, TypeAlias, cast

from pydantic import AfterValidator, AwareDatetime, Field, StringConstraints, model_validator

from rolecall_server.team.documents.checking import ExecutionReport, Review, TestPlan
from rolecall_server.team.documents.closing import Handover, SprintReview
from rolecall_server.team.documents.design import Design
from rolecall_server.team.documents.requirements import Requirements, Understanding
from rolecall_server.team.documents.tasks import ChangePlan, TaskList
from rolecall_server.team.documents.values import Line, Value

Content: TypeAlias = (
    Understanding
    | Requirements
    | Design
    | TaskList
    | ChangePlan
    | TestPlan
    | ExecutionReport
    | Review
    | SprintReview
    | Handover
)


class Kind(StrEnum):
    """What a document is; roles watch kinds."""

    UNDERSTANDING = "understanding"
    REQUIREMENTS = "requirements"
    DESIGN = "design"
    TASK_LIST = "task list"
    CHANGE_PLAN = "change plan"
    TEST_PLAN = "test plan"
    EXECUTION_REPORT = "execution report"
    REVIEW = "review"
    SPRINT_REVIEW = "sprint review"
    HANDOVER = "handover"


CONTENTS: Mapping[Kind, type[Content]] = MappingProxyType(
    {
        Kind.UNDERSTANDING: Understanding,
        Kind.REQUIREMENTS: Requirements,
        Kind.DESIGN: Design,
        Kind.TASK_LIST: TaskList,
        Kind.CHANGE_PLAN: ChangePlan,
        Kind.TEST_PLAN: TestPlan,
        Kind.EXECUTION_REPORT: ExecutionReport,
        Kind.REVIEW: Review,
        Kind.SPRINT_REVIEW: SprintReview,
        Kind.HANDOVER: Handover,
    }
)
"""The content of each kind of document; ``CONTENTS[kind].model_json_schema()`` is what a model fills."""

DocumentId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]+$")]


def _in_seconds(at: datetime) -> datetime:
    # Markdown tells the time in seconds, and a document has to be read back as it is.
    return at.astimezone(UTC).replace(microsecond=0)


class Document(Value):
    """Content with its provenance. A new version keeps the id."""

    id: DocumentId
    content: Content
    # It needs the content, which stands above it so that it is validated by then.
    kind: Kind = Field(default_factory=lambda known: kind_of(known["content"]))
    """That of the content."""
    version: Annotated[int, Field(ge=1)] = 1
    author: Line
    """The role, or ``developer``."""
    because: tuple[DocumentId, ...] = ()
    """The messages it follows from."""
    created_at: Annotated[AwareDatetime, AfterValidator(_in_seconds)] = Field(
        default_factory=lambda: _in_seconds(datetime.now(UTC))
    )

    @model_validator(mode="before")
    @classmethod
    def _read_content(cls, data: Any) -> Any:
        """Read *content* as what its kind holds."""
        if not isinstance(data, dict):
            return data
        data = dict(cast("dict[str, Any]", data))
        content = data.get("content")
        if not isinstance(content, Value) and data.get("kind") in set(Kind):
            data["content"] = CONTENTS[Kind(data["kind"])].model_validate(content)
        return data

    @model_validator(mode="after")
    def _content_is_of_its_kind(self) -> Document:
        if CONTENTS[self.kind] is not type(self.content):
            raise ValueError(f"a {self.kind} does not hold {type(self.content).__name__}")
        return self

    @property
    def title(self) -> str:
        """Return the subject of the document, in a few words."""
        return self.content.title


def kind_of(content: Value) -> Kind:
    """Return the kind of document that holds *content*.

    Raises:
        ValueError: none does.
    """
    for kind, held in CONTENTS.items():
        if type(content) is held:
            return kind
    raise ValueError(f"no document holds {type(content).__name__}")
