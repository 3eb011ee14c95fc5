"""Whose a file is, and where new tests go."""

from __future__ import annotations

from pathlib import Path

import pytest

from rolecall_analysis import Index, Snapshot
from rolecall_server.team.test_quality.test_placement import Whose, choose_style_example, choose_test_path, whose
from rolecall_server.team.test_quality.untested import untested_in
from rolecall_server.workspace import Workspace


def repository(folder: Path, files: dict[str, str]) -> tuple[Workspace, Snapshot]:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    index = Index(folder.resolve())
    index.scan()
    return Workspace(folder.resolve()), index.snapshot()


USES_PRICE = "from shop.price import total\n\n\ndef test_it(): ...\n"
OTHER = "def test_other(): ...\n"
SOURCES = {"shop/__init__.py": "", "shop/price.py": "def total(): ...\n"}


HELPS_TESTS = "def make_user(): ...\n"
REPOSITORY = {
    "shop/price.py": "def total(): ...\n",
    "shop/tests.py": "def runs(): ...\n",
    "shop/utils/test_utils.py": HELPS_TESTS,
    "shop/testing/client.py": "class Client: ...\n",
    "shop/test/case.py": "class Case: ...\n",
    "tests/test_price.py": OTHER,
    "tests/support.py": HELPS_TESTS,
    "app/tests.py": "class OrderTests:\n    def test_it(self): ...\n",
    "t/basic.py": OTHER,
    "t/helper.py": HELPS_TESTS,
    "t/more.py": OTHER,
    "src/pkg/testing/total.py": OTHER,
}


@pytest.mark.parametrize(
    ("path", "task", "design", "expected"),
    [
        # what a task names is code, whatever it is called
        ("shop/utils/test_utils.py", True, True, Whose.ENGINEER),
        ("shop/new/test_helpers.py", True, True, Whose.ENGINEER),
        ("tests/test_price.py", True, False, Whose.ENGINEER),
        ("README.md", True, True, Whose.ENGINEER),
        # what lies with tests is for tests, whatever it is called
        ("tests/test_price.py", False, True, Whose.TESTER),
        ("tests/test_new.py", False, False, Whose.TESTER),
        ("tests/conftest.py", False, False, Whose.TESTER),
        ("tests/__init__.py", False, False, Whose.TESTER),
        ("tests/data/prices.json", False, False, Whose.TESTER),
        ("tests/support.py", False, False, Whose.TESTER),
        ("pkg/tests/fixtures/one.csv", False, False, Whose.TESTER),
        # in odd places too, by what is there
        ("app/tests.py", False, False, Whose.TESTER),
        ("t/new.py", False, False, Whose.TESTER),
        ("t/data/one.json", False, False, Whose.TESTER),
        ("t/conftest.py", False, False, Whose.TESTER),
        ("src/pkg/testing/data.json", False, False, Whose.TESTER),
        ("shop/test_price.py", False, False, Whose.TESTER),
        ("web/price.test.ts", False, False, Whose.TESTER),
        # a module of the product with a name like a test's is none
        ("shop/utils/test_utils.py", False, False, Whose.NOBODY),
        ("shop/utils/test_utils.py", False, True, Whose.NOBODY),
        ("shop/tests.py", False, False, Whose.NOBODY),
        ("shop/testing/data.json", False, False, Whose.NOBODY),
        ("shop/test/new.py", False, False, Whose.NOBODY),
        ("t/helper.py", False, False, Whose.NOBODY),
        ("conftest.py", False, False, Whose.NOBODY),
        ("shop/price.py", False, True, Whose.NOBODY),
        ("README.md", False, True, Whose.NOBODY),
        # a new file that the design names and the tasks leave out
        ("checks/rounding.py", False, True, Whose.TESTER),
        ("checks/rounding.py", False, False, Whose.NOBODY),
    ],
)
def test_tasks_and_design_decide_whose_a_file_is_then_what_lies_there(
    path: str, task: bool, design: bool, expected: Whose
) -> None:
    snapshot = Snapshot().with_changes(REPOSITORY)
    task_files = {"shop/price.py", path} - (set() if task else {path})
    assert whose(path, task_files, {path} if design else (), snapshot) is expected


