"""The documents about a change by those who did not write it: test plan, execution report, review."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field, StringConstraints, model_validator

from rolecall_server.team.documents.values import (
    ByOthers,
    Code,
    CodeReference,
    Entry,
    FilePath,
    Line,
    OptionalLine,
    Prose,
    RequirementId,
    Row,
    Unique,
    Value,
)


class CaseKind(StrEnum):
    """What a test case looks at."""

    BASIC = "basic"
    EDGE = "edge"
    LARGE = "large"
    FAILURE = "failure"


class TestCase(Entry):
    """Something to try, and what must come out."""

    # Else pytest would take a class of that name for tests.
    __test__ = False

    id: Annotated[str, StringConstraints(pattern=r"^C[1-9][0-9]{0,5}$")]
    title: Line
    kind: CaseKind
    verifies: tuple[RequirementId, ...] = Field(description="The requirements it would show to be unmet.")
    expects: Line = Field(description="What must come out.")
    target: CodeReference | None = Field(default=None, description="What is called.")
    test: CodeReference | None = Field(default=None, description="The test once it is written: path::test_name.")
    text: Prose = ""


class TestPlan(Value):
    """What would show that the requirements are met, made up without a look at the code that meets them."""

    __test__ = False

    title: Line
    strategy: Prose = ""
    cases: Annotated[tuple[TestCase, ...], Unique]


class Outcome(StrEnum):
    """What became of a test."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    SKIPPED = "skipped"
    XFAILED = "xfailed"
    XPASSED = "xpassed"
    NOT_RUN = "not run"


class TestOutcome(Row):
    """One test, and what became of it."""

    __test__ = False

    test: Code
    outcome: Outcome
    detail: OptionalLine = ""


class ExecutionReport(Value):
    """What happened when tests ran. Filled from reports and exit codes, never by a model."""

    title: Line
    proposal: Code | None = Field(
        default=None, description="What was tried, such as p7; empty for the repository as it is."
    )
    outcomes: tuple[TestOutcome, ...] = ()
    output: Prose = Field(default="", description="What a failure printed, as a fenced block.")


class Severity(StrEnum):
    """How much a finding matters; a blocker must be answered by a fix."""

    BLOCKER = "blocker"
    MAJOR = "major"
    MINOR = "minor"


class Response(StrEnum):
    """What the Engineer did about a finding."""

    FIXED = "fixed"
    DECLINED = "declined"


class Finding(Entry):
    """Something wrong at some lines, and the requirement or the rule that says so."""

    id: Annotated[str, StringConstraints(pattern=r"^F[1-9][0-9]{0,5}$")]
    title: Line = Field(description="What is wrong, in a sentence.")
    severity: Severity
    file: FilePath
    first_line: Annotated[int, Field(ge=1)]
    last_line: Annotated[int, Field(ge=1)]
    rests_on: Line = Field(description="The requirement's id, such as R3, or the rule in its own words.")
    response: ByOthers[Response | None] = None
    """The Engineer's; empty until there is one."""
    reason: ByOthers[OptionalLine] = ""
    """How it was fixed, or why not."""
    text: Prose = ""

    @model_validator(mode="after")
    def _ends_after_its_beginning(self) -> Finding:
        if self.last_line < self.first_line:
            raise ValueError(f"line {self.last_line} is before line {self.first_line}")
        if self.response is Response.DECLINED and not self.reason:
            raise ValueError("a finding that is declined needs a reason")
        return self


class Review(Value):
    """What the Reviewer found in a proposal."""

    title: Line
    proposal: ByOthers[Code | None] = None
    """What was read, such as ``p7``."""
    summary: Prose = ""
    findings: Annotated[tuple[Finding, ...], Unique] = ()

    @property
    def unanswered(self) -> tuple[Finding, ...]:
        """The findings that the Engineer has not answered."""
        return tuple(finding for finding in self.findings if finding.response is None)
