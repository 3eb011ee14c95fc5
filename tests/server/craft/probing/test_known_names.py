"""Names that a test file has already, or that a module passes on."""

from __future__ import annotations

import pytest

from rolecall_analysis import Snapshot
from rolecall_server.craft.characterization import HouseStyle, read_style
from rolecall_server.craft.characterization.text.origins import Origins
from rolecall_server.craft.characterization.text.placing import extended
from rolecall_server.craft.characterization.text.rendering import Rendered

REPOSITORY = Snapshot().with_changes(
    {
        "shop/__init__.py": "from shop.price import Price\nfrom .errors import *\n",
        "shop/price.py": (
            "import re\nimport json as text_form\nfrom decimal import Decimal\n\n"
            "from ._rounding import rounded\nfrom .errors import PriceError as Error, StockError\n"
            "from .compat import text\n\n__all__ = ['StockError', 'Price']\n\n\nclass Price: ...\n"
        ),
        "shop/order.py": "from .errors import StockError\n",
        "shop/_rounding.py": "def rounded(x): ...\n",
        "shop/compat.py": "try:\n    from re import text\nexcept ImportError:\n    from string import text\n",
        "shop/errors.py": "class PriceError(Exception): ...\n\n\nclass StockError(Exception): ...\n",
        "shop/circle.py": "from shop.ring import thing\n",
        "shop/ring.py": "from shop.circle import thing\n",
        "tests/__init__.py": "",
        "tests/helpers.py": "from shop import Price\n",
    }
)
ORIGINS = Origins(REPOSITORY, "tests/test_price.py")
TEST = "def test_new():\n    assert {} == 0"


def added(before: str, uses: str, *modules: str, **names: set[str]) -> str:
    """Return the test file *before* with a test of what it *uses* from *modules*, and from others by *names*."""
    found = {name.replace("__", "."): frozenset(each) for name, each in names.items()}
    rendered = Rendered((TEST.format(uses),), frozenset(modules), found)
    return extended(f"{before}\n", rendered, "shop.price", HouseStyle(), ORIGINS)


@pytest.mark.parametrize(
    "line",
    [
        "from shop import Price",
        "from shop.price import Price",
        "from tests.helpers import Price",
        "from .helpers import Price",
        "try:\n    from shop import Price\nexcept ImportError:\n    from shop.price import Price",
    ],
)
def test_what_another_module_passes_on_is_not_imported_again(line: str) -> None:
    found = added(line, "Price(1)", shop__price={"Price"})
    assert found == f"{line}\n\n\n{TEST.format('Price(1)')}\n"


def test_what_a_star_passes_on_is_not_imported_again() -> None:
    found = added("from shop import PriceError", "PriceError()", shop__errors={"PriceError"})
    assert found.startswith("from shop import PriceError\n\n\ndef")


@pytest.mark.parametrize(
    ("before", "uses", "module", "after"),
    [
        ("from datetime import datetime", "datetime.date(1, 2, 3)", "datetime", "datetime_module.date(1, 2, 3)"),
        ("def datetime(): ...", "datetime.date(1, 2, 3)", "datetime", "datetime_module.date(1, 2, 3)"),
        ("import datetime as dt", "datetime.date(1, 2, 3)", "datetime", "dt.date(1, 2, 3)"),
        ("import math", 'f("é", math.pi, math=math.e)', "math", 'f("é", math.pi, math=math.e)'),
        ("math = 1", 'f("é", math.pi, math=math.e)', "math", 'f("é", math_module.pi, math=math_module.e)'),
    ],
    ids=["other import", "function", "as", "there", "words of calls"],
)
def test_a_module_is_called_as_the_file_calls_it_and_hides_nothing(
    before: str, uses: str, module: str, after: str
) -> None:
    found = added(before, uses, module)
    assert before in found
    assert found.endswith(TEST.format(after) + "\n")
    assert (f"import {module} as {module}_module\n" in found) == (f"{module}_module" in after)


def test_a_name_of_another_thing_is_not_hidden() -> None:
    found = added("from shop.stock import Price, total", "total(Price())", shop__price={"Price", "total"})
    assert "from shop.price import Price as PricePrice, total as price_total\n" in found
    assert found.endswith(TEST.format("price_total(PricePrice())") + "\n")


def test_a_value_of_a_test_keeps_its_name() -> None:
    test = "@each([total(1)])\ndef test_new(total):\n    assert total == 1"
    rendered = Rendered((test,), frozenset(), {"shop.price": frozenset({"total"})})
    found = extended("def total(): ...\n", rendered, "shop.price", HouseStyle(), ORIGINS)
    assert found.endswith("@each([price_total(1)])\ndef test_new(total):\n    assert total == 1\n")


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("Decimal", ("decimal", "Decimal")),
        ("re", ("re", "")),
        ("Price", ("shop.price", "Price")),
        ("StockError", ("shop.price", "StockError")),
        ("Error", ("shop.price", "Error")),
        ("text_form", ("shop.price", "text_form")),
        ("rounded", ("shop.price", "rounded")),
        ("text", ("shop.compat", "text")),
        ("missing", ("shop.price", "missing")),
    ],
    ids=["library", "module", "its own", "in __all__", "renamed", "module renamed", "private", "made twice", "unknown"],
)
def test_a_name_is_imported_from_where_the_module_takes_it(name: str, source: tuple[str, str]) -> None:
    assert ORIGINS.taken_from("shop.price", name) == source


def test_names_of_a_package_are_its_own() -> None:
    assert ORIGINS.taken_from("shop", "Price") == ("shop", "Price")
    assert ORIGINS.taken_from("shop.order", "StockError") == ("shop.errors", "StockError")


def test_imports_in_a_circle_come_to_an_end() -> None:
    assert ORIGINS.of("shop.ring", "thing")[1] == "thing"


@pytest.mark.parametrize(
    ("example", "takes"),
    [
        ("from unittest import TestCase\n", True),
        ("from unittest import mock, TestCase\n", True),
        ("from unittest import (\n    mock,\n    TestCase,\n)\n", True),
        ("from unittest import TestCase as Base\n", False),
        ("import unittest\nfrom unittest import TestCase\n\n\nclass A(unittest.TestCase): ...\n", False),
        ("from django.test import TestCase\n", False),
        ("import unittest\n", False),
    ],
)
def test_classes_of_tests_name_their_base_as_those_there_do(example: str, takes: bool) -> None:
    assert read_style(example).takes_test_case == takes
