"""Any document at all, and a few written ones."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import strategies as st

from rolecall_server.team.documents import (
    CallFlow,
    CallStep,
    CaseKind,
    ChangePlan,
    ClassDiagram,
    Content,
    Design,
    Document,
    DrawnClass,
    ExecutionReport,
    Fact,
    FileWork,
    Finding,
    Handover,
    HunkDecision,
    Outcome,
    Package,
    PlanStep,
    Point,
    Priority,
    Quadrant,
    Question,
    Relation,
    RelationKind,
    Requirement,
    Requirements,
    Response,
    Review,
    RuleProposal,
    Severity,
    Sprint,
    SprintReview,
    SymbolWork,
    Task,
    TaskList,
    TestCase,
    TestOutcome,
    TestPlan,
    Understanding,
)
from rolecall_server.team.documents.values import one_line, tidy

SNIPPETS = (
    "# R1: no heading", "## Goals", "### R2: no entry", "- **Priority:** P0", "* **Text**: no", "```", "```python",
    "~~~", "---", "===", "| a | b |", "|", "\\", "\\\\", "\\#", "\\## Goals", "\\```", "- item", "1. one", "`", "``",
    "<!--", "<script>", "[ ]", "`a::b` (R1): x", "(R1):", "**bold:**", ": ", "::", "%%", "#35;", "#", ";", "\"", "{",
    "}", "~", "<b>", "end", "note", "é", "日本語", "🙂", "\u200b", "\u202e", "ﬂ°°35¶ß", "  indented", "    code",
    "\t", "", "R1", "T2", "—", "a" * 90, "> quoted", "- - deep", "&amp;", "$", "*", "_x_", "classDiagram", "-->", "0.5",
    "two  spaces", "a\tb", "\u3000",
)  # fmt: skip
"""What Markdown and Mermaid could take for something else."""

text = st.lists(st.sampled_from(SNIPPETS) | st.text(max_size=12), min_size=1, max_size=6)
prose = st.one_of(st.just(""), text.map("\n".join), text.map("\n\n".join)).map(tidy)
line = text.map(" ".join).map(one_line).filter(bool)
optional_line = st.just("") | line
lines = st.lists(line, max_size=3).map(tuple)
code = st.text(
    st.characters(exclude_categories=("C", "Z"), exclude_characters="`"), min_size=1, max_size=10
) | st.sampled_from(("shop/price.py", "a, b", "p7/h2", "tests/test_a b.py", "a|b", "\\", "x (R1): y"))
symbol = st.tuples(code, code).map("::".join)
_number = st.integers(1, 40)


def ids(letter: str) -> st.SearchStrategy[tuple[str, ...]]:
    """Some ids with that letter."""
    return st.lists(_number.map(lambda number: f"{letter}{number}"), max_size=3).map(tuple)


def entries(letter: str, entry: st.SearchStrategy, max_size: int = 3) -> st.SearchStrategy:
    """Some entries, numbered from 1."""
    return st.lists(entry, max_size=max_size).map(
        lambda made: tuple(each.model_copy(update={"id": f"{letter}{n}"}) for n, each in enumerate(made, 1))
    )


def some(item: st.SearchStrategy) -> st.SearchStrategy:
    """None to three of *item*."""
    return st.lists(item, max_size=3).map(tuple)


fractions = st.floats(0, 1)
quadrants = st.builds(
    Quadrant, title=line, x_low=line, x_high=line, y_low=line, y_high=line,
    points=st.lists(st.builds(Point, name=line, x=fractions, y=fractions), min_size=1, max_size=3).map(tuple),
)  # fmt: skip
call_flows = st.builds(
    CallFlow,
    steps=st.lists(
        st.builds(CallStep, caller=line, callee=line, message=line, is_reply=st.booleans()), min_size=1, max_size=4
    ).map(tuple),
)


@st.composite
def class_diagrams(draw: st.DrawFn) -> ClassDiagram:
    names = draw(st.lists(line, min_size=1, max_size=4, unique=True))
    classes = tuple(DrawnClass(name=name, members=draw(lines)) for name in names)
    name = st.sampled_from(names)
    relation = st.builds(Relation, source=name, kind=st.sampled_from(RelationKind), target=name, label=optional_line)
    return ClassDiagram(classes=classes, relations=draw(some(relation)))


@st.composite
def questions(draw: st.DrawFn) -> Question:
    options = tuple(draw(st.lists(line, min_size=2, max_size=5, unique=True)))
    recommended = draw(st.sampled_from(options))
    return Question(id="Q1", title=draw(line), options=options, recommended=recommended, answer=draw(optional_line))


requirement = st.builds(
    Requirement, id=st.just("R1"), title=line, priority=st.sampled_from(Priority), consequence=line, text=prose
)
requirements = st.builds(
    Requirements, title=line, goals=lines, user_stories=lines, requirements=entries("R", requirement),
    non_goals=lines, assumptions=lines, questions=entries("Q", questions()), comparison=st.none() | quadrants,
)  # fmt: skip
topic = st.sampled_from(("What it is", "Packages", "Tests", "1. x", "é"))
understandings = st.builds(
    Understanding, title=line, facts=some(st.builds(Fact, topic=topic, text=line)), corrections=lines
)
file_works = some(st.builds(FileWork, path=code, what=line))
symbol_works = some(st.builds(SymbolWork, symbol=symbol, serves=ids("R"), what=line))
designs = st.builds(
    Design, title=line, approach=prose, files_to_change=file_works, files_to_add=file_works,
    symbols_to_change=symbol_works, symbols_to_add=symbol_works, classes=st.none() | class_diagrams(),
    call_flow=st.none() | call_flows, packages=some(st.builds(Package, name=code, why=line)), risks=lines,
)  # fmt: skip
task = st.builds(
    Task, id=st.just("T1"), title=line, serves=ids("R"), needs=ids("T"), files=some(code), symbols=some(symbol),
    acceptance=lines, text=prose,
)  # fmt: skip
task_lists = st.builds(
    TaskList, title=line, shared_knowledge=lines, tasks=entries("T", task),
    sprints=entries("S", st.builds(Sprint, id=st.just("S1"), title=line, tasks=ids("T"))),
)  # fmt: skip
change_plans = st.builds(
    ChangePlan, title=line, tasks=ids("T"), approach=prose, steps=some(st.builds(PlanStep, code=code, what=line)),
    files_outside_the_design=file_works, risks=lines,
)  # fmt: skip
case = st.builds(
    TestCase, id=st.just("C1"), title=line, kind=st.sampled_from(CaseKind), verifies=ids("R"), expects=line,
    target=st.none() | symbol, test=st.none() | code, text=prose,
)  # fmt: skip
test_plans = st.builds(TestPlan, title=line, strategy=prose, cases=entries("C", case))
execution_reports = st.builds(
    ExecutionReport, title=line, proposal=st.none() | code, output=prose,
    outcomes=some(st.builds(TestOutcome, test=code, outcome=st.sampled_from(Outcome), detail=optional_line)),
)  # fmt: skip


@st.composite
def findings(draw: st.DrawFn) -> Finding:
    first = draw(_number)
    response = draw(st.none() | st.sampled_from(Response))
    return Finding(
        id="F1", title=draw(line), severity=draw(st.sampled_from(Severity)), file=draw(code), first_line=first,
        last_line=first + draw(_number), rests_on=draw(line), response=response,
        reason=draw(line if response is Response.DECLINED else optional_line), text=draw(prose),
    )  # fmt: skip


reviews = st.builds(Review, title=line, proposal=st.none() | code, summary=prose, findings=entries("F", findings()))
decisions = some(st.builds(HunkDecision, hunk=code, serves=ids("T") | ids("R"), reason=optional_line))
sprint_reviews = st.builds(
    SprintReview, title=line, sprint=st.none() | st.just("S1"), proposal=st.none() | code, done=ids("T"),
    undone=ids("T"), accepted=decisions, edited=decisions, rejected=decisions, feedback=prose,
)  # fmt: skip
rule = st.builds(RuleProposal, id=st.just("H1"), title=line, role=line, because=line)
handovers = st.builds(Handover, title=line, rules=entries("H", rule), notes=prose)

contents: st.SearchStrategy[Content] = st.one_of(
    understandings, requirements, designs, task_lists, change_plans, test_plans, execution_reports, reviews,
    sprint_reviews, handovers,
)  # fmt: skip


@st.composite
def documents(draw: st.DrawFn) -> Document:
    """Any document of any kind."""
    return Document(
        id=draw(st.from_regex(r"d[1-9][0-9]{0,3}", fullmatch=True)),
        version=draw(_number),
        author=draw(line),
        because=draw(ids("m")),
        created_at=draw(st.datetimes(datetime(1970, 1, 2), datetime(9000, 1, 1), timezones=st.just(UTC))),  # noqa: DTZ001
        content=draw(contents),
    )
