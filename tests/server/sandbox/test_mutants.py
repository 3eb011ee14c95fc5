"""Faults put into a file: each is one small change of one line, and the file stays Python."""

from __future__ import annotations

import ast
import bisect
import inspect
import json.decoder
import shlex
import textwrap
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolecall_server.sandbox.mutation.mutants import Mutant, even_choice, mutants_of


def mutants(text: str, lines: range = range(1, 100)) -> set[tuple[str, str, str]]:
    found = mutants_of(textwrap.dedent(text).lstrip("\n"), lines)
    return {(mutant.operator, mutant.was, mutant.became) for mutant in found}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = a < b\n", {("comparison", "<", "<="), ("comparison", "<", "!=")}),
        ("x = a == b\n", {("comparison", "==", other) for other in ("!=", "<=", ">=")}),
        ("x = a == None\n", {("comparison", "==", "!=")}),
        ("x = '' != a\n", {("comparison", "!=", "=="), ("constant", "''", '"mutant"')}),
        ("x = a is  not b\n", {("comparison", "is  not", "is")}),
        ("x = a not in b\n", {("comparison", "not in", "in")}),
        ("x = (a + b) * c\n", {("arithmetic", *each) for each in (("+", "-"), ("+", "*"), ("*", "/"), ("*", "+"))}),
        ("x = -a\n", {("arithmetic", "-a", "(a)")}),
        ("x **= y\n", {("arithmetic", "**", "*"), ("statement deletion", "x **= y", "pass")}),
        (
            "x = a and b or c\n",
            {
                ("boolean", "and", "or"),
                ("boolean", "or", "and"),
                ("boolean", "a and b", "(a)"),
                ("boolean", "a and b", "(b)"),
                ("boolean", "a and b or c", "(a and b)"),
                ("boolean", "a and b or c", "(c)"),
            },
        ),
        ("x = not a\n", {("boolean", "not a", "(a)")}),
        ("x = True\n", {("boolean", "True", "False")}),
        ("x = 7\n", {("constant", "7", "8"), ("constant", "7", "6")}),
        ("x = 0\n", {("constant", "0", "1")}),
        ("x = 1.5\n", {("constant", "1.5", "2.5")}),
        ("x = 'a'\n", {("constant", "'a'", '""')}),
        ("x = ''\n", {("constant", "''", '"mutant"')}),
        ("x = f(a, b)\n", {("argument", "a, b", "b, a")}),
        ("x = f(a, a)\n", set()),
        ("x = typing.cast('A', b)\n", {("argument", "'A', b", "b, 'A'")}),
        ("x = f(a, key=b)\n", {("argument", "key=b", "")}),
        ("f(a)\n", {("statement deletion", "f(a)", "pass")}),
        ("x.y = a\n", {("statement deletion", "x.y = a", "pass")}),
        ("raise a\n", {("statement deletion", "raise a", "pass")}),
        ("def f():\n    return a\n", {("return value", "a", "None")}),
        ("def f():\n    return\n", set()),
        ("def f():\n    return None\n", set()),
        ("if a:\n    pass\n", {("boolean", "a", "(not (a))")}),
        ("for x in a:\n    pass\n", {("statement deletion", "a", "()")}),
        ("try:\n    pass\nexcept A as e:\n    pass\nexcept:\n    pass\n", {("exception", "A", "()")}),
        ("x = a[b:c]\n", {("slice", "b", ""), ("slice", "c", "")}),
        ("x = a % 'é' # %\n", {("arithmetic", "%", "*"), ("arithmetic", "%", "//"), ("constant", "'é'", '""')}),
        ("é = 'ü' ** b\n", {("arithmetic", "**", "*"), ("constant", "'ü'", '""')}),
        ("x = (a  # ** * is the sign\n     ** b)\n", {("arithmetic", "**", "*")}),
    ],
)
def test_each_operator_makes_its_mutants(text: str, expected: set[tuple[str, str, str]]) -> None:
    assert mutants(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        '"""Documentation."""\n',
        "def f(x: 'a' = b) -> 'c':\n    '''Documentation.'''\n",
        "x: 'a'\n",
        "@f(1)\ndef g(): pass\n",
        "if __name__ == '__main__':\n    f(1)\n",
        "if TYPE_CHECKING:\n    x = 1\n",
        "import a\n",
        "__all__ = ['a', 'b']\n__version__ = '1'\nTYPE_CHECKING = False\n",
        "x = f'text {a + 1} text {b:>10}'\n",
        "x = max(a, b)\nx = min(a, b, c)\n",
        "def f(:\n",
        "",
    ],
)
def test_what_cannot_be_seen_by_running_is_left_alone(text: str) -> None:
    assert mutants(text) == set()


def test_only_the_lines_asked_for_are_changed() -> None:
    text = "x = 1\ny = 2\nz = 3\n"
    assert {mutant.line for mutant in mutants_of(text, [2])} == {2}
    assert mutants_of(text, []) == ()
    assert {mutant.line for mutant in mutants_of(text)} == {1, 2, 3}


def test_a_choice_is_from_all_of_the_file_and_the_same_each_time() -> None:
    found = mutants_of("".join(f"x{n} = {n}\n" for n in range(1, 51)))
    chosen = even_choice(found, 10)
    assert chosen == even_choice(found, 10)
    assert [mutant.line for mutant in chosen] == [(5 * n) + 1 for n in range(10)]
    assert even_choice(found, 1000) == found


def test_a_mutant_says_what_it_is() -> None:
    _, second = mutants_of("x = a < b\n", [1])
    assert str(second) == "line 1: '<' became '<='"
    assert second.text == "x = a <= b\n"


MODULES = {module.__name__: inspect.getsource(module) for module in (textwrap, json.decoder, bisect, shlex)}


@pytest.mark.parametrize("name", MODULES)
def test_every_mutant_of_a_real_module_is_python_and_differs_in_one_place(name: str) -> None:
    text = MODULES[name]
    found = mutants_of(text, range(1, 200))[::5]
    assert found
    own = ast.dump(ast.parse(text))
    for mutant in found:
        assert ast.dump(ast.parse(mutant.text)) != own
        assert differs_in_one_place(text, mutant)


@given(st.sampled_from(list(MODULES)), st.sets(st.integers(1, 300), max_size=5))
def test_lines_are_those_of_the_file(name: str, lines: set[int]) -> None:
    text = MODULES[name]
    split = text.split("\n")
    for mutant in mutants_of(text, lines):
        assert mutant.line in lines
        assert mutant.was.split("\n")[0].split("(")[0] in "\n".join(split[mutant.line - 1 : mutant.line + 3])


def differs_in_one_place(text: str, mutant: Mutant) -> bool:
    places = [at for at in range(len(text)) if text.startswith(mutant.was, at)]
    return any(text[:at] + mutant.became + text[at + len(mutant.was) :] == mutant.text for at in places)


def test_the_module_itself_has_mutants() -> None:
    text = Path(inspect.getfile(mutants_of)).read_text("utf-8")
    operators = {mutant.operator for mutant in mutants_of(text, range(1, 400))}
    assert operators >= {"comparison", "boolean", "constant", "return value", "argument"}
