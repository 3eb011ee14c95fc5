"""The forms of plain values, by the names they have and by the functions that read them."""

from __future__ import annotations

import ast
from collections.abc import Awaitable, Callable
from random import Random

import pytest

from rolecall_server.craft.characterization import HouseStyle, Stage, Study, Subject, study, write_test_file
from rolecall_server.craft.characterization.inputs.calls import calls_of
from rolecall_server.craft.characterization.inputs.domains import ValueSources
from rolecall_server.craft.characterization.inputs.survey import survey
from rolecall_server.craft.characterization.inputs.text_forms import FORMS, form_read_by, forms_by_name


def given(text: str) -> set[str]:
    """Return what the first parameter of the function `read` in *text* is given."""
    known = survey(text)
    target = next(one for one in known.targets if one.name == "read")
    return {call.operands[0] for call in calls_of(target, ValueSources(known), (), Random(0)) if call.operands}


@pytest.mark.parametrize("form", FORMS)
def test_every_value_of_a_form_can_be_written_and_read(form: str) -> None:
    assert all(ast.unparse(ast.parse(value, mode="eval")) for value in FORMS[form])


@pytest.mark.parametrize(
    ("name", "forms"), [("base_url", ["url"]), ("xmlString", ["xml"]), ("status_code", ["status"]), ("curl_handle", [])]
)
def test_a_name_tells_the_form(name: str, forms: list[str]) -> None:
    assert forms_by_name(name) == forms


@pytest.mark.parametrize(
    ("function", "form"),
    [
        ("json.loads", "json"),
        ("loads", "json"),
        ("ET.fromstring", "xml"),
        ("datetime.datetime.strptime", "moment"),
        ("compile", "python"),
        ("re.compile", ""),
        ("pickle.loads", ""),
        ("handlers[0]", ""),
    ],
)
def test_the_function_that_reads_a_text_tells_its_form(function: str, form: str) -> None:
    imported = {"json": "json", "loads": "json.loads", "ET": "xml.etree.ElementTree", "re": "re"}
    assert form_read_by(ast.parse(function, mode="eval").body, imported) == form


def test_a_parameter_gets_values_of_the_form_that_a_function_it_is_passed_to_reads() -> None:
    text = """
import json

def read(given):
    return _parsed(given)

def _parsed(text):
    return json.loads(text)
"""
    assert set(FORMS["json"]) <= given(text)


def test_a_form_gives_a_parameter_values_of_its_type_alone() -> None:
    assert "200" in given("def read(status: int):\n    return status\n")
    assert "200" not in given("def read(status: str):\n    return status\n")
    assert "b'YWJj'" in given("import base64\n\ndef read(raw: bytes):\n    return base64.b64decode(raw)\n")


def test_a_parameter_is_given_what_it_is_compared_with_by_a_function_that_gets_it() -> None:
    text = """
WORDS = {"low": 1, "high": 2}

def read(level: str):
    return _number(level)

def _number(word):
    return WORDS[word]
"""
    assert {"'low'", "'high'"} <= given(text)


async def test_a_file_that_says_it_is_ascii_gets_no_other_characters(
    stage_of: Callable[..., Awaitable[Stage]],
) -> None:
    text = (
        'def accented(word: str):\n    if word != "\\xe9":\n        raise ValueError("no")\n    return word + "\\xe8"\n'
    )
    found = await study(await stage_of(text), Subject(text, budget_s=1.0), lambda message, fraction: None)
    assert isinstance(found, Study), found
    plain = write_test_file(found, "thing", HouseStyle(), base='"""Tests."""\n') or ""
    assert "\xe9" in plain
    ascii_alone = write_test_file(found, "thing", HouseStyle(), base="# -*- coding: ascii -*-\n") or ""
    assert r"\xe9" in ascii_alone
    assert ascii_alone.isascii()


def test_what_reads_python_is_given_nodes_of_it_and_what_asks_for_a_type_some() -> None:
    nodes = given("import ast\n\ndef read(node: ast.FunctionDef):\n    return node.name\n")
    assert nodes == {r"ast.parse('def f(a, b=2):\n    return a + b').body[0]"}
    many = given("import ast\n\ndef read(node):\n    return ast.dump(node)\n")
    kinds = {type(eval(source, {"ast": ast})).__name__ for source in many if source.startswith("ast.parse(")}
    assert {"Call", "ClassDef", "If", "Lambda"} <= kinds
    assert "typing.Optional[int]" in given("def read(type_):\n    return type_.__name__\n")
