"""Expressions for types."""

from __future__ import annotations

import ast
import datetime
import io
import operator
import re
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID

import pytest

from rolecall_server.craft.characterization.inputs.domains import ValueSources, expressions
from rolecall_server.craft.characterization.inputs.survey import survey

MODULE = """
from typing import Literal, Union
from enum import Enum
class Color(Enum):
    RED = 1
class Base: ...
class Point(Base):
    def __init__(self, x): ...
Side = Literal["left", "right"]
Number = Union[int, "str"]
"""
SOURCES = ValueSources(
    survey(MODULE),
    strings=("hello",),
    numbers=(99,),
    instances={"Point": ("Point(1)",)},
    members={"Color": ("Color.RED",)},
)
NAMES: dict[str, Any] = {
    "Decimal": Decimal,
    "Fraction": Fraction,
    "PurePosixPath": PurePosixPath,
    "UUID": UUID,
    "datetime": datetime,
    "io": io,
    "operator": operator,
    "re": re,
}


def of(annotation: str) -> list[str]:
    return expressions(ast.parse(annotation, mode="eval").body, SOURCES)


@pytest.mark.parametrize(
    ("annotation", "kinds"),
    [
        ("int", (int,)),
        ("float", (float, int)),
        ("str", (str,)),
        ("Optional[bool]", (bool, type(None))),
        ("int | None", (int, type(None))),
        ("Number", (int, str)),
        ("list[int]", (list,)),
        ("Sequence[str]", (list,)),
        ("tuple[int, str]", (tuple,)),
        ("tuple[int, ...]", (tuple,)),
        ("set[str]", (set,)),
        ("frozenset[int]", (frozenset,)),
        ("dict[str, list[int]]", (dict,)),
        ("Decimal", (Decimal,)),
        ("datetime.timedelta", (datetime.timedelta,)),
        ("'datetime.date'", (datetime.date,)),
        ("re.Pattern[str]", (re.Pattern,)),
        ("IO[str]", (io.StringIO,)),
    ],
)
def test_every_expression_builds_a_value_of_the_type(annotation: str, kinds: tuple[type, ...]) -> None:
    values = [eval(source, dict(NAMES)) for source in of(annotation)]
    assert {type(value) for value in values} == set(kinds)


def test_boundaries_are_among_the_first() -> None:
    assert {"0", "1", "-1"} <= set(of("int")[:8])
    assert "''" in of("str")[:4]
    assert "[]" in of("list[int]")[:4]


def test_what_the_module_names_is_tried_with_its_neighbours() -> None:
    assert {"98", "99", "100"} <= set(of("int"))
    assert "'hello'" in of("str")


def test_the_modules_own_types_are_followed() -> None:
    assert of("Side") == ["'left'", "'right'"]
    assert of("Color") == ["Color.RED"]
    assert of("Point") == ["Point(1)"]


def test_a_base_class_is_stood_for_by_what_derives_from_it() -> None:
    assert of("Base") == ["Point(1)"]


def test_of_an_unknown_type_nothing_is_made() -> None:
    assert of("Socket") == []


def test_a_function_takes_as_many_arguments_as_its_type_says() -> None:
    assert all(callable(eval(source, dict(NAMES))) for source in of("Callable[[int, int], int]"))
    assert "operator.add" in of("Callable[[int, int], int]")
    assert "operator.add" not in of("Callable[[int], int]")


def test_what_may_be_nothing_is_soon_nothing() -> None:
    assert "None" in of("Optional[str]")[:2]
    assert "None" in of("str | None")[:2]


def test_a_container_of_what_nobody_knows_holds_anything() -> None:
    assert {"[]", "[1]"} <= set(of("list[Unheard]"))
    assert "frozenset({1})" in of("frozenset[Unheard]")
    assert of("dict[str, Unheard]")
