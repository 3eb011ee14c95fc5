"""Where new tests go."""

from __future__ import annotations

from pathlib import Path

import pytest

from rolecall_analysis import Index, Snapshot
from rolecall_server.team.test_placement import choose_style_example, choose_test_path
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
