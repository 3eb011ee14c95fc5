"""Hunks of several proposals, ticked and decided together in a real VS Code; files that are renamed or go, as diffs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from rolecall_server.review.proposals.evidence import Evidence, Failure, Tally, TestEnd
from rolecall_server.store import Store
from rolecall_server.team.documents import Task, TaskList
from rolecall_server.team.documents.document_store import publish
from support.proposals import propose
from support.stores import open_store
from support.workspaces import FILES, contents, write_workspace

StartCodeServer = Callable[[Mapping[str, object], Mapping[str, str]], str]
Play = Callable[[str, Mapping[str, object]], Mapping[str, Any]]

OLD = '"""Labels of the first shop."""\n\n\ndef label(name):\n    return name.upper()\n'
LABELS = '"""Labels."""\n\n\ndef label(name):\n    return name.title()\n'
STARTING = {**FILES, "shop/old.py": OLD, "shop/labels.py": LABELS}
CHANGE: dict[str, str | None] = {
    "shop/price.py": None,
    "shop/prices.py": FILES["shop/price.py"].replace("sum(items)\n", "round(sum(items), 2)\n"),
    "shop/cart.py": FILES["shop/cart.py"].replace("shop.price", "shop.prices"),
    "shop/old.py": None,
    "shop/tax.py": '"""The tax on a price."""\n\nRATE = 0.19\n',
}
LOUD: dict[str, str | None] = {
    "shop/labels.py": LABELS + "\n\ndef shout(name):\n    return label(name) + '!'\n",
    "tests/test_labels.py": "from shop.labels import shout\n\n\ndef test_shout():\n    assert shout('a') == 'A!'\n",
}
TASKS = TaskList(
    title="The work",
    tasks=(
        Task(id="T1", title="Keep the prices in a module of their own", serves=("R1",)),
        Task(id="T2", title="Leave out what nobody uses", serves=("R1",)),
    ),
)
SEEN = Evidence(
    ran=True,
    before=Tally(1, 0),
    after=Tally(1, 1),
    failures=(Failure("tests/test_labels.py::test_shout", "AssertionError: a"),),
    tests=(
        TestEnd("tests/test_price.py::test_total_of_nothing", "passed"),
        TestEnd("tests/test_labels.py::test_shout", "failed", "AssertionError: a"),
    ),
)


def prepare(store: Store, root: Path) -> None:
    """Store two proposals: one of a run with tasks, and a newer one."""
    serves = {"h1": ("T1",), "h2": ("T1",), "h3": ("T1",), "h4": ("T2",)}
    renames = {"shop/price.py": "shop/prices.py"}
    apart = propose(store, root, CHANGE, renames, title="Keep the rates apart", serves=serves)
    publish(store, apart.proposal.run_id, "Project Manager", TASKS)
    propose(store, root, LOUD, evidence=SEEN, title="Shout the labels")


@pytest.fixture
def scenario(machine: Path, start_code_server: StartCodeServer) -> Mapping[str, object]:
    """A window on a workspace with the two proposals."""
    root = write_workspace(machine / "work", STARTING)
    address = start_code_server({"rolecall.server.interpreter": sys.executable, "rolecall.tests.run": False}, {})
    store = open_store(machine / "xdg" / "data" / "rolecall" / "rolecall.db")
    prepare(store, root)
    store.close()
    return {"url": f"{address}/?folder={root}", "settings": str(machine / "data" / "User" / "settings.json")}


def test_hunks_of_two_proposals_are_ticked_accepted_at_once_and_taken_back_at_once(
    machine: Path, play: Play, scenario: Mapping[str, object]
) -> None:
    report = play("choosing.mjs", scenario)
    assert "of 2 proposals" in report["asked"]
    is_now = contents(machine / "work")
    assert is_now == {path: text.encode() for path, text in STARTING.items()}, "what was undone is not on disk"


def test_proposals_are_reviewed_by_keys_alone_and_each_thing_to_press_names_its_hunk(
    play: Play, scenario: Mapping[str, object]
) -> None:
    report = play("keyboard.mjs", scenario)
    heard = report["view"]
    for row in (
        'treeitem "adds shout to shop/labels.py (4 lines), h1, waits"',
        'checkbox "Tick p2/h1"',
        'treeitem "shop/old.py, goes · 1 hunk',
        'treeitem "shop/prices.py, from shop/price.py · 2 hunks',
        'treeitem "shop/tax.py, new · 1 hunk',
        'treeitem "Shout the labels, finished',
    ):
        assert row in heard, heard
    named = "p2/h1 adds shout to shop/labels.py (4 lines)"
    assert [one.split(" | ")[1] for one in report["lenses"]] == [named] * 4
    assert all(one.startswith("button") and "h1" in one.split(" | ")[0] for one in report["lenses"])
    assert report["ticked"].startswith("2 ticked")
    assert report["status"].startswith("Rolecall: 5 hunks wait")
