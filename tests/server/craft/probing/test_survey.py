"""What the text of a module says about its callables."""

from __future__ import annotations

import ast

from rolecall_server.craft.characterization.inputs.calls import examples_in
from rolecall_server.craft.characterization.inputs.literals import literals_in, looks_like_pattern
from rolecall_server.craft.characterization.inputs.survey import constructor_parameters, survey

MODULE = '''
import re
from dataclasses import dataclass
from typing import overload

WORD = re.compile(r"[a-z]+$")
LIMITS = {"low": 1, "high": 10.5}


def total(items, *, tax: float = 0.2):
    """The sum.

    >>> prices = [1, 2]
    >>> total(prices)
    3
    """


def _hidden(): ...


@overload
def twice(x: int) -> int: ...
@overload
def twice(x: str) -> str: ...
def twice(x): ...


@dataclass
class Point:
    x: int
    y: int = 0

    def __lt__(self, other): ...
    def __enter__(self): ...
    @property
    def norm(self): ...
    @norm.setter
    def norm(self, value): ...
    @classmethod
    def parse(cls, text): ...


class Pixel(Point): ...
'''


def test_public_functions_constructors_methods_operators_and_properties_are_targets() -> None:
    targets = {target.qualified_name: target.kind for target in survey(MODULE).targets}
    assert targets == {
        "total": "function",
        "twice": "function",
        "Point": "constructor",
        "Point.__lt__": "method",
        "Point.norm": "property",
        "Point.norm.setter": "setter",
        "Point.parse": "class method",
        "Pixel": "constructor",
    }


def test_the_fields_of_a_record_are_its_constructors_parameters_and_those_of_what_derives_from_it() -> None:
    parameters = {one.name: [each.name for each in one.parameters] for one in survey(MODULE).targets}
    assert parameters["Point"] == parameters["Pixel"] == ["x", "y"]
    assert parameters["parse"] == ["text"]
    assert parameters["total"] == ["items", "tax"]


def test_an_operator_is_used_as_one() -> None:
    operations = {one.name: one.operation for one in survey(MODULE).targets}
    assert operations["__lt__"] == "{0} < {1}"
    assert operations["parse"] == ""


def test_documented_examples_come_with_their_variables_put_in() -> None:
    known = survey(MODULE)
    calls = [ast.unparse(example.node) for tree in known.examples for example in examples_in(tree, known, 0)]
    assert calls == ["total([1, 2])"]


def test_literals_are_told_apart_from_patterns_and_documentation() -> None:
    found = literals_in([ast.parse(MODULE)])
    assert found.strings == ("low", "high")
    assert found.patterns == ("[a-z]+$",)
    assert found.numbers == (1, 10.5, 0.2, 0)


def test_a_sentence_is_no_pattern() -> None:
    assert not looks_like_pattern("Is it (really) so?")
    assert looks_like_pattern(r"^\d+$")


def test_bases_that_lead_in_a_circle_because_a_name_is_bound_twice_have_an_end() -> None:
    classes = survey("class Lexer(Base):\n    pass\n\nclass Base(Lexer):\n    pass\n").classes
    assert constructor_parameters(classes["Lexer"], classes) is None
