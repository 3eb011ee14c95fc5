"""Tests put into files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from rolecall_server.craft.characterization import HouseStyle
from rolecall_server.craft.characterization.text.placing import (
    extended,
    names_of_tests,
    names_of_tests_on,
    names_of_tests_using,
    new_file,
)
from rolecall_server.craft.characterization.text.rendering import Rendered

TEST = "def test_new():\n    assert total([]) == 0"


def needs(modules: set[str] | None = None, **names: set[str]) -> Rendered:
    by_module = {name.replace("__", "."): frozenset(found) for name, found in names.items()}
    return Rendered((TEST,), frozenset(modules or set()), by_module)


def test_a_new_file_begins_with_its_imports_by_their_origin() -> None:
    found = new_file(needs({"pytest", "math"}, shop__price={"total", "LIMIT", "Cart"}), "shop.price", HouseStyle())
    assert found == f"import math\n\nimport pytest\n\nfrom shop.price import LIMIT, Cart, total\n\n\n{TEST}\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("from shop.price import total\n", "from shop.price import discount, total\n"),
        ("import pytest\n", "import pytest\n\nfrom shop.price import discount\n"),
        ("from shop.cart import Cart\n", "from shop.cart import Cart\nfrom shop.price import discount\n"),
        ("from shop.z import Z\n", "from shop.price import discount\nfrom shop.z import Z\n"),
        ('"""Tests."""\n', '"""Tests."""\n\nfrom shop.price import discount\n'),
        ("from shop.price import discount\n", "from shop.price import discount\n"),
        ("from shop.price import *\n", "from shop.price import *\nfrom shop.price import discount\n"),
        (
            "from __future__ import annotations\n",
            "from __future__ import annotations\n\nfrom shop.price import discount\n",
        ),
    ],
    ids=["taken along", "after others", "in order", "before others", "after the text", "there", "star", "future"],
)
def test_an_import_goes_where_the_file_has_its_own(before: str, after: str) -> None:
    kept = "\n\ndef test_old():\n    pass\n"
    found = extended(before + kept, needs(shop__price={"discount"}), "shop.price", HouseStyle())
    assert found == f"{after}{kept}\n\n{TEST}\n"


def test_the_rest_of_the_file_stays_as_it_is() -> None:
    text = "import pytest\n\n\n@pytest.fixture\ndef odd( ):  # kept\n    return 'x'\n\n\n\n"
    found = extended(text, needs({"pytest"}), "shop.price", HouseStyle())
    assert found == text.rstrip("\n") + f"\n\n\n{TEST}\n"


RUFF = Path(sys.executable).with_name("ruff")


@pytest.mark.parametrize(
    "before",
    [
        "",
        '"""Tests."""\n',
        "import os\n",
        "from shop.price import Cart\n",
        "import pytest\n\nfrom shop.stock import Stock\n",
        "from __future__ import annotations\n\nimport re\n\nfrom shop.langs.lang_9 import Nine\n",
        "from shop.price import (\n    LIMIT,\n    total,\n)\n\nfrom .helpers import made\n",
    ],
)
def test_several_imports_come_in_the_order_of_an_import_sorter(before: str) -> None:
    langs = {f"shop__langs__lang_{name}": {f"L{name}"} for name in ("TR", "EN", "10", "9", "az")}
    wanted = needs({"unittest", "re", "pytest"}, unittest__mock={"patch"}, shop__price={"Cart", "total"}, **langs)
    text = extended(f"{before}\n\nclass A: ...\n" if before else "class A: ...\n", wanted, "shop.price", HouseStyle())
    command = [str(RUFF), "check", "--isolated", "--select=I", "--config=lint.isort.known-first-party=['shop']", "-"]
    assert subprocess.run(command, input=text, capture_output=True, text=True, check=False).returncode == 0, text


def test_names_that_a_line_has_keep_their_order() -> None:
    found = extended("from shop.price import total, Cart\n", needs(shop__price={"Stock"}), "shop.price", HouseStyle())
    assert found.startswith("from shop.price import Stock, total, Cart\n")


@pytest.mark.parametrize(
    "line", ["from shop.price import total  # noqa: F401\n", "import os; from shop.price import a\n"]
)
def test_a_line_with_more_on_it_stays_as_it_is(line: str) -> None:
    found = extended(line, needs(shop__price={"Cart"}), "shop.price", HouseStyle())
    assert found.startswith(f"{line}from shop.price import Cart\n")


@pytest.mark.parametrize(
    "last",
    [
        'if __name__ == "__main__":\n    unittest.main()\n',
        "if '__main__' == __name__:\n    import pytest\n\n    pytest.main()\n",
        "# By hand.\nif __name__ == '__main__':\n    unittest.main()\n",
    ],
    ids=["unittest", "pytest", "comment"],
)
@pytest.mark.parametrize("blank", ["\n", "\n\n\n\n"])
def test_tests_come_before_what_the_file_does_as_a_script(last: str, blank: str) -> None:
    old = "import unittest\n\n\ndef test_old():\n    pass\n"
    found = extended(old + blank + last, needs(), "shop.price", HouseStyle())
    assert found == f"{old}\n\n{TEST}\n\n\n{last}"


def test_a_condition_that_is_not_the_last_statement_stays_above_the_tests() -> None:
    text = "import sys\n\nif __name__ == '__main__':\n    sys.path.pop()\n\nimport pytest\n"
    assert extended(text, needs(), "shop.price", HouseStyle()) == f"{text}\n\n{TEST}\n"


def test_a_form_feed_ends_no_line() -> None:
    text = '"""One\x0ctwo."""\n\nimport pytest\n\nx = 1\n'
    found = extended(text, needs(shop__price={"total"}), "shop.price", HouseStyle())
    assert found == f"{text.replace('pytest', 'pytest' + chr(10) * 2 + 'from shop.price import total')}\n\n{TEST}\n"


def test_line_ends_are_kept() -> None:
    found = extended("import pytest\r\n\r\nx = 1\r\n", needs({"pytest"}), "shop.price", HouseStyle())
    assert "\n" not in found.replace("\r\n", "")


def test_a_line_that_grows_too_long_is_broken() -> None:
    names = {f"a_rather_long_name_{number}" for number in range(4)}
    found = extended("from shop.price import total\n", needs(shop__price=names), "shop.price", HouseStyle())
    assert found.startswith("from shop.price import (\n    a_rather_long_name_0,\n")
    assert "    total,\n)\n" in found


def test_names_that_are_taken_are_known() -> None:
    assert names_of_tests("def test_a(): ...\nclass TestB: ...\n") == {"a", "TestB"}
    assert names_of_tests("def (") == set()


def test_the_tests_that_keep_a_file_from_being_read_are_found_by_their_line_or_by_a_name() -> None:
    text = (
        "import pytest\n\nfrom shop import Seat, left\n\n\n"
        "@pytest.mark.parametrize(\n    'seat',\n    [Seat(2)],\n)\ndef test_left(seat):\n"
        "    assert left(seat) == 1\n\n\n"
        "def test_seat():\n    assert Seat(1).row == 1\n"
    )
    assert names_of_tests_on(text, [8]) == {"test_left"}
    assert names_of_tests_on(text, [3]) == set()
    assert names_of_tests_using(text, "Seat") == {"test_left", "test_seat"}
    assert names_of_tests_using(text, "left") == {"test_left"}
