"""Tests in the text of a file: found, told apart, and taken out without harm to what stays."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolecall_server.craft.test_quality.test_text import (
    added_tests,
    changed_tests,
    failing_rows,
    function_of,
    without_rows,
    without_tests,
    written_tests,
)
from rolecall_server.sandbox import TestResult, TestRun

TABLE = """\
import math

import pytest

from shop import price


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (1, "é"),  # the first
        (
            2,
            "two",
        ),
        pytest.param(3, "c", id="three"),
    ],
)
def test_table(a, b):
    assert price(a) == b


def test_root():
    assert math.sqrt(4) == 2
"""


def test_a_parametrised_test_knows_its_cases_and_what_their_parts_are_called() -> None:
    table, root = written_tests(TABLE)
    assert [ast.unparse(row) for row in table.rows] == ["(1, 'é')", "(2, 'two')", "pytest.param(3, 'c', id='three')"]
    assert table.parameters == ("a", "b")
    assert (root.rows, root.parameters) == ((), ())


@pytest.mark.parametrize(
    "marks",
    [
        "@pytest.mark.parametrize('a', CASES)",
        "@pytest.mark.parametrize('a', [*CASES, 1])",
        "@pytest.mark.parametrize('a', [1])\n@pytest.mark.parametrize('b', [2])",
    ],
)
def test_cases_that_are_not_written_there_are_not_known(marks: str) -> None:
    (test,) = written_tests(f"{marks}\ndef test_it(a, b):\n    assert a\n")
    assert test.rows == ()


def test_the_failing_cases_are_known_by_their_place_among_all() -> None:
    table = written_tests(TABLE)[0]
    names = ("1-é", "2-two", "three")
    ends = ("passed", "failed", "error")
    run = TestRun(
        "ran", outcomes=tuple(TestResult(f"t.py::test_table[{n}]", end) for n, end in zip(names, ends, strict=True))
    )
    assert failing_rows(table, run, "t.py") == (1, 2)
    assert failing_rows(table, run, "t.py", "t.py::test_table[three]") == (2,)
    assert failing_rows(table, TestRun("ran", outcomes=run.outcomes[1:]), "t.py") == ()


@pytest.mark.parametrize(
    ("rows", "left"),
    [
        ({0}, ["(2, 'two')", "pytest.param(3, 'c', id='three')"]),
        ({1}, ["(1, 'é')", "pytest.param(3, 'c', id='three')"]),
        ({2}, ["(1, 'é')", "(2, 'two')"]),
        ({0, 2}, ["(2, 'two')"]),
        ({0, 1, 2}, ["(1, 'é')", "(2, 'two')", "pytest.param(3, 'c', id='three')"]),
    ],
)
def test_cases_go_and_the_others_stay(rows: set[int], left: list[str]) -> None:
    text = without_rows(TABLE, {"test_table": rows})
    assert [ast.unparse(row) for row in written_tests(text)[0].rows] == left
    assert "\n\n    " not in text.partition("def test_table")[0], "no empty line is left in the list"


@given(st.lists(st.booleans(), min_size=1, max_size=6), st.booleans(), st.booleans())
def test_any_cases_go_from_a_list_on_one_line_or_on_many(gone: list[bool], trailing: bool, lines: bool) -> None:
    rows = [f'({number}, "{number},")' for number in range(len(gone))]
    between = ",\n    " if lines else ", "
    listed = f"[{between.join(rows)}{',' if trailing else ''}]"
    text = f'@pytest.mark.parametrize("a,b", {listed})\ndef test_it(a, b):\n    assert a\n'
    left = without_rows(text, {"test_it": [number for number, is_gone in enumerate(gone) if is_gone]})
    expected = rows if all(gone) else [row for row, is_gone in zip(rows, gone, strict=True) if not is_gone]
    assert [ast.unparse(row) for row in written_tests(left)[0].rows] == [row.replace('"', "'") for row in expected]


def test_a_test_goes_with_the_imports_that_only_it_used_and_no_others() -> None:
    left = without_tests(TABLE, {"test_root"})
    assert left.startswith("import pytest\n\nfrom shop import price\n\n\n@pytest")
    assert without_tests(TABLE, {"test_root"}, "import math\n").startswith("import math\n")
    assert without_tests(TABLE.replace("import math", "import math, os"), {"test_root"}).startswith("import os\n")
    assert without_tests(TABLE, {"test_of_another_name"}) == TABLE


def test_what_is_new_and_what_was_changed() -> None:
    base = "class TestAll:\n    def test_a(self):\n        assert 1\n\n\ndef test_b():\n    assert 2\n"
    text = base.replace("assert 2", "assert  3") + "\n\ndef test_c():\n    assert 4\n"
    assert [test.name for test in added_tests(text, base)] == ["test_c"]
    assert changed_tests(text, base) == ("test_b",)
    assert changed_tests("", base) == ("TestAll::test_a", "test_b")
    assert changed_tests(base.replace("assert 2", "assert   2  # so"), base) == ()


@pytest.mark.parametrize(
    ("test_id", "name"),
    [
        ("tests/test_a.py::test_b", "test_b"),
        ("tests/test_a.py::TestC::test_b[x::y[0]]", "TestC::test_b"),
        ("tests/test_a.py", ""),
    ],
)
def test_the_function_of_a_node_id(test_id: str, name: str) -> None:
    assert function_of(test_id) == name
