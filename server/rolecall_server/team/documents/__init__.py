"""The documents of the team: typed, versioned results of roles, which the developer reads and edits as Markdown.

`Document` is content with its provenance; each kind of content is a pydantic model whose JSON schema a model fills.
`render` and `parse` turn a document into Markdown and back.
"""

from rolecall_server.team.documents.checking import (
    CaseKind,
    ExecutionReport,
    Finding,
    Outcome,
    Response,
    Review,
    Severity,
    TestCase,
    TestOutcome,
    TestPlan,
)
from rolecall_server.team.documents.closing import Handover, HunkDecision, RuleProposal, SprintReview
from rolecall_server.team.documents.design import Design, FileWork, Package, SymbolWork
from rolecall_server.team.documents.diagrams import (
    CallFlow,
    CallStep,
    ClassDiagram,
    DrawnClass,
    Point,
    Quadrant,
    Relation,
    RelationKind,
)
from rolecall_server.team.documents.document import CONTENTS, Content, Document, Kind, kind_of
from rolecall_server.team.documents.markdown.parsing import Misread, parse
from rolecall_server.team.documents.markdown.rendering import render
from rolecall_server.team.documents.requirements import (
    Fact,
    Priority,
    Question,
    Requirement,
    Requirements,
    Understanding,
)
from rolecall_server.team.documents.tasks import ChangePlan, PlanStep, Sprint, Task, TaskList

__all__ = [
    "CONTENTS",
    "CallFlow",
    "CallStep",
    "CaseKind",
    "ChangePlan",
    "ClassDiagram",
    "Content",
    "Design",
    "Document",
    "DrawnClass",
    "ExecutionReport",
    "Fact",
    "FileWork",
    "Finding",
    "Handover",
    "HunkDecision",
    "Kind",
    "Misread",
    "Outcome",
    "Package",
    "PlanStep",
    "Point",
    "Priority",
    "Quadrant",
    "Question",
    "Relation",
    "RelationKind",
    "Requirement",
    "Requirements",
    "Response",
    "Review",
    "RuleProposal",
    "Severity",
    "Sprint",
    "SprintReview",
    "SymbolWork",
    "Task",
    "TaskList",
    "TestCase",
    "TestOutcome",
    "TestPlan",
    "Understanding",
    "kind_of",
    "parse",
    "render",
]
