"""What a reader of added lines does not see, and what is only unusual."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolecall_server.review.guards.hidden_characters import hidden_characters, is_code

UNSEEN = (
    *"\u200b\u2060\u2061\u2064\ufeff\u00ad\u034f\u115f\u3164\uffa0\u2800\u180e\ufff9",
    *"\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069",
    *"\x00\x08\x1b\x7f\x85\x9b\u2028\u2029\U000e0041\U000e0100\ufe00\ue000",
)


@pytest.mark.parametrize("character", UNSEEN, ids=lambda character: f"U+{ord(character):04X}")
@pytest.mark.parametrize("line", ["access = {}'user'\n", "# {}a comment\n", "na{}me = 1\n"])
def test_every_unseen_character_is_told_with_its_place_and_name(line: str, character: str) -> None:
    (found,) = hidden_characters(["x = 1\n", line.format(character)])
    assert (found.line, found.column) == (1, line.index("{"))
    assert f"U+{ord(character):04X} {unicodedata.name(character, '')}".rstrip() in found.sentence


def test_text_that_runs_the_other_way_is_told_at_each_turn() -> None:
    line = 'if level != "user\u202e \u2066# Check if admin\u2069 \u2066":\n'
    assert [one.column for one in hidden_characters([line])] == [17, 19, 36, 38]
    assert "turns the direction of writing" in hidden_characters([line])[0].what


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("p\u0430ssword = 1\n", "mixes Latin letters with U+0430 CYRILLIC SMALL LETTER A"),
        ("def get_us\u0435r(): ...\n", "U+0435 CYRILLIC SMALL LETTER IE"),
        ("\u0391dmin = 1\n", "U+0391 GREEK CAPITAL LETTER ALPHA"),
        ("adm\u0131n = 1\n", "U+0131 LATIN SMALL LETTER DOTLESS I"),
        ("lo\u0261in = 1\n", "U+0261 LATIN SMALL LETTER SCRIPT G"),
        ("p\u0251ssword = 1\n", "U+0251 LATIN SMALL LETTER ALPHA"),
        ("t\u1d0fken = 1\n", "U+1D0F LATIN LETTER SMALL CAPITAL O"),
        ("x = 'a'; pr\u0131nt(x)\n", "U+0131 LATIN SMALL LETTER DOTLESS I"),
        ("\uff45\uff56\uff41\uff4c('1')\n", "which Python reads as 'eval'"),
        ("\U0001d626\U0001d637\U0001d622\U0001d62d('1')\n", "which Python reads as 'eval'"),
    ],
)
def test_a_word_that_is_not_spelled_as_it_looks_is_told(line: str, said: str) -> None:
    (found,) = hidden_characters([line])
    assert said in found.what


def test_a_word_of_look_alikes_is_told_where_the_word_it_looks_like_is_in_use() -> None:
    lookalike = "\u0441\u043e\u0440\u0443"
    assert "looks like 'copy'" in hidden_characters([f"{lookalike}(a)\n"], known="from shutil import copy\n")[0].what
    assert hidden_characters([f"# {lookalike}\n"], known="total = 1\n") == ()


@pytest.mark.parametrize(
    "line",
    [
        "price = 'naïve café, Grüße'\n",
        "# Цена товара со скидкой\n",  # noqa: RUF001
        "Δt = σ_max * λ\n",  # noqa: RUF001
        "print('日本語 テスト')\n",
        "label = '❤️ 👩\u200d🚀 done ✅'\n",
        "text = 'می\u200cخواهم'\n",  # noqa: RUF001
        "area = 5  # m², 1º, ½, µs\n",
        "\x0c\n",
        "tab\tand crlf\r\n",
        "e\u0301 = 1\n",
        "total = 0  # fiyat\u0131n toplam\u0131\n",
        "label = 's\u0131f\u0131r'\n",
        f"x = 1{' ' * 60}# aligned\n",
        f"x = 1{' ' * 200}\n",
        "x = '\U0001d11e'\n",
    ],
)
def test_other_scripts_symbols_and_emoji_are_not_hidden(line: str) -> None:
    assert hidden_characters([line]) == ()


@pytest.mark.parametrize("space", [" " * 200, "\t" * 80, " \t" * 50])
@pytest.mark.parametrize("line", ["x = 1{};import os\n", "{}import os\n", "# fine{}\\\n"])
def test_what_stands_behind_hundreds_of_spaces_is_told(line: str, space: str) -> None:
    found = hidden_characters([line.format(space)])
    assert [one.column for one in found if "behind which the line goes on" in one.what] == [line.index("{")]


def test_letters_are_judged_in_every_file_that_a_program_reads() -> None:
    assert all(map(is_code, ["a.py", "a/b.js", "Makefile", "pyproject.toml", "ci.yml", "run.sh", "x.GO"]))
    assert not any(map(is_code, ["README.md", "docs/a.rst", "notes.TXT"]))


def test_only_added_lines_are_looked_at() -> None:
    line = "name = '\u200b'\n"
    assert hidden_characters([line, "x = 1\n"], removed=[line]) == ()
    assert len(hidden_characters([line.upper()], removed=[line])) == 1


def test_prose_is_not_judged_by_its_letters() -> None:
    assert hidden_characters(["p\u0430ssword\n"], is_code=False) == ()


@given(st.lists(st.text(max_size=30), max_size=4), st.text(max_size=30))
def test_any_text_is_answered_in_order_and_within_its_lines(added: list[str], known: str) -> None:
    found = hidden_characters(added, known=known)
    assert all(0 <= one.column < len(added[one.line]) for one in found)
    assert list(found) == sorted(found, key=lambda one: (one.line, one.column))
