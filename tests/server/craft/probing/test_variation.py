"""Small changes to expressions."""

from __future__ import annotations

import ast
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from rolecall_server.craft.characterization.inputs.variation import vary, vary_expression
from rolecall_server.craft.characterization.observation import CandidateCall

SCALARS = st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.floats(-1e6, 1e6) | st.text(max_size=20)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner))


@given(SCALARS, st.integers(0, 10**6))
def test_a_scalar_keeps_its_type(value: object, seed: int) -> None:
    varied = ast.literal_eval(vary_expression(repr(value), ["other"], Random(seed)))
    assert type(varied) is type(value)


@given(VALUES, st.integers(0, 10**6))
def test_what_comes_out_is_an_expression_of_the_same_kind(value: object, seed: int) -> None:
    varied = ast.literal_eval(vary_expression(repr(value), [], Random(seed)))
    assert type(varied) is type(value)


def test_the_same_chance_gives_the_same_variation() -> None:
    assert vary_expression("'hello'", ["x"], Random(3)) == vary_expression("'hello'", ["x"], Random(3))


@given(SCALARS.filter(lambda value: value is not None))
def test_a_scalar_alone_varies_as_well(value: object) -> None:
    found = {vary_expression(repr(value), ["other"], Random(seed)) for seed in range(20)}
    assert found - {repr(value)}


def test_what_has_no_literal_stays() -> None:
    assert vary_expression("lambda x: x", [], Random(0)) == "lambda x: x"


def test_one_operand_of_a_call_changes_and_the_call_keeps_its_form() -> None:
    call = CandidateCall("f", "f({0}, {1})", ("1", "'a'"), ("x", "y"))
    for seed in range(50):
        varied = vary(call, [call], [], Random(seed))
        assert varied.template == call.template
        assert sum(one != other for one, other in zip(varied.operands, call.operands, strict=True)) <= 1


def test_the_text_of_an_element_stays_as_what_is_there_instead_is_none() -> None:
    source = "fromstring('<p/>')"
    assert all(vary_expression(source, ["x"], Random(seed)) == source for seed in range(20))


def test_a_text_keeps_its_form_where_a_word_becomes_another_that_is_known() -> None:
    found = {vary_expression("'<p>a</p>'", ["ul"], Random(seed)) for seed in range(200)}
    assert "'<ul>a</ul>'" in found