@pytest.mark.parametrize(
    ("tests", "expected"),
    [
        ({}, "tests/test_price.py"),
        ({"tests/test_price.py": USES_PRICE}, "tests/test_price.py"),
        ({"tests/test_price.py": USES_PRICE, "tests/test_all.py": USES_PRICE}, "tests/test_price.py"),
        ({"tests/unit/price_test.py": USES_PRICE}, "tests/unit/price_test.py"),
        ({"test_shop.py": USES_PRICE}, "test_shop.py"),
        ({"tests/test_shop.py": USES_PRICE, "tests/test_other.py": OTHER}, "tests/test_price.py"),
        ({"tests/test_price.py": OTHER}, "tests/test_price.py"),
        ({"test_other.py": OTHER}, "test_price.py"),
        ({"checks/other_test.py": OTHER}, "checks/price_test.py"),
        ({"tests/a/test_x.py": OTHER, "tests/shop/test_y.py": OTHER}, "tests/shop/test_price.py"),
        ({"tests/conftest.py": USES_PRICE}, "tests/test_price.py"),
        ({"shop/bank/tests/test_x.py": OTHER, "shop/bank/loans.py": ""}, "tests/test_price.py"),
        ({"checks/tests/test_x.py": OTHER}, "checks/tests/test_price.py"),
        ({"shop/tests/test_x.py": OTHER, "shop/bank/tests/test_y.py": OTHER}, "shop/tests/test_price.py"),
    ],
    ids=[
        "the repository has none",
        "one is named after it",
        "the one named after it before others",
        "named with a suffix, in a folder",
        "one file tests everything",
        "one of several tests it among others",
        "named after it but imports nothing",
        "beside the other tests",
        "named as the others are",
        "in the folder that mirrors its own",
        "a conftest is no place for tests",
        "only a package within has some",
        "a folder without code has some",
        "its own package has some",
    ],
)
def test_tests_go_where_the_repository_would_put_them(tmp_path: Path, tests: dict[str, str], expected: str) -> None:
    workspace, snapshot = repository(tmp_path, SOURCES | tests)
    assert choose_test_path(workspace, snapshot, "shop/price.py") == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("shop/__init__.py", "tests/test_shop.py"),
        ("__init__.py", "tests/test_package.py"),
        ("__main__.py", "tests/test_main.py"),
        ("src/shop/_private.py", "tests/test_private.py"),
    ],
)
def test_the_name_is_the_modules(tmp_path: Path, path: str, expected: str) -> None:
    workspace, snapshot = repository(tmp_path, {path: "x = 1\n"})
    assert choose_test_path(workspace, snapshot, path) == expected


def test_a_name_that_is_taken_gets_the_name_of_its_package(tmp_path: Path) -> None:
    files = {
        "a/__init__.py": "",
        "a/util.py": "x = 1\n",
        "b/__init__.py": "",
        "b/util.py": "x = 1\n",
        "tests/test_util.py": "from a.util import x\n",
        "tests/test_other.py": OTHER,
        "tests/old/test_util.py": OTHER,
    }
    workspace, snapshot = repository(tmp_path, files)
    assert choose_test_path(workspace, snapshot, "a/util.py") == "tests/test_util.py"
    assert choose_test_path(workspace, snapshot, "b/util.py") == "tests/test_b_util.py"


def test_the_style_is_that_of_its_own_tests_else_of_the_nearest(tmp_path: Path) -> None:
    files = SOURCES | {"tests/shop/test_cart.py": OTHER, "tests/api/test_api.py": OTHER, "tests/test_all.py": OTHER}
    _, snapshot = repository(tmp_path / "a", files)
    assert choose_style_example(snapshot, "shop/price.py", "tests/shop/test_price.py") == "tests/shop/test_cart.py"
    _, snapshot = repository(tmp_path / "b", files | {"tests/api/test_totals.py": USES_PRICE})
    assert choose_style_example(snapshot, "shop/price.py", "tests/shop/test_price.py") == "tests/api/test_totals.py"
    _, snapshot = repository(tmp_path / "c", SOURCES)
    assert choose_style_example(snapshot, "shop/price.py", "tests/test_price.py") is None


def test_a_conftest_shows_no_style(tmp_path: Path) -> None:
    files = SOURCES | {"tests/conftest.py": USES_PRICE, "tests/test_other.py": OTHER}
    _, snapshot = repository(tmp_path, files)
    assert choose_style_example(snapshot, "shop/price.py", "tests/test_price.py") == "tests/test_other.py"


CHECKS = {
    "pyproject.toml": "[tool.pytest.ini_options]\ntestpaths = ['checks']\npython_files = ['check_*.py']\n",
    "checks/check_other.py": OTHER,
    "examples/test_shop.py": OTHER,
}


def test_new_tests_are_named_so_that_the_repository_collects_them(tmp_path: Path) -> None:
    workspace, snapshot = repository(tmp_path, SOURCES | CHECKS)
    assert choose_test_path(workspace, snapshot, "shop/price.py") == "checks/check_price.py"
    assert choose_style_example(snapshot, "shop/price.py", "checks/check_price.py") == "checks/check_other.py"


def test_tests_are_known_by_the_names_that_the_repository_gives_them(tmp_path: Path) -> None:
    own = {"checks/check_price.py": USES_PRICE, "checks/check_all.py": USES_PRICE}
    workspace, snapshot = repository(tmp_path, SOURCES | CHECKS | own)
    assert choose_test_path(workspace, snapshot, "shop/price.py") == "checks/check_price.py"


def test_a_module_of_the_product_that_is_called_tests_gets_tests_and_is_none(tmp_path: Path) -> None:
    module = "from shop.price import total\ndef test_odd(value): return total() % 2\n"
    workspace, snapshot = repository(tmp_path, SOURCES | {"shop/tests.py": module})
    assert choose_test_path(workspace, snapshot, "shop/tests.py") == "tests/test_tests.py"
    assert choose_style_example(snapshot, "shop/price.py", "tests/test_price.py") is None
    assert [one.name for one in untested_in(snapshot, "shop/tests.py")] == ["test_odd"]
    assert [one.name for one in untested_in(snapshot, "shop/price.py")] == ["total"], "no test calls it"
