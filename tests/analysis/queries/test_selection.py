"""Which tests are to run for a change, best first, and why each; which files are tests at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from rolecall_analysis import Index, Snapshot, is_test, select_tests
from rolecall_analysis.retrieval import Corpus, Query, rank
from support.fixture import parse_fixture
from support.graph import definition_of, snapshot_from

SHOP = """
    #- shop/__init__.py
    from shop.web import view
    #- shop/price.py
    def total(): ...
    def tax(): ...
    #- shop/cart.py
    from shop import price
    def checkout(): return price.total()
    #- shop/web.py
    from shop.cart import checkout
    def view(): return checkout()
    #- tests/test_price.py
    from shop.price import tax
    def test_tax(): assert tax()
    #- tests/test_shop.py
    import shop
    def test_view(): assert shop.view()
    #- tests/test_other.py
    def test_other(): assert True
    """


def reasons(snapshot: Snapshot, *changed: str) -> dict[str, str]:
    """Each selected file with its reason, best first."""
    origins = [definition_of(snapshot, one) if ":" in one else one for one in changed]
    return {one.path: one.reason for one in select_tests(snapshot, origins)}


def test_a_test_is_selected_that_calls_what_changed_through_others_or_imports_its_file() -> None:
    found = reasons(snapshot_from(SHOP), "shop/price.py:total")
    assert found == {
        "tests/test_price.py": "imports shop/price.py",
        "tests/test_shop.py": "test_view calls total, through view and checkout",
    }


def test_the_file_named_for_the_changed_one_and_the_nearest_callers_come_first() -> None:
    found = reasons(snapshot_from(SHOP), "shop/price.py:tax")
    assert list(found) == ["tests/test_price.py", "tests/test_shop.py"]
    assert found["tests/test_price.py"] == "test_tax calls tax"
    assert found["tests/test_shop.py"] == "imports shop/price.py, through shop/web.py and shop/__init__.py"


def test_a_test_file_that_changes_comes_before_all_others() -> None:
    found = reasons(snapshot_from(SHOP), "tests/test_other.py", "shop/price.py")
    assert next(iter(found.items())) == ("tests/test_other.py", "is changed itself")


@pytest.mark.parametrize(
    ("fixture", "test", "reason"),
    [
        (
            "@pytest.fixture\ndef cart(): return checkout()",
            "def test_cart(cart): assert cart",
            "test_cart may call checkout, through cart",
        ),
        (
            "@pytest.fixture(name='cart')\ndef make(): return checkout()",
            "class TestCart:\n    def test_cart(self, cart): assert cart",
            "TestCart.test_cart may call checkout, through make",
        ),
        (
            "@pytest.fixture(autouse=True)\ndef cart(): return checkout()",
            "def test_it(): assert True",
            "its own code may call checkout, through cart",
        ),
        ("import shop.cart", "def test_it(): assert True", "imports shop/cart.py, through tests/conftest.py"),
    ],
)
def test_what_a_conftest_reaches_counts_for_the_tests_below_it(fixture: str, test: str, reason: str) -> None:
    snapshot = Snapshot().with_changes(
        {
            "shop/cart.py": "def checkout(): ...\n",
            "tests/conftest.py": f"import pytest\nfrom shop.cart import checkout\n{fixture}\n",
            "tests/deep/test_cart.py": f"{test}\n",
            "elsewhere/test_else.py": f"{test}\n",
        }
    )
    assert reasons(snapshot, "shop/cart.py:checkout") == {"tests/deep/test_cart.py": reason}


def test_nothing_is_selected_for_what_no_test_reaches() -> None:
    assert reasons(snapshot_from("#- lonely.py\ndef f(): ...\n#- test_it.py\ndef test_it(): ...")) == {}


def snapshot_of(root: Path, text: str) -> Snapshot:
    """The graph of a folder on disk, with its settings."""
    parse_fixture(text).write_to(root)
    index = Index(root)
    try:
        index.scan()
        return index.snapshot()
    finally:
        index.close()


PRODUCT = """
#- engine/tests.py
def test_odd(value): return value % 2 == 1
#- engine/utils/test_utils.py
def test_client(): ...
#- tests/test_engine.py
from engine.tests import test_odd
def test_it(): assert test_odd(1)
#- tests/check_engine.py
def test_it(): ...
"""


@pytest.mark.parametrize(
    "settings",
    [
        "#- pyproject.toml\n[tool.pytest.ini_options]\ntestpaths=['tests']\npython_files=['check_*.py','test_*.py']\n",
        "#- pytest.ini\n[pytest]\ntestpaths = tests\npython_files = check_*.py test_*.py\n",
        "#- setup.cfg\n[tool:pytest]\ntestpaths =\n    tests\npython_files =\n    check_*.py\n    test_*.py\n",
    ],
)
def test_the_repository_says_in_its_settings_which_files_are_tests(tmp_path: Path, settings: str) -> None:
    snapshot = snapshot_of(tmp_path, settings + PRODUCT)
    found = {path for path in snapshot.files if is_test(snapshot, path)}
    assert found == {"tests/test_engine.py", "tests/check_engine.py"}


def test_a_module_called_tests_is_one_where_it_holds_test_cases_or_the_settings_say_so(tmp_path: Path) -> None:
    django = "#- shop/tests.py\nfrom django.test import TestCase\nclass CartTest(TestCase): ...\n"
    assert is_test(snapshot_of(tmp_path / "cases", django), "shop/tests.py")
    named = "#- pytest.ini\n[pytest]\npython_files = tests.py\n#- shop/tests.py\ndef test_it(): ...\n"
    assert is_test(snapshot_of(tmp_path / "named", named), "shop/tests.py")
    with_pytest = "#- tests.py\nimport pytest\ndef test_it(): ...\n"
    assert is_test(snapshot_of(tmp_path / "pytest", with_pytest), "tests.py")
    assert not is_test(snapshot_of(tmp_path / "neither", PRODUCT), "engine/tests.py")


@pytest.mark.parametrize("settings", ["[tool.pytest.ini_options\n", "[tool.pytest]\n", "tool.pytest = 3\n"])
def test_settings_that_say_nothing_leave_the_usual_names(tmp_path: Path, settings: str) -> None:
    snapshot = snapshot_of(tmp_path, f"#- pyproject.toml\n{settings}#- test_it.py\ndef test_it(): ...\n")
    assert is_test(snapshot, "test_it.py")


def test_a_product_module_called_tests_is_found_by_rank(tmp_path: Path) -> None:
    snapshot = snapshot_of(tmp_path, PRODUCT)
    found = rank(Corpus(tmp_path), snapshot, Query("whether a value is odd"))
    assert found[0].path == "engine/tests.py"
