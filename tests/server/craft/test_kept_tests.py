"""A repair may add tests, and nothing else of them."""

from __future__ import annotations

import ast
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolecall_analysis import Snapshot
from rolecall_server.craft.repair.kept_tests import why_kept, why_weakened

PATH = "tests/test_price.py"
BEFORE = textwrap.dedent("""
    import pytest
    from shop import total

    RATE = 2

    @pytest.fixture
    def items():
        return [1]

    def test_total(items):
        assert total(items) == 1

    class TestTax:
        rate = RATE

        def test_tax(self):
            assert self.rate == 2
""")


def after(old: str, new: str) -> str | None:
    assert old in BEFORE
    return why_weakened(PATH, BEFORE, BEFORE.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("== 1\n", "== 2\n"),
        ("assert total(items) == 1", "pass"),
        ("def test_total(items):", "@pytest.mark.skip\ndef test_total(items):"),
        ("def test_total(items):", "def check_total(items):"),
        ("return [1]", "return []"),
        ("RATE = 2", "RATE = 3"),
        ("RATE = 2", "RATE = 2\npytestmark = pytest.mark.xfail"),
        ("RATE = 2", "RATE = 2\n__test__ = False"),
        ("class TestTax:", "class TestTax(unittest.TestCase):"),
        ("    rate = RATE", "    rate = RATE\n    __test__ = False"),
        ("        assert self.rate == 2", "        return"),
        ("from shop import total", "from shop import tax as total"),
        ("from shop import total", "def total(items): return 1"),
        ("RATE = 2", "RATE = 2\ntotal = len"),
        ("RATE = 2", "RATE = 2\nfrom other import items"),
        ("class TestTax:", "def test_total(items): pass\nclass TestTax:"),
        ("RATE = 2", "RATE = 2\n@pytest.fixture(autouse=True)\ndef test_patch(monkeypatch): ..."),
        ("import pytest\n", "import pytest\npytest.skip(allow_module_level=True)\n"),
        ("assert total(items) == 1", "assert total(items) =="),
    ],
)
def test_what_a_test_asks_cannot_be_changed(old: str, new: str) -> None:
    assert after(old, new) is not None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("from shop import total", "import os\nfrom shop import tax, total"),
        ("class TestTax:", "def test_more(items):\n    assert total(items * 2) == 2\n\nclass TestTax:"),
        ("    rate = RATE", "    rate = RATE\n\n    def test_none(self): assert self.rate"),
        ("RATE = 2", "RATE  =  2  # the same"),
        ("class TestTax:", "class TestMore:\n    def test_it(self): ...\n\nclass TestTax:"),
    ],
)
def test_tests_under_new_names_and_imports_may_be_added(old: str, new: str) -> None:
    assert after(old, new) is None


def test_a_new_file_of_tests_may_be_made() -> None:
    assert why_weakened(PATH, None, "def test_it(): ...") is None


@given(st.data())
def test_no_statement_of_a_test_file_can_be_taken_away(data: st.DataObject) -> None:
    tree = ast.parse(BEFORE)
    holders = [node for node in ast.walk(tree) if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef)]
    body = data.draw(st.sampled_from(holders)).body
    del body[data.draw(st.integers(0, len(body) - 1))]
    body[:] = body or [ast.Pass()]
    assert why_weakened(PATH, BEFORE, ast.unparse(tree)) is not None


def test_what_tests_work_with_stays_as_it_is() -> None:
    snapshot = Snapshot().with_changes(
        {"shop/price.py": "", PATH: "def test_it(): ...", "tests/helpers.py": "", "shop/tests/data.json": "{}"}
    )
    refused = ["conftest.py", "tests/helpers.py", "shop/tests/data.json", "pyproject.toml", "tests/new.json", "tox.ini"]
    assert [path for path in refused if why_kept(snapshot, path) is None] == []
    assert [
        path for path in ("shop/price.py", PATH, "tests/test_new.py", "README.md") if why_kept(snapshot, path)
    ] == []
    assert (why_kept(snapshot, "tests/helpers.py") or "").endswith("correct the code that they test.")
