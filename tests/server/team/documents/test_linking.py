"""What fits together in the documents of a run, and what does not."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rolecall_server.team.documents import (
    CaseKind,
    ChangePlan,
    Content,
    Design,
    Document,
    FileWork,
    Finding,
    PlanStep,
    Priority,
    Requirement,
    Requirements,
    Review,
    Severity,
    Sprint,
    SprintReview,
    SymbolWork,
    Task,
    TaskList,
    TestCase,
    TestPlan,
)
from rolecall_server.team.documents.links.linking import (
    Linked,
    Served,
    check_links,
    circles,
    closed_tasks,
    lacks,
    orphans,
    unfulfilled,
    unshown,
)


def document(content: Content, number: int = 1) -> Document:
    return Document(id=f"d{number}", author="somebody", content=content)


def requirements(*ids: str) -> Document:
    wanted = (Requirement(id=name, title=name, priority=Priority.P0, consequence="x") for name in ids)
    return document(Requirements(title="x", requirements=tuple(wanted)), 1)


def design(*symbols: tuple[str, tuple[str, ...]]) -> Document:
    work = tuple(SymbolWork(symbol=name, serves=serves, what="x") for name, serves in symbols)
    files = tuple(FileWork(path=path, what="x") for path in dict.fromkeys(name.split("::")[0] for name, _ in symbols))
    return document(Design(title="x", approach="", files_to_change=files, symbols_to_change=work), 2)


def task(name: str, *serves: str, needs: tuple[str, ...] = (), files: tuple[str, ...] = ()) -> Task:
    return Task(id=name, title=name, serves=serves, needs=needs, files=files)


def tasks(*each: Task, sprints: tuple[tuple[str, ...], ...] = ()) -> Document:
    made = tuple(Sprint(id=f"S{number}", title="x", tasks=names) for number, names in enumerate(sprints, 1))
    return document(TaskList(title="x", tasks=each, sprints=made), 3)


def plan(**verifies: tuple[str, ...]) -> Document:
    cases = (
        TestCase(id=name, title="x", kind=CaseKind.BASIC, verifies=names, expects="x")
        for name, names in verifies.items()
    )
    return document(TestPlan(title="x", cases=tuple(cases)), 4)


def said(checked: Document, *others: Document) -> list[tuple[str, str]]:
    return [(flaw.about, flaw.what) for flaw in check_links(checked, others)]


def test_documents_that_fit_together_have_no_flaw():
    wanted = requirements("R1", "R2")
    designed = design(("a.py::f", ("R1",)), ("b.py::g", ("R2",)))
    work = tasks(task("T1", "R1", files=("a.py",)), task("T2", "R2", needs=("T1",)), sprints=(("T1",), ("T2",)))
    for each in (wanted, designed, work, plan(C1=("R1", "R2"))):
        assert said(each, wanted, designed, work) == []


def test_a_requirement_that_does_not_exist_is_found_wherever_it_is_named():
    wanted = requirements("R1")
    assert said(design(("a.py::f", ("R9",))), wanted) == [("a.py::f", "R9 does not exist")]
    assert said(tasks(task("T1", "R9")), wanted) == [("T1", "R9 does not exist")]
    assert said(plan(C1=("R9",)), wanted) == [("C1", "R9 does not exist")]
    finding = Finding(
        id="F1", title="x", severity=Severity.MAJOR, file="a", first_line=1, last_line=1, rests_on="R9: x"
    )
    assert said(document(Review(title="x", findings=(finding,)), 5), wanted) == [("F1", "R9 does not exist")]


def test_requirements_are_not_looked_for_before_there_are_any():
    assert said(tasks(task("T1", "R9"))) == []


def test_what_serves_nothing_is_said():
    assert said(design(("a.py::f", ()))) == [("a.py::f", "a.py::f serves no requirement")]
    assert said(tasks(task("T1"))) == [("T1", "T1 serves no requirement")]
    assert said(plan(C1=())) == [("C1", "C1 verifies no requirement")]


def test_tasks_that_wait_for_each_other_are_a_circle():
    circle = tasks(task("T1", "R1", needs=("T3",)), task("T2", "R1", needs=("T1",)), task("T3", "R1", needs=("T2",)))
    assert said(circle) == [("T1", "T1 needs T3 needs T2 needs T1: none of them can be the first")]


def test_a_task_outside_the_design_is_said():
    assert said(tasks(task("T1", "R1", files=("b.py",))), design(("a.py::f", ("R1",)))) == [
        ("T1", "T1 touches b.py, which the design does not name")
    ]


def test_a_plan_leaves_the_design_only_where_it_asks_to():
    designed = design(("a.py::f", ("R1",)))
    step = PlanStep(code="b.py::g", what="x")
    assert said(document(ChangePlan(title="x", steps=(step,)), 5), designed) == [
        ("b.py::g", "the design does not name b.py, and the plan does not ask for it")
    ]
    asked = ChangePlan(title="x", steps=(step,), files_outside_the_design=(FileWork(path="b.py", what="it calls f"),))
    assert said(document(asked, 5), designed) == []


def test_a_sprint_holds_tasks_that_exist_once_and_after_those_they_need():
    work = tasks(
        task("T1", "R1", needs=("T2",)), task("T2", "R1"), task("T3", "R1", needs=("T4",)), task("T4", "R1"),
        sprints=(("T1", "T3", "T9"), ("T2", "T1")),
    )  # fmt: skip
    assert said(work) == [
        ("S1", "T9 does not exist"),
        ("S2", "T1 is in S1 already"),
        ("S1", "T1 needs T2, which is in S2"),
        ("S1", "T3 needs T4, which is in no sprint"),
    ]


def test_a_sprint_review_names_tasks_that_exist():
    assert said(document(SprintReview(title="x", done=("T1", "T7")), 6), tasks(task("T1", "R1"))) == [
        ("T7", "T7 does not exist")
    ]


def test_nothing_is_missed_before_it_could_be_there():
    assert orphans(Linked((requirements("R1"),))) == {}


def test_a_requirement_that_nothing_serves_and_nothing_tests_is_an_orphan():
    run = Linked(
        (requirements("R1", "R2", "R3"), design(("a.py::f", ("R1",))), tasks(task("T1", "R2")), plan(C1=("R1",)))
    )
    assert orphans(run) == {
        "R2": "R2 has no test case",
        "R3": "R3 has no design element and no task and no test case",
    }


def test_a_task_without_a_hunk_is_missed_once_there_are_hunks():
    documents = (requirements("R1"), tasks(task("T1", "R1"), task("T2", "R1")))
    assert orphans(Linked(documents)) == {}
    hunk = Served("p1/h1", "a.py", "f", ("T1",), "pending")
    assert orphans(Linked(documents, (hunk,))) == {"T2": "T2 has no hunk"}
    rejected = Served("p1/h2", "a.py", "g", ("T2",), "rejected")
    assert orphans(Linked(documents, (hunk, rejected))) == {"T2": "T2 has no hunk"}


ACCEPTED = Served("p1/h1", "a.py", "f", ("T1", "R1"), "accepted")
BOTH = ("a.py", "b.py")


def lacked(*hunks: Served, failing: tuple[str, ...] = (), files: tuple[str, ...] = BOTH) -> dict[str, tuple[str, ...]]:
    held = TestCase(id="C1", title="x", kind=CaseKind.BASIC, verifies=("R1",), expects="x", test="t.py::test_f")
    documents = (tasks(task("T1", "R1", files=BOTH)), document(TestPlan(title="x", cases=(held,)), 5))
    run = Linked(documents, hunks, frozenset(failing))
    return {task.id: lacks(task, run, lambda path: path in files) for task in closed_tasks(run)}


def test_a_task_is_done_once_all_that_it_names_is_there():
    assert lacked(ACCEPTED) == {"T1": ()}
    assert lacked(ACCEPTED, files=("a.py",)) == {"T1": ("b.py does not exist",)}


def test_a_task_of_which_a_test_fails_is_not_done():
    assert lacked(ACCEPTED, failing=("t.py::test_f",)) == {"T1": ("t.py::test_f fails",)}
    turned_down = Served("p1/h2", "t.py", "test_f", ("R1",), "rejected")
    assert lacked(ACCEPTED, turned_down, failing=("t.py::test_f",)) == {"T1": ()}


def test_a_task_of_which_nothing_was_accepted_is_not_done():
    rejected = Served("p1/h1", "a.py", "f", ("T1",), "rejected")
    test = Served("p1/h2", "t.py", "test_f", ("R1",), "rejected")
    assert lacked(rejected, test) == {"T1": ("nothing that was accepted serves it",)}


def test_nothing_is_missed_of_a_sprint_that_is_not_decided():
    assert lacked(Served("p1/h1", "a.py", "f", ("T1",), "pending")) == {}
    work = tasks(task("T1", "R1"), task("T2", "R1"), sprints=(("T1",), ("T2",)))
    run = Linked((requirements("R1"), work), (ACCEPTED,))
    assert [each.id for each in closed_tasks(run)] == ["T1"]
    assert orphans(run) == {}, "the second sprint has not begun"


def test_what_a_design_adds_and_nobody_made_is_missed_once_all_is_decided():
    added = Design(
        title="x",
        approach="",
        files_to_add=(FileWork(path="new.py", what="x"),),
        symbols_to_add=(SymbolWork(symbol="a.py::g", serves=("R1",), what="x"),),
    )
    documents = (document(added, 3), tasks(task("T1", "R1")))
    assert [*unfulfilled(Linked(documents, (ACCEPTED,)), lambda name: name == "a.py")] == ["new.py", "a.py::g"]
    assert [*unfulfilled(Linked(documents), lambda name: False)] == []


@given(st.dictionaries(st.integers(0, 6), st.lists(st.integers(0, 6), max_size=3), max_size=7))
def test_a_circle_is_found_exactly_where_there_is_no_order(needs: dict[int, list[int]]):
    named = {str(name): [str(each) for each in needed] for name, needed in needs.items()}
    waiting = {name: {each for each in needed if each in named} for name, needed in named.items()}
    while free := [name for name, needed in waiting.items() if not needed]:
        waiting = {name: needed - set(free) for name, needed in waiting.items() if name not in free}
    found = circles(named)
    assert bool(found) == bool(waiting)
    for circle in found:
        assert all(after in named[before] for before, after in zip(circle, (*circle[1:], circle[0]), strict=True))


def test_acceptance_criteria_are_shown_only_by_a_kept_test_that_ran():
    wanted = Task(id="T1", title="x", serves=("R1",), acceptance=("It is rounded.", "It is quick."))
    documents = (tasks(wanted), plan(C1=("R1",)))
    (content,) = [each.content for each in documents if isinstance(each.content, TestPlan)]
    case = content.cases[0].model_copy(update={"test": "test_a.py::test_x"})
    tested = (documents[0], document(content.model_copy(update={"cases": (case,)}), 4))
    assert unshown(wanted, Linked(documents, is_tested=True)) == wanted.acceptance, "no test is named"
    assert unshown(wanted, Linked(tested)) == wanted.acceptance, "no test ran"
    assert unshown(wanted, Linked(tested, is_tested=True)) == ()
    rejected = Served("p1/h1", "test_a.py", "test_x", ("R1",), "rejected")
    assert unshown(wanted, Linked(tested, (rejected,), is_tested=True)) == wanted.acceptance
