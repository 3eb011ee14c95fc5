"""The pieces in which a model reads a file: whole functions, none lost, none longer than there is room for."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolecall_analysis import Snapshot
from rolecall_server.craft.code_review.pieces import CodePiece, code_concerned, pieces_of
from rolecall_server.model import estimate_tokens

SHOP = """\
import re

WORD = re.compile("[a-z]+")


class Shop:
    name = ""

    def first(self):
        return 1

    def second(self):
        def inner():
            return 2

        return inner()


def last():
    return 3
"""


def pieces(text: str, most_tokens: int, changed: frozenset[int] | None = None) -> tuple[CodePiece, ...]:
    snapshot = Snapshot().with_changes({"shop.py": text})
    return pieces_of(snapshot, "shop.py", text.splitlines(keepends=True), most_tokens, changed)


def test_a_short_file_is_read_at_once_with_its_line_numbers() -> None:
    (piece,) = pieces(SHOP, 1_000)
    assert [line[6:] for line in piece.code.splitlines()] == SHOP.splitlines()
    assert piece.code.startswith("    1 import re\n")
    assert len(piece.lines) == len(SHOP.splitlines())


def test_of_a_changed_file_the_functions_that_changed_are_read_with_their_class_and_the_files_head() -> None:
    (piece,) = pieces(SHOP, 1_000, frozenset({13}))
    assert "import re" in piece.code
    assert "class Shop:" in piece.code
    assert "return inner()" in piece.code
    assert piece.code.splitlines()[-1] == "...", "the file goes on"
    assert "first" not in piece.code
    assert "last" not in piece.code


def test_a_file_without_functions_is_not_read() -> None:
    assert pieces("NAMES = ['a']\n", 1_000) == ()


@given(lengths=st.lists(st.integers(1, 30), min_size=1, max_size=12), most_tokens=st.integers(60, 400))
def test_each_function_is_read_and_no_piece_is_too_long(lengths: list[int], most_tokens: int) -> None:
    text = "\n\n".join(
        f"def f{number}():\n" + "".join(f"    x = {at}\n" for at in range(length))
        for number, length in enumerate(lengths)
    )
    found = pieces(text, most_tokens)
    assert all(estimate_tokens(one.code) <= most_tokens for one in found)
    read = [name for one in found for name in re.findall(r"def (f\d+)\(", one.code)]
    assert read == [f"f{number}" for number in range(len(lengths))]


@pytest.mark.parametrize(
    ("places", "words", "shown"),
    [
        ({9}, "", "6-7,9-10"),
        ({15}, "", "6-7,12-16"),
        (set(), "assert last() == 3", "19-20"),
        (set(), "assert Shop().second() == WORD", "3,6-7,12-16"),
        ({3}, "", "1-16"),
    ],
)
def test_the_code_concerned_is_whole_functions_with_the_heads_of_their_classes(
    places: set[int], words: str, shown: str
) -> None:
    (piece,) = pieces(SHOP, 1_000)
    told = [int(line[:5]) for line in code_concerned(piece, places, words).splitlines() if line != "..."]
    runs = [(int(first), int(last or first)) for first, _, last in (one.partition("-") for one in shown.split(","))]
    wanted = [number for first, last in runs for number in range(first, last + 1)]
    assert [number for number in told if piece.lines[number - 1].strip()] == [
        number for number in wanted if piece.lines[number - 1].strip()
    ]
