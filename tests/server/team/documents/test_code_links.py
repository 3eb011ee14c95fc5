"""References from documents to code, on a small repository."""

from __future__ import annotations

import pytest

from rolecall_analysis import Snapshot
from rolecall_server.team.documents import (
    CaseKind,
    Content,
    Design,
    Document,
    FileWork,
    Requirements,
    SymbolWork,
    Task,
    TaskList,
    TestCase,
    TestPlan,
)
from rolecall_server.team.documents.links.code_links import unresolved

FILES = {
    "shop/price.py": "def total(items):\n    return 0\n\n\nclass Cart:\n    def total(self):\n        return 0\n",
    "shop/tax.py": "RATE = 0.2\n",
}


@pytest.fixture
def snapshot() -> Snapshot:
    return Snapshot().with_changes(FILES)


def document(content: Content, number: int = 1) -> Document:
    return Document(id=f"d{number}", author="Architect", content=content)


def design(
    change: tuple[str, ...] = (), add: tuple[str, ...] = (), files: tuple[str, ...] = (), new: tuple[str, ...] = ()
) -> Document:
    return document(
        Design(
            title="x",
            approach="",
            files_to_change=tuple(FileWork(path=path, what="x") for path in files),
            files_to_add=tuple(FileWork(path=path, what="x") for path in new),
            symbols_to_change=tuple(SymbolWork(symbol=name, serves=("R1",), what="x") for name in change),
            symbols_to_add=tuple(SymbolWork(symbol=name, serves=("R1",), what="x") for name in add),
        )
    )


def said(snapshot: Snapshot, checked: Document, *others: Document) -> list[str]:
    return [str(each) for each in unresolved(checked, snapshot, others, lambda path: path == "README.md")]


def test_what_exists_and_what_is_declared_new_is_no_problem(snapshot: Snapshot):
    fine = design(
        change=("shop/price.py::Cart.total", "shop/tax.py::RATE"),
        add=("shop/price.py::Cart.count", "shop/export.py::to_csv"),
        files=("shop/price.py", "README.md"),
        new=("shop/export.py",),
    )
    assert said(snapshot, fine) == []


def test_a_symbol_that_does_not_exist_comes_with_the_names_that_may_be_meant(snapshot: Snapshot):
    assert said(snapshot, design(change=("shop/price.py::Cart.totals",))) == [
        "shop/price.py defines no Cart.totals; is it shop/price.py::Cart.total or shop/price.py::total?"
    ]


def test_a_method_that_another_class_or_file_has_is_found_there(snapshot: Snapshot):
    assert said(snapshot, design(change=("shop/tax.py::total",))) == [
        "shop/tax.py defines no total; is it shop/price.py::total or shop/price.py::Cart.total?"
    ]


def test_a_file_that_does_not_exist_comes_with_the_files_that_may_be_meant(snapshot: Snapshot):
    assert said(snapshot, design(files=("src/shop/price.py",))) == [
        "src/shop/price.py does not exist; is it shop/price.py?"
    ]


def test_what_is_to_be_added_must_not_exist(snapshot: Snapshot):
    assert said(snapshot, design(add=("shop/price.py::total",), new=("shop/tax.py", "README.md"))) == [
        "shop/tax.py is to be added, but exists",
        "README.md is to be added, but exists",
        "shop/price.py::total is to be added, but exists",
    ]


def test_what_was_added_because_the_run_was_accepted_is_fulfilled(snapshot: Snapshot):
    there = design(add=("shop/price.py::total", "shop/tax.py::RATE"), new=("shop/tax.py",))
    assert [str(each) for each in unresolved(there, snapshot, accepted=("shop/tax.py",))] == [
        "shop/price.py::total is to be added, but exists"
    ]


def test_a_symbol_cannot_be_added_to_a_file_that_is_not_there(snapshot: Snapshot):
    assert said(snapshot, design(add=("shop/export.py::to_csv",))) == ["shop/export.py does not exist"]


def test_tasks_and_tests_may_name_what_the_design_declares_new(snapshot: Snapshot):
    designed = design(add=("shop/export.py::to_csv",), new=("shop/export.py",))
    symbols = ("shop/export.py::to_csv", "shop/export.py::_row", "shop/price.py::totl")
    work = document(TaskList(title="x", tasks=(Task(id="T1", title="x", serves=("R1",), symbols=symbols),)), 2)
    assert said(snapshot, work, designed) == ["shop/price.py defines no totl; is it shop/price.py::total?"]
    case = TestCase(
        id="C1", title="x", kind=CaseKind.EDGE, verifies=("R1",), expects="x", target="shop/export.py::to_csv",
        test="tests/test_export.py::test_row",
    )  # fmt: skip
    assert said(snapshot, document(TestPlan(title="x", cases=(case,)), 3), designed) == []


def test_of_many_references_that_lead_nowhere_the_first_are_told_with_what_may_be_meant(snapshot: Snapshot):
    lost = tuple(f"shop/price.py::totl{number}" for number in range(40))
    told = said(snapshot, design(change=lost, files=("shop/price.py",)))
    assert len(told) == 40
    assert ["is it" in one for one in told] == [True] * 30 + [False] * 10


def test_a_document_without_references_has_none_that_dangle(snapshot: Snapshot):
    assert said(snapshot, document(Requirements(title="x", requirements=()))) == []
