"""Markdown there and back: no text breaks a document, and no edit by hand is lost without a word."""

from __future__ import annotations

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from rolecall_server.team.documents import (
    Design,
    Document,
    FileWork,
    Kind,
    Misread,
    Priority,
    Question,
    Requirement,
    Requirements,
    SymbolWork,
    TaskList,
    Understanding,
    parse,
    render,
)
from rolecall_server.team.documents.markdown.escaping import fenced_lines, heading
from support.documents import SNIPPETS, documents, line

REQUIREMENTS = """\
# Export as CSV

## Goals

- Keep the cart.

## Requirements

### R1: Write CSV

- **Priority:** P0
- **Consequence:** Two items make three lines.

The first line names the columns.

### R2: Commas survive

- **Priority:** P1
- **Consequence:** What is read back is the same.
"""


def requirements(text: str) -> Requirements:
    """What *text* says, which is all understood."""
    document, problems = parse(Kind.REQUIREMENTS, text)
    assert problems == ()
    assert document is not None
    assert isinstance(document.content, Requirements)
    return document.content


def problems_of(text: str, kind: Kind = Kind.REQUIREMENTS) -> tuple[Misread, ...]:
    return parse(kind, text)[1]


@settings(max_examples=1000)
@given(documents())
def test_a_document_comes_back_from_its_markdown(document: Document):
    read, problems = parse(document.kind, render(document))
    assert read == document
    assert all("is its end missing?" in problem.what for problem in problems), "text may hold blocks within blocks"


@settings(max_examples=200)
@given(documents())
def test_any_reader_of_markdown_sees_the_headings_that_we_see(document: Document):
    lines = render(document).split("\n")
    start = lines.index("---", 1) + 1
    fenced = fenced_lines(lines)
    ours = [n for n, text in enumerate(lines) if n >= start and n not in fenced and heading(text, 3)]
    tokens = MarkdownIt().parse("\n".join(lines[start:]))
    theirs = [
        token.map[0] + start for token in tokens if token.type == "heading_open" and not token.level and token.map
    ]
    assert [n for n in ours if lines[n].startswith(("# ", "## "))] == [
        n for n in theirs if lines[n].startswith(("# ", "## "))
    ]


@st.composite
def edits(draw: st.DrawFn, text: str) -> str:
    """*text* after somebody wrote in it, took lines out, doubled some or moved a part of it."""
    lines = text.split("\n")
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(lines)))
        end = draw(st.integers(at, min(len(lines), at + 12)))
        match draw(st.sampled_from(("insert", "delete", "repeat", "move", "append"))):
            case "insert":
                lines[at:at] = [draw(st.sampled_from(SNIPPETS) | line)]
            case "delete":
                del lines[at:end]
            case "repeat":
                lines[at:at] = lines[at:end]
            case "move":
                moved = lines[at:end]
                del lines[at:end]
                to = draw(st.integers(0, len(lines)))
                lines[to:to] = moved
            case _:
                lines[at : at + 1] = [f"{part} {draw(line)}" for part in lines[at : at + 1]]
    return "\n".join(lines)


@settings(max_examples=1000)
@given(st.data())
def test_what_is_read_after_an_edit_by_hand_is_what_is_written_and_read_from_then_on(data: st.DataObject):
    document = data.draw(documents())
    read, problems = parse(document.kind, data.draw(edits(render(document))), document)
    assert read is not None or problems, "what cannot be read is said"
    assume(read is not None)
    assert read is not None
    assert parse(read.kind, render(read))[0] == read


@settings(max_examples=300)
@given(st.sampled_from(Kind), st.lists(st.sampled_from(SNIPPETS) | st.text(max_size=20), max_size=20).map("\n".join))
def test_no_text_at_all_is_too_odd_to_be_read(kind: Kind, text: str):
    document, problems = parse(kind, text)
    assert document is not None or problems


