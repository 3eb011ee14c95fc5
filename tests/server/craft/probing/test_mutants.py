"""Faults that are put into a text."""

from __future__ import annotations

import pytest

from rolecall_server.craft.probing.mutants import mutants_of, sample


def changed(text: str, operator: str = "") -> set[str]:
    """The texts of the mutants of *text*."""
    return {
        text[: one.start] + one.replacement + text[one.end :]
        for one in mutants_of(text)
        if not operator or one.operator == operator
    }


@pytest.mark.parametrize(
    ("text", "operator", "expected"),
    [
        ("a < b", "comparison exchanged", {"((a) <= (b))", "((a) > (b))", "((a) == (b))"}),
        ("a < b < c", "comparison exchanged", {"((a) < (b) > (c))", "((a) > (b) < (c))"}),
        ("a + b", "arithmetic exchanged", {"((a) - (b))", "((a) * (b))"}),
        ("a and b", "and and or exchanged", {"((a) or (b))"}),
        ("a and b", "condition left out", {"((a))", "((b))"}),
        ("not a", "operator left out", {"(a)"}),
        ("f(a, b)", "arguments exchanged", {"f((b), (a))"}),
        ("f(a, key=b)", "argument left out", {"f(a)"}),
        ("x[1:]", "slice changed", {"x[:]", "x[((1) + 1):]"}),
    ],
)
def test_an_expression_is_changed_as_its_operator_says(text: str, operator: str, expected: set[str]) -> None:
    assert expected <= changed(text, operator)


@pytest.mark.parametrize(
    ("constant", "expected"),
    [("True", {"False"}), ("7", {"8", "(6)"}), ("2.0", {"3.0", "(1.0)"}), ("'a'", {"''"}), ("''", {"'mutated'"})],
)
def test_a_constant_becomes_its_neighbour(constant: str, expected: set[str]) -> None:
    assert changed(f"x = {constant}", "constant changed") == {f"x = {each}" for each in expected}


def test_statements_results_and_conditions_are_changed() -> None:
    text = "def f(x):\n    y = g(x)\n    if x:\n        return y\n    for z in x:\n        break\n"
    found = changed(text)
    assert text.replace("y = g(x)", "pass") in found
    assert text.replace("if x:", "if (not (x)):") in found
    assert text.replace("return y", "return None") in found
    assert text.replace("in x:", "in ():") in found
    assert text.replace("break", "continue") in found


def test_documentation_annotations_and_exports_are_left_alone() -> None:
    text = '"""Text 1."""\n__all__ = ["f"]\n\n\ndef f(x: "int") -> "str":\n    """Text 2."""\n'
    assert mutants_of(text) == []


def test_text_before_a_change_that_is_not_ascii_is_counted_in_characters() -> None:
    assert changed("é = 'ü'; x = 1", "constant changed") >= {"é = 'ü'; x = 2"}


def test_only_the_lines_asked_for_are_changed() -> None:
    assert {one.line for one in mutants_of("x = 1\ny = 2\nz = 3\n", {2})} == {2}


def test_a_mutant_knows_the_line_on_which_its_statement_begins() -> None:
    assert {one.statement for one in mutants_of("x = [\n    1,\n    2,\n]\n")} == {1}


def test_a_sample_is_the_same_each_time_and_in_order() -> None:
    found = mutants_of("\n".join(f"x{n} = {n}" for n in range(50)))
    drawn = sample(found, 10)
    assert drawn == sample(found, 10)
    assert len(drawn) == 10
    assert [one.start for one in drawn] == sorted(one.start for one in drawn)
