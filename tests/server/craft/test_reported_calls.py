"""The calls that a finding is about, found again in other tests."""

from __future__ import annotations

import pytest

from rolecall_server.craft.test_quality.reported_calls import WHOLE, calls_in, calls_in_backticks, rows_that_call
from rolecall_server.craft.test_quality.test_text import written_tests

TABLE = """\
@pytest.mark.parametrize(("text", "n"), [("a", 1), pytest.param("b", 2, id="b")])
def test_cut(text, n):
    assert cut(text, n=n) == text
"""
PLAIN = "def test_cut():\n    assert cut('a', n=1) == 'a'\n    assert Shelf(3).cut(1) == 1\n"


@pytest.mark.parametrize(
    ("text", "symbol", "calls"),
    [
        (TABLE, "cut", {"cut('a', n=1)": {0}, "cut('b', n=2)": {1}}),
        (PLAIN, "cut", {"cut('a', n=1)": {WHOLE}, "Shelf(3).cut(1)": {WHOLE}}),
        (PLAIN, "Shelf.__init__", {"Shelf(3)": {WHOLE}}),
        (PLAIN, "other", {}),
    ],
)
def test_calls_are_found_with_the_values_of_each_case(text: str, symbol: str, calls: dict[str, set[int]]) -> None:
    (test,) = written_tests(text)
    assert calls_in(test, symbol) == calls


HELPED = """\
class TestCut:
    def halved(self, text, n=2):
        return cut(text, n)

    def test_by_method(self):
        assert self.halved("ab") == "a"


def made(text, *, n):
    long = "-" + text
    size = 3
    return again(cut(text, n=size + n))


def again(text):
    return made(text, n=0)


@pytest.fixture
def piece():
    return cut("fix", 1)


@pytest.mark.parametrize("n", [1, 2])
def test_by_function(n):
    assert made("a", n=n) == "a"
    assert made("b", n=9) == "b"


def test_by_fixture(piece):
    assert piece == "f"
"""


@pytest.mark.parametrize(
    ("name", "lines", "calls"),
    [
        ("TestCut::test_by_method", (), {"cut('ab', 2)": {WHOLE}}),
        (
            "test_by_function",
            (),
            {"cut('a', n=3 + 1)": {0}, "cut('a', n=3 + 2)": {1}, "cut('b', n=3 + 9)": {0, 1}},
        ),
        ("test_by_function", (12, 27), {"cut('b', n=3 + 9)": {0, 1}}),
        ("test_by_fixture", (), {"cut('fix', 1)": {WHOLE}}),
    ],
)
def test_calls_in_the_functions_that_a_test_calls_are_found_with_what_it_gives_them(
    name: str, lines: tuple[int, ...], calls: dict[str, set[int]]
) -> None:
    (test,) = [test for test in written_tests(HELPED) if test.name == name]
    assert calls_in(test, "cut", lines) == calls


def test_calls_on_a_line_that_failed_are_told_from_the_others() -> None:
    (test,) = written_tests(PLAIN)
    assert calls_in(test, "cut", {3}).keys() == {"Shelf(3).cut(1)"}
    assert len(calls_in(test, "cut", {99})) == 2, "where the line is not known, all of them"


def test_calls_in_backticks_are_read() -> None:
    assert calls_in_backticks("`cut('a',  1)` gives `2 +`, `other(1)` does not.", "Shelf.cut") == {"cut('a', 1)"}


def test_the_cases_that_make_a_reported_call_are_named() -> None:
    (test,) = written_tests(TABLE)
    assert rows_that_call(test, "cut", {"cut('b', n=2)"}) == {1}
    assert rows_that_call(test, "cut", set()) == set()
