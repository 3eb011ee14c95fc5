"""Lines that a model copied are found, whatever nobody sees of them was lost; and what stays is written as it was."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolecall_server.context.redaction import Covers
from rolecall_server.craft.edits.edit_blocks import Edited, apply_edit_blocks, parse_edit_blocks
from rolecall_server.workspace import split_lines
from support.edits import block
from support.secrets import FORMS, PLACES, made, placed

UNSEEN = "\t \r\n\f\v\x1c\x85\u2028\ufeff\u00a0\u2003\u3000\u200b\u200d\u00ad\u202e\u2060\ufe0f\u0301"
TEXTS = st.text(
    st.one_of(st.sampled_from(UNSEEN + "abx=<>#'"), st.characters(exclude_categories=["Cs"])), min_size=1, max_size=80
)


def edited(text: str, search: str, new: str) -> Edited:
    return apply_edit_blocks(parse_edit_blocks(block("a.py", search, new)), {"a.py": text}.get)


def after(text: str, search: str, new: str) -> str:
    result = edited(text, search, new)
    assert result.problems == ()
    return result.files["a.py"] or ""


def found(text: str, search: str) -> bool:
    """Whether *search*, which is some lines as they were shown, is found in *text*, once or more often."""
    longest = "FILE: a.py\n<<<<<<<<< SEARCH\n" + search + "=========\nX\n>>>>>>>>> REPLACE\n"
    result = apply_edit_blocks(parse_edit_blocks(longest), {"a.py": text}.get)
    return all("places in a.py" in problem.reason for problem in result.problems)


@given(TEXTS, st.data())
def test_any_lines_of_any_text_are_found_as_they_were_shown(text: str, data: st.DataObject) -> None:
    lines = split_lines(text)
    start = data.draw(st.integers(0, len(lines) - 1))
    end = data.draw(st.integers(start + 1, len(lines)))
    ending = data.draw(st.sampled_from(["\n", "\r\n"]))
    shown = "".join(line.rstrip("\r\n") + ending for line in lines[start:end])
    assert found(text, shown)
    assert found(text, "".join(f"{line.rstrip()}\n" for line in split_lines(shown)))


def as_a_model_writes_it(line: str) -> str:
    return line.translate({ord(one): None for one in "\ufeff\u200b\u200d\u00ad\u2060\f"} | {0xA0: " ", 0x2003: " "})


@given(st.lists(st.text("ab=\u00a0\u2003\ufeff\u200b\u00ad\f ", max_size=8).map(lambda line: f"x{line}y"), min_size=1))
def test_lines_are_found_without_what_nobody_sees(lines: list[str]) -> None:
    text = "".join(f"{line}\r\n" for line in lines)
    assert found(text, "".join(f"{as_a_model_writes_it(line)}\n" for line in lines))


LIKE_LINE_ENDS = "\v\f\x1c\x1d\x1e\x85\u2028\u2029"


@given(
    st.lists(st.tuples(st.text("abc (", min_size=1, max_size=6), st.sampled_from(LIKE_LINE_ENDS + "\n")), min_size=1)
)
def test_lines_are_found_where_a_model_ended_a_line_at_what_looks_like_a_line_end(
    pieces: list[tuple[str, str]],
) -> None:
    text = "".join(f"x{piece}y{end}" for piece, end in pieces)
    assert found(text, "".join(f"x{piece}y\n" for piece, _ in pieces))


@pytest.mark.parametrize("end", LIKE_LINE_ENDS)
def test_what_looks_like_a_line_end_stays_where_its_line_does(end: str) -> None:
    text = f"first{end}second\nthird{end}fourth\r\nlast\n"
    assert after(text, "second\nthird\nfourth\n", "second\nthird\n4\n") == f"first{end}second\nthird{end}4\nlast\n"
    assert (
        after(text, "first\nsecond\n", "first\nadded\nsecond\n")
        == f"first{end}added\nsecond\nthird{end}fourth\r\nlast\n"
    )
    assert edited(text, "second\nfirst\n", "x\n").problems, "only where they follow one another"


def test_thousands_of_lines_that_are_all_alike_are_compared_soon() -> None:
    text = "x = 1\n" * 8_000
    assert edited(text, "x = 1\n" * 4_000 + "y\n", "z\n").problems
    long = f"{'a ' * 50_000}\n"
    assert after(long, long, long.replace("a a ", "b a ")) == long.replace("a a ", "b a ")


@given(st.sampled_from(sorted(FORMS)), st.sampled_from(sorted(PLACES)), st.integers(0, 9))
def test_lines_with_covered_secrets_are_found_as_they_were_shown(name: str, place: str, seed: int) -> None:
    text = placed(made(name, seed), place)
    covers = Covers()
    shown = covers.cover(text)
    shown = shown if shown.endswith("\n") else f"{shown}\n"
    assert found(text, covers.uncover(shown))


def test_lines_that_stay_keep_their_endings_and_what_nobody_sees() -> None:
    text = "a\u00a0=\u00a01  \r\nb = 2\nc = 3\r\n"
    assert after(text, "a = 1\nb = 2\nc = 3\n", "a = 1\nb = 20\nc = 3\n") == "a\u00a0=\u00a01  \r\nb = 20\nc = 3\r\n"


def test_a_line_that_changes_keeps_what_nobody_sees_of_the_rest() -> None:
    text = 'x = "10\u00a0km"  # far\n'
    assert after(text, 'x = "10 km"  # far\n', 'x = "10 km"  # near\n') == 'x = "10\u00a0km"  # near\n'
    assert after('x = "a\u200bb"\n', 'x = "ab"\n', 'y = "ab"\n') == 'y = "a\u200bb"\n'


def test_a_copy_with_spaces_finds_lines_with_tabs_and_gets_tabs() -> None:
    text = "def f():\n\tif x:\n\t\treturn 1\n\treturn 2\n"
    copied = "    if x:\n        return 1\n"
    grown = "    if x:\n        y = 1\n        return y\n"
    assert after(text, copied, grown) == "def f():\n\tif x:\n\t\ty = 1\n\t\treturn y\n\treturn 2\n"


def test_a_copy_with_tabs_finds_lines_with_spaces_and_gets_spaces() -> None:
    text = "if x:\n    if y:\n        pass\n"
    assert after(text, "\tif y:\n\t\tpass\n", "\tif y:\n\t\treturn\n") == "if x:\n    if y:\n        return\n"


def test_a_carriage_return_alone_ends_a_line() -> None:
    assert after("a\rb\rc\r", "b\n", "B\n") == "a\rB\nc\r"
    assert after("a\r\rb\n", "a\n", "A\n\n").count("\n") == 3, "no empty line is swallowed"


def test_lines_that_look_alike_in_two_places_are_two_places() -> None:
    (problem,) = edited("a\u00a0b\nc\na\u200b b\n", "a b\n", "x\n").problems
    assert "matches 2 places in a.py (lines 1, 3)" in problem.reason


# What a model is told where nothing matches


LONG = "".join(f"def f{n}():\n    x = {n}\n    y = x\n    return x * {n}\n\n\n" for n in range(20))


def test_the_nearest_lines_are_those_that_share_most_with_what_was_searched() -> None:
    (problem,) = edited(LONG, "def g():\n    x = 13\n    y = x\n    return y\n", "").problems
    assert (
        "The nearest lines are (from line 79):\ndef f13():\n    x = 13\n    y = x\n    return x * 13" in problem.reason
    )


def test_the_nearest_lines_are_shown_as_all_other_blocks_leave_them() -> None:
    reply = block("a.py", "one\n", "uno\n") + block("a.py", "one\ntwo\nthere\n", "") + block("a.py", "three\n", "tre\n")
    result = apply_edit_blocks(parse_edit_blocks(reply), {"a.py": "one\ntwo\nthree\n"}.get)
    (problem,) = result.problems
    assert problem.blocks == (2,)
    assert problem.reason.endswith("(from line 1):\nuno\ntwo\ntre")
    assert [each.number for each in result.applied] == [1, 3]


def test_what_stands_there_already_is_said_to_stand_there() -> None:
    (problem,) = edited("x = 1\ny = 2\n", "y = 1\n", "y = 2\n").problems
    assert problem.reason == (
        "SEARCH matches nothing in a.py, and what shall take its place stands there already, from line 2. "
        "Leave it out if so."
    )


@pytest.mark.parametrize(
    "name", ["REDACTED_SECRET_9", "redacted_secret_9", "REDACTED-AWS-KEY-2", "REDACTED_GITHUB_TOKEN_1"]
)
@pytest.mark.parametrize("search", ["x = 1\n", ""])
def test_a_name_like_a_cover_that_stands_for_nothing_is_never_written(name: str, search: str) -> None:
    result = edited("x = 1\n", search, f'key = "{name}"\n')
    assert result.files == {}
    assert result.problems[0].reason.startswith(f"{name} stands for no secret that you were shown")


def test_a_cover_without_its_number_is_refused_where_there_are_secrets() -> None:
    secret = made("GitHub", 1)
    assert edited(f'key = "{secret}"\nx = 1\n', "x = 1\n", 'x = "REDACTED_GITHUB_TOKEN"\n').files == {}
    assert after("x = 1\n", "x = 1\n", "REDACTED_TOKEN = 1\n") == "REDACTED_TOKEN = 1\n"
