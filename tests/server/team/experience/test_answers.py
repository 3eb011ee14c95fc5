"""A change said as edit blocks: read back and applied, they lead to exactly that change."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rolecall_server.craft.edits.edit_blocks import apply_edit_blocks, parse_edit_blocks
from rolecall_server.team.experience.answers import edit_blocks, searched_lines

LINES = st.lists(
    st.sampled_from(["x = 1\n", "\n", "y = x\n", "def f():\n", "    return x\n", "    z = 3\n"]), max_size=25
)


def numbered(lines: list[str]) -> str:
    return "".join(f"a{n} = {n}\n{line}" for n, line in enumerate(lines))


@given(LINES, LINES)
def test_blocks_lead_from_one_text_to_the_other_or_are_not_said(old: list[str], new: list[str]) -> None:
    before, after = {"a.py": "".join(old)}, {"a.py": "".join(new)}
    if answer := edit_blocks(before, after):
        edited = apply_edit_blocks(parse_edit_blocks(answer), before.get)
        assert (edited.problems, edited.files) == ((), after)


@given(LINES, st.integers(0, 24), st.sampled_from(["new = 1\n", ""]))
def test_a_change_of_one_line_among_others_is_always_said(lines: list[str], at: int, new: str) -> None:
    old = numbered([*lines, "last = 1\n"])
    parts = old.splitlines(keepends=True)
    parts[2 * min(at, len(lines))] = new
    answer = edit_blocks({"a.py": old}, {"a.py": "".join(parts)})
    assert answer
    assert searched_lines(answer) <= {line.strip() for line in old.splitlines()}


def test_a_new_file_is_said_whole() -> None:
    answer = edit_blocks({"new.py": None}, {"new.py": "x = 1\n"})
    assert apply_edit_blocks(parse_edit_blocks(answer), lambda path: None).files == {"new.py": "x = 1\n"}


def test_lines_like_markers_are_not_said_wrongly() -> None:
    text = "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n"
    before, after = {"a.md": f"{text}c\n"}, {"a.md": f"{text}d\n"}
    if answer := edit_blocks(before, after):
        assert apply_edit_blocks(parse_edit_blocks(answer), before.get).files == after