def test_the_order_of_sections_does_not_matter():
    goals, rest = REQUIREMENTS.split("## Requirements")
    moved = f"# Export as CSV\n\n## Requirements{rest}\n{goals.removeprefix('# Export as CSV')}"
    assert requirements(moved) == requirements(REQUIREMENTS)


def test_a_section_that_was_taken_out_is_empty():
    assert requirements(REQUIREMENTS.replace("## Goals\n\n- Keep the cart.\n", "")).goals == ()


def test_a_bullet_that_was_added_is_another_item_however_it_is_written():
    added = REQUIREMENTS.replace(
        "- Keep the cart.\n", "- Keep the cart.\n* No new dependency,\n  none at all.\n1. Soon.\n"
    )
    assert requirements(added).goals == ("Keep the cart.", "No new dependency, none at all.", "Soon.")


def test_a_requirement_without_an_id_gets_the_next_one():
    added = f"{REQUIREMENTS}\n### Read CSV\n\n- **priority**: P2\n- **Consequence:** It is the same cart.\n"
    last = requirements(added).requirements[-1]
    assert (last.id, last.title, last.priority) == ("R3", "Read CSV", Priority.P2)


def test_code_in_a_requirement_may_hold_what_looks_like_a_heading():
    code = "```python\n# R9: a comment\n## Goals\n```"
    with_code = requirements(REQUIREMENTS.replace("The first line names the columns.", code))
    assert with_code.requirements[0].text == code
    assert len(with_code.requirements) == 2


def test_spaces_within_a_line_are_kept():
    text = REQUIREMENTS.replace("Two items make three lines.", "row(1) == 'a   1', with three  spaces.")
    first = requirements(text).requirements[0]
    assert first.consequence == "row(1) == 'a   1', with three  spaces."
    assert "'a   1', with three  spaces." in render(Document(id="d1", author="x", content=requirements(text)))


def test_a_question_has_a_place_for_the_answer():
    question = Question(id="Q1", title="Which?", options=("One", "Two"), recommended="One")
    text = render(
        Document(id="d1", author="PM", content=Requirements(title="x", requirements=(), questions=(question,)))
    )
    assert "- **Answer:**\n" in text
    answered = requirements(text.replace("- **Answer:**", "- **Answer:** Two, please")).questions[0]
    assert (answered.answer, answered.holds, question.holds) == ("Two, please", "Two, please", "One")


def test_references_to_code_may_be_written_without_backticks():
    files = "## Files to change\n\n- shop/price.py: round\n"
    text = f"# x\n\n{files}\n## Symbols to add\n\n- `shop/price.py::total` (R1,R2) - sums\n"
    document, problems = parse(Kind.DESIGN, text)
    assert problems == ()
    assert document is not None
    assert document.content == Design(
        title="x",
        approach="",
        files_to_change=(FileWork(path="shop/price.py", what="round"),),
        symbols_to_add=(SymbolWork(symbol="shop/price.py::total", serves=("R1", "R2"), what="sums"),),
    )


def test_carriage_returns_and_a_byte_order_mark_do_not_matter():
    assert requirements("\ufeff" + REQUIREMENTS.replace("\n", "\r\n")) == requirements(REQUIREMENTS)


def test_the_head_may_be_missing_where_the_document_is_known():
    known = Document(id="d7", version=3, author="Product Manager", because=("m1",), content=requirements(REQUIREMENTS))
    assert parse(Kind.REQUIREMENTS, REQUIREMENTS, known) == (known, ())


def test_a_priority_that_does_not_exist_is_a_problem_of_its_line():
    text = REQUIREMENTS.replace("P1", "P7")
    document, (problem,) = parse(Kind.REQUIREMENTS, text)
    assert document is None
    assert text.split("\n")[problem.line] == "- **Priority:** P7"
    assert problem.what == "Priority: input should be 'P0', 'P1' or 'P2'"


