"""Requirement tests that fail in the end: offered as the proof of a finding, and no other test is touched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from rolecall_analysis import Index
from rolecall_server.settings import Settings
from rolecall_server.team.messages.edits import Edits
from rolecall_server.team.request import Desk, Repository
from rolecall_server.team.run import open_bench
from rolecall_server.team.sprint.integration import checked_anew
from rolecall_server.team.sprint.unmet import without_unmet
from rolecall_server.workspace import Workspace
from support.fixture import parse_fixture
from support.scripted_model import ScriptedModel
from support.stores import open_store
from support.workspaces import environment

SHOP = """
    #- shop.py
    def total(items): return sum(items)
    #- tests/test_old.py
    from shop import total
    def test_old(): assert total([1]) == 1
"""
CODE = "def total(items): return sum(items) * 2\n"
OLD = "from shop import total\ndef test_old(): assert total([1]) == 1.5\n"
NEW = """\
import pytest
from shop import total


def test_doubled():
    assert total([1]) == 2


def test_no_more_than_five():
    assert total([3]) == 5


@pytest.mark.parametrize("n", [1, 2, 3])
def test_of_one(n):
    assert total([1]) == n


@pytest.mark.parametrize("n", range(1, 3))
def test_computed(n):
    assert total([1]) == n


@pytest.mark.parametrize("n", [4, 5])
def test_nothing_of_one(n):
    assert total([1]) == n
"""


async def left_of(root: Path) -> tuple[Edits, Mapping[str, Sequence[str]]]:
    workspace = Workspace(parse_fixture(SHOP).write_to(root / "work").resolve())
    index = Index(workspace.root)
    index.scan()
    snapshot, settings = index.snapshot(), Settings()
    index.close()
    store = open_store(root / "rolecall.db")
    repository = Repository(workspace, snapshot, store, settings, environment(root / "home"))
    files = {"shop.py": CODE, "tests/test_old.py": OLD, "tests/test_new.py": NEW}
    async with open_bench(repository, lambda *_: None) as bench:
        desk = Desk(workspace, snapshot, settings, ScriptedModel([]), bench, lambda *_: None)
        edits = Edits(files=files)
        edits = edits.model_copy(update={"evidence": await checked_anew(desk, edits, 1)})
        tests = ("tests/test_old.py", "tests/test_new.py")
        found = await without_unmet(desk, edits, tests, {"tests/test_new.py::test_no_more_than_five": ("R2",)})
    store.close()
    return found


async def test_a_new_test_that_fails_whole_is_set_aside_and_no_other(tmp_path: Path) -> None:
    edits, off = await left_of(tmp_path)
    whole, _, _ = off["tests/test_new.py"]
    assert whole == (
        "@pytest.mark.xfail(strict=True, reason='R2: AssertionError: assert 6 == 5')\n"
        "def test_no_more_than_five():\n    assert total([3]) == 5\n"
    )
    text = edits.files["tests/test_new.py"] or ""
    assert "test_no_more_than_five" not in text
    assert "def test_doubled" in text
    assert edits.files["tests/test_old.py"] == OLD, "it was there before"
    assert edits.evidence is not None
    assert sorted(one.test_id for one in edits.evidence.new_failures) == [
        "tests/test_new.py::test_computed[1]",
        "tests/test_old.py::test_old",
    ], "its cases cannot be told apart in the text, and one passes"
    assert edits.evidence.defects[0].offered == "tests/test_new.py::test_no_more_than_five"
    assert edits.evidence.repairs == 1


async def test_of_a_new_test_that_fails_in_some_cases_these_are_set_aside_and_the_others_stay(tmp_path: Path) -> None:
    edits, off = await left_of(tmp_path)
    _, some, every = off["tests/test_new.py"]
    reason = "not as required: AssertionError: assert 2 == 1 (and 1 more of its cases)"
    mark = f"pytest.mark.xfail(strict=True, reason='{reason}')"
    assert some == (
        "@pytest.mark.parametrize(\n    'n',\n    [\n"
        f"        pytest.param(1, marks={mark}),\n        pytest.param(3, marks={mark}),\n    ],\n)\n"
        "def test_of_one_finding(n):\n    assert total([1]) == n\n"
    )
    assert every.startswith("@pytest.mark.xfail(strict=True, ")
    assert "[4, 5])\ndef test_nothing_of_one(n)" in every, "all of its cases fail"
    assert "[2, ])\ndef test_of_one(n)" in (edits.files["tests/test_new.py"] or "")
    assert edits.evidence is not None
    assert not [one for one in edits.evidence.new_failures if "of_one" in one.test_id]
    _, defect, _ = edits.evidence.defects
    assert (defect.test, defect.offered) == (
        "tests/test_new.py::test_of_one",
        "tests/test_new.py::test_of_one_finding",
    )
