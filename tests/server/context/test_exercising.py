"""The tests that are shown beside the code that a brief is about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rolecall_analysis import Definition, Index, SelectedTests, Snapshot
from rolecall_server.context import ContextItem, Focus, PackSource, pack
from rolecall_server.context.exercising import nearest_tests
from rolecall_server.model import estimate_tokens
from rolecall_server.workspace import Workspace
from support.fixture import parse_fixture
from support.workspaces import write_workspace

SHOP = """
    #- shop/__init__.py
    #- shop/refunds.py
    def refund(order):
        return -order

    #- shop/cart.py
    from shop.refunds import refund

    def give_back(cart):
        return refund(cart)

    #- tests/test_other.py
    def test_nothing():
        pass
"""


BRIEF = "Let refund take an order twice"


def view_of(root: Path) -> PackSource:
    index = Index(root)
    index.scan()
    return PackSource(Workspace(root), index.snapshot(), estimate_tokens)


def exercised_by(folder: Path, text: str, brief: str = BRIEF, room: int = 16_000) -> ContextItem:
    return all_exercised_by(folder, text, brief, room)[0]


def all_exercised_by(folder: Path, text: str, brief: str = BRIEF, room: int = 16_000) -> list[ContextItem]:
    view = view_of(parse_fixture(text).write_to(folder).resolve())
    items = pack(view, Focus("", brief=brief, writes_code=True), room).items
    return [item for item in items if item.reason.startswith("the tests that exercise it")]


def test_two_files_are_shown_where_as_much_speaks_for_either(tmp_path: Path) -> None:
    calling = "from shop.refunds import refund\n\n    def test_it():\n        assert refund(1) == -1\n"
    text = f"{SHOP}\n    #- tests/test_a.py\n    {calling}\n    #- tests/test_b.py\n    {calling}"
    assert {item.path for item in all_exercised_by(tmp_path, text)} == {"tests/test_a.py", "tests/test_b.py"}


def test_the_file_named_after_the_code_is_shown(tmp_path: Path) -> None:
    named = "    #- tests/test_refunds.py\n    def test_it():\n        pass\n"
    assert exercised_by(tmp_path, SHOP + named).path == "tests/test_refunds.py"


def test_the_file_whose_tests_call_the_code_is_shown_whatever_its_name(tmp_path: Path) -> None:
    calling = (
        "    #- tests/test_money.py\n    from shop.cart import give_back\n\n    def test_it():\n        give_back(1)\n"
    )
    assert exercised_by(tmp_path, SHOP + calling).path == "tests/test_money.py"


def test_of_a_long_file_the_nearest_tests_are_shown_with_their_helpers_and_the_imports(tmp_path: Path) -> None:
    filler = "".join(f"    def test_{n}():\n        first = {n}\n        assert first == {n}\n\n" for n in range(300))
    text = f"""{SHOP}
    #- tests/test_refunds.py
    import pytest
    from shop.refunds import refund

    @pytest.fixture
    def paid():
        first = 1
        return first

{filler}
    def test_refund_of_an_order(paid):
        assert refund(paid) == -1

    def test_last():
        first = 1
        second = 2
        assert first != second
"""
    item = exercised_by(tmp_path, text, room=4_000)
    assert item.zoom == "parts"
    assert item.text.startswith("import pytest\nfrom shop.refunds import refund\n\n@pytest.fixture\ndef paid():\n")
    assert "def test_refund_of_an_order(paid):\n    assert refund(paid) == -1\n" in item.text
    assert "def test_last" not in item.text


def test_tests_that_are_kept_from_models_are_not_shown(tmp_path: Path) -> None:
    view = view_of(parse_fixture(SHOP + "    #- .aiignore\n    tests/\n").write_to(tmp_path).resolve())
    items = pack(view, Focus("", brief="refund", writes_code=True), 16_000).items
    assert not [item for item in items if item.path.startswith("tests/")]


def test_the_file_whose_tests_were_seen_to_run_the_code_is_shown(tmp_path: Path) -> None:
    calling = "    #- tests/test_shop.py\n    import shop\n\n    def test_it():\n        getattr(shop, 'all')()\n"

    def seen_to_run(snapshot: Snapshot, changed: Sequence[Definition]) -> list[SelectedTests]:
        assert {one.qualified_name for one in changed} >= {"refund"}
        return [SelectedTests("tests/test_shop.py", 1.0, "", tests=("tests/test_shop.py::test_it",))]

    view = replace(view_of(parse_fixture(SHOP + calling).write_to(tmp_path).resolve()), select_tests=seen_to_run)
    items = pack(view, Focus("", brief=BRIEF, writes_code=True), 16_000).items
    assert [item.path for item in items if item.reason.startswith("the tests that exercise it")] == [
        "tests/test_shop.py"
    ]


def test_of_a_long_file_the_tests_that_were_seen_to_run_the_code_come_first(tmp_path: Path) -> None:
    filler = "".join(f"def test_refund_{n}():\n    first = {n}\n    assert first == {n}\n\n" for n in range(300))
    text = f"{filler}def test_all(shop):\n    first = shop\n    assert first.refund\n"
    view = view_of(write_workspace(tmp_path / "work", {"tests/test_shop.py": text}))
    shown = nearest_tests(view, "tests/test_shop.py", "refund", 300, "because")
    assert "test_all" not in shown.text
    ran = nearest_tests(view, "tests/test_shop.py", "refund", 300, "because", ran=["tests/test_shop.py::test_all"])
    assert "def test_all(shop):" in ran.text
