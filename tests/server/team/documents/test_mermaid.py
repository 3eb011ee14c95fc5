"""Mermaid: what is written is valid whatever the names, and reads back as the same diagram.

The grammar here is that part of Mermaid's own which we write, spelt out from its published grammar files.
"""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings

from rolecall_server.team.documents.diagrams import CallFlow, ClassDiagram, Quadrant, RelationKind
from rolecall_server.team.documents.markdown.mermaid import NotMermaid, decode, encode, read_mermaid, write_mermaid
from support.documents import call_flows, class_diagrams, line, quadrants

NAME = r"(?:[A-Z][A-Za-z0-9]*)"
TEXT = r"(?:(?!#)[^\x00-\x1f;{}\"<>~%`^]|#\d+;)+"
GRAMMAR = {
    ClassDiagram: re.compile(
        rf"classDiagram(\n    class {NAME}(\[\"{TEXT}\"\])?( \{{(\n        {TEXT})+\n    \}})?)+"
        rf"(\n    {NAME} (--\|>|o--|\.\.>) {NAME}( : {TEXT})?)*"
    ),
    CallFlow: re.compile(rf"sequenceDiagram(\n    participant {NAME}( as {TEXT})?)+(\n    {NAME}--?>>{NAME}: {TEXT})+"),
    Quadrant: re.compile(
        rf"quadrantChart\n    title {TEXT}\n    x-axis \"{TEXT}\" --> \"{TEXT}\"\n    y-axis \"{TEXT}\" --> \"{TEXT}\""
        rf"(\n    \"{TEXT}\": \[(0(\.\d+)?|1), (0(\.\d+)?|1)\])+"
    ),
}


@settings(max_examples=300)
@given(class_diagrams() | call_flows | quadrants)
def test_what_is_written_follows_the_grammar_and_reads_back_as_the_same(diagram: ClassDiagram | CallFlow | Quadrant):
    written = write_mermaid(diagram)
    assert GRAMMAR[type(diagram)].fullmatch(written)
    assert type(diagram).model_validate(read_mermaid(written)) == diagram


LONG = "# R1: " + "long " * 100 + "name"


@pytest.mark.parametrize(
    "diagram",
    [
        ClassDiagram.model_validate(
            {
                "classes": [{"name": LONG, "members": [f"{LONG}: int"]}, {"name": "B"}],
                "relations": [{"source": LONG, "target": "B", "kind": RelationKind.INHERITS, "label": LONG}],
            }
        ),
        CallFlow.model_validate({"steps": [{"caller": LONG, "callee": "B", "message": LONG}]}),
        Quadrant.model_validate(
            {
                "title": LONG,
                **dict.fromkeys(("x_low", "x_high", "y_low", "y_high"), LONG),
                "points": [{"name": LONG, "x": 0, "y": 1}],
            }
        ),
    ],
    ids=lambda diagram: type(diagram).__name__,
)
def test_long_names_come_back(diagram: ClassDiagram | CallFlow | Quadrant):
    assert type(diagram).model_validate(read_mermaid(write_mermaid(diagram))) == diagram


@given(line)
def test_a_text_comes_back_from_its_entity_codes(text: str):
    assert decode(encode(text)) == text


def test_plain_names_stand_as_they_are_and_others_get_a_letter_and_a_number():
    flow = CallFlow.model_validate(
        {"steps": [{"caller": "Cart", "callee": "shop.price", "message": "total(items)"},
                   {"caller": "End", "callee": "Cart", "message": "done", "is_reply": True}]}
    )  # fmt: skip
    assert write_mermaid(flow) == (
        "sequenceDiagram\n"
        "    participant Cart\n"
        "    participant P2 as shop.price\n"
        "    participant P3 as End\n"
        "    Cart->>P2: total(items)\n"
        "    P3-->>Cart: done"
    )


@pytest.mark.parametrize(
    ("arrow", "kind", "source"),
    [
        ("--|>", RelationKind.INHERITS, "A"),
        ("<|--", RelationKind.INHERITS, "B"),
        ("*--", RelationKind.HAS, "A"),
        ("--o", RelationKind.HAS, "B"),
        ("-->", RelationKind.USES, "A"),
        ("<..", RelationKind.USES, "B"),
    ],
)
def test_arrows_that_somebody_drew_are_read(arrow: str, kind: RelationKind, source: str):
    diagram = ClassDiagram.model_validate(
        read_mermaid(f"classDiagram\n  A {arrow} B : why\n\n  %% a comment\n  A : x int")
    )
    (relation,) = diagram.relations
    assert (relation.kind, relation.source, relation.label) == (kind, source, "why")
    assert [(drawn.name, drawn.members) for drawn in diagram.classes] == [("A", ("x int",)), ("B", ())]


@pytest.mark.parametrize(
    ("text", "line_number"),
    [
        ("", 0),
        ("flowchart TD\n A --> B", 0),
        ("classDiagram\n  class A\n  A => B", 2),
        ("sequenceDiagram\n  loop for ever", 1),
        ("quadrantChart\n  title x\n  somewhere: 1, 2", 2),
    ],
)
def test_a_line_that_is_not_understood_is_named(text: str, line_number: int):
    with pytest.raises(NotMermaid) as caught:
        read_mermaid(text)
    assert caught.value.line == line_number
