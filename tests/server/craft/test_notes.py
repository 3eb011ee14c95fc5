"""Notes that a model writes from memory: read in one form, few and short, and no edit is read otherwise for them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolecall_server.craft.edits.notes import MOST_NOTES, MOST_OF_A_NOTE, Note, read_notes, used_in, without_notes
from rolecall_server.craft.edits.replies import parse_edit_blocks, text_beside_edits
from rolecall_server.craft.from_memory import tell_from_memory
from rolecall_server.review.proposals.evidence import GraphFinding
from rolecall_server.sandbox import TestResult, TestRun
from support.edits import block

MOUNT = Note("requests.Session.mount", "takes a prefix and an adapter")
USES_IT = {"shop/web.py": "session.mount('https://', adapter)\n"}
NOTES = ("Note: requests.Session.mount: takes a prefix", "- **Note:** `acme.price.of()`: gives `price.py`, or None.")


@pytest.mark.parametrize(
    "line",
    [
        "Note: requests.Session.mount: takes a prefix and an adapter",
        "note: requests.Session.mount(): takes a prefix and an adapter",
        "- **Note:** `requests.Session.mount`: takes a prefix and an adapter",
        "  > Note : requests.Session.mount : takes a prefix and an adapter  ",
    ],
)
def test_a_note_is_a_dotted_name_and_what_is_said_of_it(line: str) -> None:
    assert read_notes(f"I use sessions.\n{line}\nNow the edits.") == (MOUNT,)


@pytest.mark.parametrize(
    "line",
    [
        "Note: this is important: read it",
        "Note: requests.Session.mount takes a prefix",
        "Note: requests.Session.mount:",
        "A note: requests.Session.mount: takes a prefix",
        "Notes: requests.Session.mount: takes a prefix",
        "Note: shop/price.py: it has total",
    ],
)
def test_what_is_said_in_passing_is_none(line: str) -> None:
    assert read_notes(line) == ()


def test_of_a_name_that_is_noted_again_the_last_note_holds() -> None:
    said = "Note: a.b: takes one\nNote: a.c: takes two\nNote: a.b: takes three"
    assert read_notes(said) == (Note("a.b", "takes three"), Note("a.c", "takes two"))


def test_notes_of_names_that_the_change_does_not_use_are_left_out() -> None:
    assert used_in([MOUNT, Note("requests.Session.unmount", "takes a prefix")], USES_IT) == (MOUNT,)


def test_what_is_said_is_read_without_its_notes() -> None:
    assert without_notes(f"I use sessions.\n{NOTES[0]}\n{NOTES[1]}\nAnd no more.") == "I use sessions.\nAnd no more."


@given(st.text())
def test_notes_of_any_reply_are_few_and_short(reply: str) -> None:
    said = "\n".join(f"Note: a.b{number}: {line}" for number, line in enumerate(reply.split("\n")))
    notes = read_notes(said + "\nNote: a.c: " + reply * 50)
    assert len(notes) <= MOST_NOTES
    assert all(len(str(note)) <= MOST_OF_A_NOTE for note in notes)


@given(st.lists(st.tuples(st.integers(0, 100), st.sampled_from(NOTES)), min_size=1))
def test_notes_between_the_lines_around_edits_change_no_edit(notes: list[tuple[int, str]]) -> None:
    first, second = block("a.py", "old\n", "new\n"), block("b.py", "", "Note: a.b: text of the file\n")
    under_the_same_line = second.partition("\n")[2]
    beside = ["I change two files.\n", first, "And then:\n", second, under_the_same_line]
    lines = [line for part in beside for line in _outside(part)]
    noted = [*lines]
    for at, note in notes:
        noted.insert(at % (len(noted) + 1), f"{note}\n")
    assert parse_edit_blocks("".join(noted)) == parse_edit_blocks("".join(lines))
    assert {note.name for note in read_notes(text_beside_edits("".join(noted)))} == {
        name for _, note in notes for name in [read_notes(note)[0].name]
    }


def _outside(part: str) -> list[str]:
    """The lines of *part*, those of a block as one."""
    head, marker, rest = part.partition("<<<<<<<")
    return [*head.splitlines(keepends=True), *([marker + rest] if marker else [])]


NO_MODULE = GraphFinding("name without meaning", "a.py", 0, "No module 'requests' is installed.", name="requests")
NO_MOUNT = GraphFinding("name without meaning", "a.py", 0, "It has no 'mount'.", name="requests.sessions.Session.mount")
PERHAPS = GraphFinding("name without meaning", "a.py", 0, "Nothing is called 'mount'.", certain=False, name="mount")
OTHER = GraphFinding("name without meaning", "a.py", 0, "No.", name="requests.adapters.HTTPAdapter.mounted")
BROKEN = GraphFinding("call that does not fit", "a.py", 0, "requests.Session.mount takes two.")


@pytest.mark.parametrize(
    ("finding", "verdict"),
    [
        (NO_MODULE, "and refuted by what is installed"),
        (NO_MOUNT, "and refuted by what is installed"),
        (PERHAPS, "and doubted by what is installed"),
        (OTHER, "checked against nothing"),
        (BROKEN, "checked against nothing"),
    ],
)
def test_a_note_says_what_the_check_of_names_found(finding: GraphFinding, verdict: str) -> None:
    (told,) = tell_from_memory([MOUNT], USES_IT, [finding], None)
    assert told.startswith(f"From memory, {verdict}: requests.Session.mount: takes a prefix and an adapter")
    assert (finding.sentence in told) == (verdict != "checked against nothing")


@pytest.mark.parametrize(
    ("message", "is_refuted"),
    [
        ("ModuleNotFoundError: No module named 'requests'", True),
        ("ImportError: cannot import name 'Session' from 'requests' (/site-packages/requests.py)", True),
        ("AttributeError: 'Session' object has no attribute 'mount'", True),
        ("AttributeError: module 'requests' has no attribute 'Session'", True),
        ("AttributeError: 'NoneType' object has no attribute 'mount'", False),
        ("AttributeError: 'Session' object has no attribute 'unmount'", False),
        ("TypeError: Session.mount() missing 1 required positional argument: 'adapter'", False),
        ("ModuleNotFoundError: No module named 'requests_mock'", False),
    ],
)
def test_a_note_says_what_a_run_showed_of_its_name(message: str, is_refuted: bool) -> None:
    failed = TestResult("tests/test_web.py::test_mount", "failed", message=message)
    (told,) = tell_from_memory([MOUNT], USES_IT, [], TestRun("ran", outcomes=(failed,)))
    assert told == (
        f"From memory, and refuted by a run: {MOUNT}. tests/test_web.py::test_mount: {message}"
        if is_refuted
        else f"From memory, checked against nothing: {MOUNT}"
    )
