"""What somebody is told before accepting a hunk."""

from __future__ import annotations

import pytest

from rolecall_server.review.guards.cautions import caution_mark, cautions
from rolecall_server.review.proposals.proposal import FileChange, Hunk, HunkKind


def change_of(path: str, *new_lines: str, base: str | None = None, renamed_to: str = "") -> tuple[FileChange, Hunk]:
    kind = HunkKind.RENAME if renamed_to else HunkKind.TEXT
    hunk = Hunk("h1", 0, 1 if base else 0, new_lines, kind=kind)
    return FileChange(path, base, "", (hunk,), renamed_to), hunk


def test_an_ordinary_hunk_needs_no_word() -> None:
    assert cautions(*change_of("shop/price.py", "x = 'é 😀'\n")) == ()
    assert caution_mark(*change_of("shop/price.py", "x = 'é 😀'\n")) == ""


def test_a_guarded_file_is_named_with_the_reason() -> None:
    told = cautions(*change_of("tests/conftest.py", "x = 1\n"))
    assert told == ("tests/conftest.py is guarded: pytest runs it before any test.",)
    assert caution_mark(*change_of("tests/conftest.py", "x = 1\n")) == " [guarded: pytest runs it before any test]"


def test_a_new_name_that_is_guarded_counts_as_well_as_the_old_one() -> None:
    assert cautions(*change_of("shop/price.py", renamed_to="conftest.py"))[0].startswith("conftest.py is guarded")


def test_a_hidden_character_is_told_with_its_place_and_many_are_counted() -> None:
    told = cautions(*change_of("shop/price.py", *["x = 1  # \u202e\n"] * 5))
    assert told[0].startswith("What it adds hides something: Line 1, column 10 holds a character that turns")
    assert told[3:] == ("So do 2 more places.",)
    assert caution_mark(*change_of("shop/price.py", "x = 1  # \u202e\n")) == " [hides characters]"


@pytest.mark.parametrize(("base", "told"), [("x = '\u200b'\n", False), ("x = 1\n", True)])
def test_what_was_hidden_before_is_not_news(base: str, told: bool) -> None:
    assert bool(cautions(*change_of("shop/price.py", "x = '\u200b'\n", base=base))) is told


def test_a_word_that_looks_like_one_of_the_files_is_told_in_code_only() -> None:
    lookalike = "\u0440\u0430\u0443 = 1\n"  # Cyrillic letters that are drawn as `pay`
    base = "pay = 2\n"
    assert cautions(*change_of("shop/price.py", "pay = 2\n", lookalike, base=base))
    assert not cautions(*change_of("notes.txt", "pay = 2\n", lookalike, base=base))
