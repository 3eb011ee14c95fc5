"""Strings made from regular expressions."""

from __future__ import annotations

import re
from random import Random

import pytest

from rolecall_server.craft.characterization.inputs.patterns import matching, matching_with


@pytest.mark.parametrize(
    "pattern",
    [
        r"(?i)(quiz)$",
        r"^(0|[1-9]\d*)\.(0|[1-9]\d*)$",
        r"(matr|vert|ind)(?:ix|ex)$",
        r"[^aeiouy]y",
        r"(?P<year>\d{4})-(?P<month>\d{2})",
        r"(\w+)=\1",
        r"a{2,5}b?c*",
        r"\s+\S+",
    ],
)
def test_what_is_made_from_a_pattern_matches_it(pattern: str) -> None:
    found = matching(pattern, 8, Random(0))
    assert found
    assert all(re.search(pattern, text) for text in found), found


def test_where_a_pattern_leaves_open_what_stands_the_words_of_the_code_stand() -> None:
    pattern = r"(==|<=)(\s*)([^,;]*)"
    found = matching_with(pattern, (".*", "+"), 12, Random(0))
    assert any(".*" in text for text in found)
    assert any("+" in text for text in found)
    assert all(re.search(pattern, text) for text in found), found


def test_every_branch_is_made_in_the_end() -> None:
    assert set(matching("a|b|c", 3, Random(0))) == {"a", "b", "c"}


def test_the_shortest_comes_first() -> None:
    assert matching("x*yz{2,9}", 4, Random(0))[0] == "yzz"


def test_what_is_no_pattern_gives_nothing() -> None:
    assert matching("(", 3, Random(0)) == []


def test_the_same_chance_gives_the_same_strings() -> None:
    assert matching(r"[a-z]{4}\d+", 5, Random(7)) == matching(r"[a-z]{4}\d+", 5, Random(7))
