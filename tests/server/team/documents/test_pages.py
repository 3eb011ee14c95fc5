"""Names in the text of a document: which there are, where each is explained, and who else names it."""

from __future__ import annotations

import pytest

from rolecall_server.team.documents import (
    Content,
    Document,
    Fact,
    Finding,
    Priority,
    Requirement,
    Requirements,
    Review,
    Severity,
    Task,
    TaskList,
    Understanding,
    render,
)
from rolecall_server.team.documents.links.pages import Page, entry_of, mentions_of


def page(content: Content, number: int = 1) -> Page:
    document = Document(id=f"d{number}", author="R9 of T9", content=content)
    return Page(document, render(document))


def told(text: str) -> Page:
    return page(Understanding(title="x", facts=(Fact(topic="x", text=text),)), 3)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("R1 and T2, then C3.", ["R1", "T2", "C3"]),
        ("(R1; Q4) F5: S6", ["R1", "Q4", "F5", "S6"]),
        ("R2-D2, XR1, R1x, R0, p7/h2, a/R1, R1/b, v.R1, R1.py, E501, r1", []),
        ("`shop/price.py::total` and `R1`", ["shop/price.py::total", "R1"]),
        ("nothing", []),
    ],
)
def test_ids_are_found_as_whole_words_and_code_between_backticks(text: str, names: list[str]):
    assert [mention.name for mention in told(text).mentions] == names


def test_the_head_and_fenced_blocks_name_nothing():
    wanted = Requirement(id="R1", title="x", priority=Priority.P0, consequence="x", text="```\nR2 `a.py`\n```")
    found = page(Requirements(title="x", requirements=(wanted,)))
    assert [(mention.name, mention.is_entry) for mention in found.mentions] == [("R1", True)]


def test_a_place_in_or_beside_a_name_is_that_name():
    found = told("R12 x")
    (mention,) = found.mentions
    assert found.lines[mention.line][mention.start : mention.end] == "R12"
    assert found.at(mention.line, mention.start) == mention == found.at(mention.line, mention.end)
    assert found.at(mention.line, mention.end + 1) is None


def test_a_requirement_is_explained_in_its_own_document_for_all_others():
    wanted = Requirement(id="R1", title="x", priority=Priority.P0, consequence="x")
    pages = (
        page(Requirements(title="x", requirements=(wanted,)), 1),
        page(TaskList(title="x", tasks=(Task(id="T1", title="x", serves=("R1",), text="R1 again"),)), 2),
    )
    found = entry_of(pages, "R1", pages[1])
    assert found is not None
    assert (found[0].document.id, found[1].is_entry) == ("d1", True)
    assert [each.document.id for each, _ in mentions_of(pages, "R1", pages[0])] == ["d1", "d2", "d2"]
    assert entry_of(pages, "R2", pages[0]) is None


def test_a_finding_belongs_to_its_own_review():
    finding = Finding(id="F1", title="x", severity=Severity.MINOR, file="a.py", first_line=1, last_line=1, rests_on="x")
    pages = (page(Review(title="one", findings=(finding,)), 1), page(Review(title="two", findings=(finding,)), 2))
    for each in pages:
        found = entry_of(pages, "F1", each)
        assert found is not None
        assert found[0] is each
        assert [where.document.id for where, _ in mentions_of(pages, "F1", each)] == [each.document.id]
    assert entry_of(pages, "F1", told("F1")) is None