def test_a_field_that_is_missing_is_a_problem_of_its_item():
    text = REQUIREMENTS.replace("- **Priority:** P1\n", "")
    (problem,) = problems_of(text)
    assert text.split("\n")[problem.line] == "### R2: Commas survive"
    assert problem.what == "Priority: field required"


def test_a_fourth_goal_is_a_problem_of_the_goals():
    text = REQUIREMENTS.replace("- Keep the cart.", "- a\n- b\n- c\n- d")
    (problem,) = problems_of(text)
    assert text.split("\n")[problem.line] == "## Goals"
    assert problem.what.startswith("Goals: tuple should have at most 3 items")


def test_two_requirements_of_one_id_are_a_problem():
    (problem,) = problems_of(REQUIREMENTS.replace("### R2", "### R1"))
    assert problem.what == "Requirements: two items have the id R1"


def test_a_section_that_does_not_exist_is_said_and_the_nearest_one_named():
    text = REQUIREMENTS.replace("## Goals", "## Gaols")
    document, (problem,) = parse(Kind.REQUIREMENTS, text)
    assert document is not None
    assert problem == Misread(2, "there is no section 'Gaols' here, it is left out; is it 'Goals'?")


def test_what_has_no_place_is_said():
    stray = problems_of("# x\n\nstray\n\n## Requirements\n\nstray too\n")
    assert [problem.line for problem in stray] == [2, 6]


def test_a_diagram_with_a_line_that_is_none_is_a_problem_of_that_line():
    text = (
        "# x\n\n## Approach\n\nHm.\n\n## Classes\n\n```mermaid\nclassDiagram\n    class Cart\n    Cart => Item\n```\n"
    )
    document, (problem,) = parse(Kind.DESIGN, text)
    assert document is not None
    assert text.split("\n")[problem.line] == "    Cart => Item"


def test_a_block_whose_end_was_lost_does_not_take_the_next_requirement_along_unsaid():
    block = "```python\nprice = 1\n```"
    whole = REQUIREMENTS.replace("The first line names the columns.", block) + f"\n{block}\n"
    assert problems_of(whole) == ()
    lost = whole.replace(block, block.removesuffix("\n```"), 1)
    (problem,) = problems_of(lost)
    assert lost.split("\n")[problem.line] == "```python"
    assert "is its end missing?" in problem.what


def test_a_missing_title_is_a_problem():
    (problem,) = problems_of("## Goals\n\n- One.\n")
    assert problem.what == "Title: field required"


def test_the_dash_between_a_topic_and_its_fact_is_a_colon():
    document, _ = parse(Kind.UNDERSTANDING, "# Shop\n\n## Facts\n\n- **Tests:** pytest\n- Entry points: `shop`\n")
    assert document is not None
    assert isinstance(document.content, Understanding)
    assert [(fact.topic, fact.text) for fact in document.content.facts] == [
        ("Tests", "pytest"),
        ("Entry points", "`shop`"),
    ]


def test_a_task_is_read_whatever_stands_between_its_fields():
    fields = "First some words.\n\n- **Serves:** R1\n\n- **Acceptance:** one\n  - two\n\nLast words.\n"
    text = f"# x\n\n## Tasks\n\n### T1. Do it\n\n{fields}"
    document, problems = parse(Kind.TASK_LIST, text)
    assert problems == ()
    assert document is not None
    assert isinstance(document.content, TaskList)
    (task,) = document.content.tasks
    assert (task.title, task.serves, task.acceptance) == ("Do it", ("R1",), ("one", "two"))
    assert task.text.split() == ["First", "some", "words.", "Last", "words."]


def test_an_unused_requirement_is_no_worse_for_its_fields_in_another_order():
    swapped = REQUIREMENTS.replace(
        "- **Priority:** P0\n- **Consequence:** Two items make three lines.",
        "- **Consequence:** Two items make three lines.\n- **Priority:** P0",
    )
    assert requirements(swapped).requirements[0] == requirements(REQUIREMENTS).requirements[0]
    assert isinstance(requirements(swapped).requirements[0], Requirement)
