"""Which tests are worth nothing, by their text alone."""

from __future__ import annotations

import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolecall_server.craft.test_quality.test_smells import unsound_tests
from rolecall_server.craft.test_quality.test_text import without_tests


def faults(text: str, base: str = "") -> dict[str, str]:
    found = unsound_tests(
        textwrap.dedent(text), base, "shop.price", {"total", "discount", "Cart", "Cart.total", "Cart.fetch"}
    )
    return {test.name: test.reason for test in found}


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("total([1])", "asserts nothing"),
        ("print(total([1]))", "asserts nothing"),
        ("assert True", "asserts only what is always true"),
        ("x = total([1]); assert x == x", "asserts only what is always true"),
        ("time.sleep(1); assert total([]) == 0", "sleeps"),
        ("await asyncio.sleep(0.1); assert total([]) == 0", "sleeps"),
        ("assert requests.get('https://example.org').ok", "goes out to the network"),
        ("assert urllib.request.urlopen('http://example.org')", "goes out to the network"),
        ("with patch('shop.price.total'): assert total([]) == 0", "replaces total, which it should test"),
        ("monkeypatch.setattr(price, 'discount', f); assert f() == 1", "replaces discount, which it should test"),
        ("mocker.patch.object(shop.price, 'total'); assert total() == 1", "replaces total, which it should test"),
        ("patch.object(Cart, 'total'); assert cart.total() == 1", "replaces Cart.total, which it should test"),
        ("patch('shop.price.Cart.total'); assert cart.total() == 1", "replaces Cart.total, which it should test"),
        (
            "monkeypatch.setattr(price.Cart, 'total', f); assert Cart().total() == 1",
            "replaces Cart.total, which it should test",
        ),
        ("monkeypatch.setattr('shop.price.Cart', f); assert f() == 1", "replaces Cart, which it should test"),
    ],
)
def test_a_worthless_test_is_named_with_the_reason(body: str, reason: str) -> None:
    assert faults(f"async def test_it():\n    {body}\n") == {"test_it": reason}


@pytest.mark.parametrize(
    "body",
    [
        "assert total([]) == 0",
        "with pytest.raises(ValueError): total(None)",
        "self.assertEqual(total([]), 0)",
        "check_total([])",
        "mock.assert_called_once_with(1)",
        "await asyncio.sleep(0); assert total([]) == 0",
        "assert requests.get('http://127.0.0.1:8000').ok",
        "with patch('shop.price.math.fsum'): assert total([]) == 0",
        "monkeypatch.setattr(price, 'RATES', {}); assert total([]) == 0",
        "monkeypatch.setattr('shop.price.LIMIT', 3); assert total([]) == 0",
        "with mock.patch('shop.price.TIMEOUT', 1): assert total([]) == 0",
        "with mock.patch.object(price, 'TIMEOUT', 1): assert total([]) == 0",
        "with mock.patch.object(Cart, 'LIMIT', 1): assert Cart().total() == 0",
        "with mock.patch.dict(os.environ, {'RATE': '1'}): assert total([]) == 0",
        "monkeypatch.setitem(price.RATES, 'a', 1); assert total([]) == 0",
        "monkeypatch.setattr(Cart, 'fetch', f); assert Cart().total() == 0",
        "monkeypatch.setattr(other, 'total', f); assert total([]) == 0",
        "assert total([]) == total([])",
    ],
)
def test_a_test_that_can_fail_is_left_alone(body: str) -> None:
    assert faults(f"async def test_it(self):\n    {body}\n") == {}


def test_the_second_of_two_that_do_the_same_is_named_also_where_the_first_was_there_before() -> None:
    base = "def test_one():\n    assert total([]) == 0\n"
    added = base + '\n\ndef test_two():\n    """Another word for it."""\n    assert total([]) == 0\n'
    assert faults(added, base) == {"test_two": "does the same as test_one"}


def test_tests_that_were_there_before_are_not_judged() -> None:
    base = "def test_one():\n    total([])\n"
    assert faults(base, base) == {}


def test_methods_are_named_with_their_class() -> None:
    assert faults("class TestTotal:\n    def test_one(self):\n        total([])\n") == {
        "TestTotal::test_one": "asserts nothing"
    }


def test_what_does_not_parse_has_no_tests() -> None:
    assert faults("def test_one(:\n") == {}


TEXT = """\
import pytest


def test_good():
    assert total([]) == 0


@pytest.mark.parametrize("n", [1, 2])
def test_empty(n):
    total([n])


class TestAll:
    \"\"\"All.\"\"\"

    def test_nothing(self):
        total([])


def test_last():
    assert total([1]) == 1
"""


def test_taking_tests_out_leaves_the_others_as_they_are_and_no_empty_class() -> None:
    left = without_tests(TEXT, {test.name for test in unsound_tests(TEXT, None)}, TEXT)
    assert left == (
        "import pytest\n\n\ndef test_good():\n    assert total([]) == 0\n\n\n"
        "def test_last():\n    assert total([1]) == 1\n"
    )


@given(
    st.lists(st.sampled_from(["assert f(%d) == 1", "f(%d)", "assert True", "time.sleep(%d); assert f()"]), max_size=6)
)
def test_what_is_left_has_nothing_to_object_to(bodies: list[str]) -> None:
    tests = [f"def test_{n}():\n    {body % n if '%' in body else body}\n" for n, body in enumerate(bodies)]
    text = "\n\n".join(tests)
    named = {test.name for test in unsound_tests(text, None)}
    assert unsound_tests(without_tests(text, named), None) == ()
