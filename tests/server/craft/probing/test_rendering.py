"""Cases as text: laid out as formatters do, in the framework and the quotes of the house."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rolecall_server.craft.characterization import CandidateCall, HouseStyle, Observation, read_style
from rolecall_server.craft.characterization.inputs.domains import IMPORTS
from rolecall_server.craft.characterization.text.grouping import group
from rolecall_server.craft.characterization.text.layout import lay_out, with_quotes
from rolecall_server.craft.characterization.text.rendering import Rendered, render

RUFF = Path(sys.executable).with_name("ruff")
NAMES = frozenset({"f", "Cart", "LIMIT"})


def gives(*views: tuple[str, str], **more: object) -> Observation:
    return Observation("value", "object", views, **more)  # pyright: ignore[reportArgumentType]


def raises(kind: str, message: str = "", **more: object) -> Observation:
    return Observation("raises", kind, exception_module="builtins", message=message, deliberate=True, **more)  # pyright: ignore


def calls(template: str, *rows: tuple[str, ...], names: tuple[str, ...] = ("x", "y")) -> list[CandidateCall]:
    return [CandidateCall("f", template, row, names[: len(row)]) for row in rows]


def rendered(cases: dict[CandidateCall, Observation], style: HouseStyle | None = None) -> Rendered:
    sources = {**IMPORTS, **{name: ("shop.cart", name) for name in NAMES}}
    return render(group(cases, NAMES), sources, style or HouseStyle(), class_name="TestCart")


def text_of(cases: dict[CandidateCall, Observation], style: HouseStyle | None = None) -> str:
    return "\n\n\n".join(rendered(cases, style).tests)


def formatted(code: str, line_length: int = 88) -> str:
    command = [str(RUFF), "format", "--isolated", "--line-length", str(line_length), "-"]
    return subprocess.run(command, input=code, capture_output=True, text=True, check=True).stdout


def test_cases_of_one_form_become_the_rows_of_a_table() -> None:
    one, other = calls("f({0}, {1})", ("1", "'a'"), ("2", "'b'"))
    assert text_of({one: gives(("{}", "'1a'")), other: gives(("{}", "'2b'"))}) == (
        '@pytest.mark.parametrize(\n    ("x", "y", "expected"),\n    [\n        (1, "a", "1a"),\n'
        '        (2, "b", "2b"),\n    ],\n)\ndef test_f(x, y, expected):\n    assert f(x, y) == expected'
    )


def test_a_single_case_needs_no_table() -> None:
    (one,) = calls("f({0})", ("1",))
    assert text_of({one: gives(("{}", "None"))}) == "def test_f():\n    assert f(1) is None"


def test_each_column_has_a_name_of_its_own() -> None:
    one, other = calls("f({0})", ("'a'",), ("'b'",), names=("text",))
    views = ("str({})", "{}.keys[0].name", "{}.parts[0].name", "{}[0]", "{}[-1]")
    cases = {
        one: gives(*((view, f"'{number}'") for number, view in enumerate(views))),
        other: gives(*((view, f"'{'9' * 50}{number}'") for number, view in enumerate(views))),
    }
    text = text_of(cases)
    compile(text, "test_f.py", "exec")
    assert "def test_f(text, text_2, expected_name, expected_name_2, start, start_2):" in text


def test_what_is_the_same_in_all_cases_is_written_once() -> None:
    one, other = calls("f({0}, {1})", ("1", "'a'"), ("2", "'a'"))
    text = text_of({one: gives(("{}", "True")), other: gives(("{}", "True"))})
    assert text.endswith('def test_f(x):\n    assert f(x, "a") is True')


def test_an_exception_is_held_to_its_type_and_to_its_words_where_these_are_known() -> None:
    one, other = calls("f({0})", ("1",), ("2",))
    text = text_of({one: raises("ValueError", "too low (0)"), other: raises("ValueError", "too low (0)")})
    assert '    with pytest.raises(ValueError, match=r"too low \\(0\\)"):\n        f(x)' in text
    text = text_of({one: raises("ValueError", "1 is odd"), other: raises("ValueError", "")})
    assert '    with pytest.raises(ValueError, match="1 is odd"):\n        f(1)' in text
    assert "    with pytest.raises(ValueError):\n        f(2)" in text


def test_of_a_long_message_the_beginning_is_asserted() -> None:
    (one,) = calls("f({0})", ("1",))
    words = "the list of arguments is longer than what the callable that was given can take"
    text = text_of({one: raises("ValueError", words)})
    assert 'match="the list of arguments is longer than what the callable that"' in text


def test_an_exception_is_held_to_the_words_of_each_case_where_they_differ() -> None:
    one, other = calls("f({0})", ("1",), ("2",))
    cases = {one: raises("ValueError", "1 is odd"), other: raises("ValueError", "2 is odd")}
    text = text_of(cases)
    assert '        (1, "1 is odd"),' in text
    assert "    with pytest.raises(ValueError, match=re.escape(message)):\n        f(x)" in text
    assert "re" in rendered(cases).modules
    methods = text_of(cases, HouseStyle("unittest"))
    assert "self.assertRaisesRegex(ValueError, re.escape(message))" in methods


def test_a_long_object_with_a_method_called_has_a_name() -> None:
    long = f"Cart({', '.join(str(number) for number in range(30))})"
    call = CandidateCall("Cart.total", "{0}.total()", (long,), ("cart",))
    text = text_of({call: gives(("{}", "3"))})
    assert "    cart = Cart(" in text
    assert text.endswith("    assert cart.total() == 3")


def test_an_exception_that_comes_when_an_iterator_is_used_is_waited_for() -> None:
    (one,) = calls("f({0})", ("1",))
    assert "        list(f(1))" in text_of({one: raises("ValueError", lazily=True)})


def test_a_comparison_is_asserted_as_it_reads() -> None:
    (one,) = calls("{0} == {1}", ("-1", "lambda: 1"))
    assert "assert not (-1 == (lambda: 1))" in text_of({one: gives(("{}", "False"))})
    assert "assert -1 == (lambda: 1)" in text_of({one: gives(("{}", "True"))})


@pytest.mark.parametrize(
    ("template", "operands", "view", "line"),
    [
        ("{0}.chop({1}, {2})", ("Cart()", "3", "-7"), "{}", "assert Cart().chop(3, -7) == 1"),
        ("{0}.bit_length()", ("3",), "{}", "assert (3).bit_length() == 1"),
        ("{0} + {1}", ("Cart()", "-3"), "{}", "assert Cart() + -3 == 1"),
        ("{0} + {1}", ("Cart()", "-3"), "str({})", "assert str(Cart() + -3) == 1"),
        ("{0} + {1}", ("Cart()", "-3"), "{}.size", "assert (Cart() + -3).size == 1"),
        ("{0} < {1}", ("Cart()", "-3"), "{}", "assert (Cart() < -3) == 1"),
        ("{0}[{1}]", ("Cart()", "lambda: 2"), "{}", "assert Cart()[lambda: 2] == 1"),
    ],
)
def test_parentheses_stand_where_they_mean_something(
    template: str, operands: tuple[str, ...], view: str, line: str
) -> None:
    (one,) = calls(template, operands, names=("x", "y", "z"))
    assert line in text_of({one: gives((view, "1"))})


def test_what_sets_an_item_is_an_assignment() -> None:
    (one,) = calls("{0}.__setitem__({1}, {2})", ("Cart()", "slice(None, 2)", "3"), names=("x", "y", "z"))
    assert "        Cart()[:2] = 3" in text_of({one: raises("ValueError")})
    changed = text_of({one: gives(("{}", "None"), effects=((0, (("{}.size", "1"),)),))})
    assert changed.endswith("    x = Cart()\n    x[:2] = 3\n    assert x.size == 1")


def test_an_object_is_held_to_all_that_can_be_read_off_it() -> None:
    (one,) = calls("f({0})", ("1",))
    text = text_of({one: gives(("{}.size", "3"), ("str({})", "'three'"))})
    assert text == 'def test_f():\n    result = f(1)\n    assert result.size == 3\n    assert str(result) == "three"'


def test_what_a_call_changes_is_named_before_and_looked_at_after() -> None:
    (one,) = calls("f({0})", ("[3, 1]",), names=("items",))
    text = text_of({one: gives(("{}", "None"), effects=((0, (("{}", "[1, 3]"),)),))})
    assert text == (
        "def test_f_changes_items():\n    items = [3, 1]\n    assert f(items) is None\n    assert items == [1, 3]"
    )


def test_what_is_printed_is_captured() -> None:
    (one,) = calls("f({0})", ("1",))
    text = text_of({one: gives(("{}", "None"), printed="done\n")})
    assert text == (
        'def test_f_prints(capsys):\n    assert f(1) is None\n    assert capsys.readouterr().out == "done\\n"'
    )


def test_a_float_is_approximate_only_where_it_was_rounded() -> None:
    (one,) = calls("f({0})", ("1",))
    assert "assert f(1) == 0.25" in text_of({one: gives(("{}", "0.25"))})
    assert "assert f(1) == pytest.approx(0.30000000000000004)" in text_of({one: gives(("{}", "0.30000000000000004"))})


def test_cases_are_named_by_what_pytest_can_show_else_by_what_is_given() -> None:
    plain = text_of(dict.fromkeys(calls("f({0})", ("1",), ("'a'",)), gives(("{}", "1"))))
    assert "id" not in plain.partition("def")[0]
    lists = text_of(dict.fromkeys(calls("f({0})", ("[]",), ("[1]",)), gives(("{}", "1"))))
    assert "    ids=repr,\n" in lists
    objects = text_of(dict.fromkeys(calls("f({0})", ("Cart(1)",), ("Cart(2)",)), gives(("{}", "1"))))
    assert 'pytest.param(Cart(1), id="Cart(1)"),' in objects


def test_a_parameter_hides_nothing_that_the_test_uses() -> None:
    (one, other) = calls("f({0})", ("1",), ("2",), names=("f",))
    assert "def test_f(f_):" in text_of(dict.fromkeys([one, other], gives(("{}", "1"))))


def test_tests_of_one_callable_have_different_names() -> None:
    cases = {
        CandidateCall("Cart.add", "{0}.add({1})", ("Cart()", "1"), ("cart", "n")): gives(("{}", "1")),
        CandidateCall("Cart.add", "{0}.add({1}, twice={2})", ("Cart()", "1", "True"), ("cart", "n", "twice")): gives(
            ("{}", "1")
        ),
        CandidateCall("Cart.add", "{0}.add({1})", ("Cart()", "-1"), ("cart", "n")): raises("ValueError"),
        CandidateCall("Cart.__lt__", "{0} < {1}", ("Cart()", "Cart(1)"), ("cart", "other")): gives(("{}", "True")),
    }
    names = [one.name for one in group(cases, NAMES, taken={"cart_add"})]
    assert names == ["cart_add_gives_object", "cart_add_with_twice", "cart_add_raises_value_error", "cart_is_less_than"]


def test_only_what_is_used_is_imported() -> None:
    (one,) = calls("f({0})", ("Decimal('1')",))
    found = rendered({one: raises("ValueError")})
    assert found.modules == {"pytest"}
    assert found.names == {"shop.cart": {"f"}, "decimal": {"Decimal"}}


def test_an_exception_of_another_module_is_imported_from_there() -> None:
    (one,) = calls("f({0})", ("1",))
    seen = Observation("raises", "Broken", exception_module="shop.errors", deliberate=True)
    assert rendered({one: seen}).names["shop.errors"] == {"Broken"}


def test_under_unittest_the_rows_are_subtests_of_a_method() -> None:
    one, other = calls("f({0})", ("1",), ("2",))
    text = text_of({one: gives(("{}", "'a'")), other: gives(("{}", "'b'"))}, HouseStyle("unittest"))
    assert text == (
        'class TestCart(unittest.TestCase):\n    def test_f(self):\n        cases = [\n            (1, "a"),\n'
        '            (2, "b"),\n        ]\n        for x, expected in cases:\n            with self.subTest(x=x):\n'
        "                self.assertEqual(f(x), expected)"
    )


def test_the_house_is_read_from_its_tests_and_its_settings() -> None:
    cases = "import unittest\n\nclass T(unittest.TestCase):\n    def test_it(self): pass\n"
    assert read_style(cases).framework == "unittest"
    assert read_style("def test_it():\n    assert x == 'a' + 'b'\n") == HouseStyle("pytest", 88, "'")
    assert read_style(None, "[tool.black]\nline-length = 100\n").line_length == 100
    assert read_style(None, "not toml [").line_length == 88


@pytest.mark.parametrize(
    "settings",
    ["tool = 3", "[tool]\nruff = 3", "tool = " + "[" * 100_000, "x = " + "9" * 5_000],
    ids=["no table", "no table inside", "deep", "a long number"],
)
def test_settings_that_make_no_sense_are_passed_over(settings: str) -> None:
    assert read_style(None, settings).line_length == 88


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.text("ab'\"\\ é\n", max_size=30)
    | st.binary(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.tuples(inner, inner)
        | st.tuples(inner)
        | st.dictionaries(st.text("abc", max_size=9), inner, max_size=4)
    ),
    max_leaves=12,
)


@settings(max_examples=40, deadline=None)
@given(VALUES)
def test_a_literal_is_laid_out_as_ruff_does_and_keeps_its_value(value: object) -> None:
    code = with_quotes(f"expected = {lay_out(repr(value), indent=0, width=88, before=11)}\n", '"')
    assert eval(code.removeprefix("expected = ")) == value
    assert formatted(code) == code


@pytest.mark.parametrize("framework", ["pytest", "unittest"])
def test_whole_tests_are_laid_out_as_ruff_does(framework: str) -> None:
    long = repr("word " * 12)
    cases = {
        **dict.fromkeys(calls("f({0}, {1})", (long, "[1, 2]"), ("'b'", long)), gives(("{}", f"[{long}, {long}]"))),
        CandidateCall("f", "f({0}, separator={1})", (long, long), ("a_long_name", "b")): raises("ValueError", "x" * 58),
        CandidateCall("Cart", "Cart({0})", ("1e+40",), ("size",)): gives(("{}.size", "1e+40"), ("str({})", long)),
    }
    text = text_of(cases, HouseStyle(framework)) + "\n"  # pyright: ignore[reportArgumentType]
    assert formatted(text) == text
