"""Files that are renamed, go or come, decided in the diff of a whole proposal in a real VS Code; and the disk then."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from support.proposals import propose
from support.stores import open_store
from support.workspaces import contents, write_workspace

BAG = '"""What somebody carries."""\n\n\ndef weigh(things):\n    return sum(things)\n'
STARTING = {
    "shop/bag.py": BAG,
    "shop/label.py": '"""A label."""\n\nFONT = "serif"\n',
    "shop/old.py": '"""Of the first shop."""\n\nOPEN = False\n',
    "shop/older.py": '"""Of the shop before."""\n\nOPEN = False\n',
    "shop/price.py": '"""Prices."""\n\nRATE = 0.19\n',
}
CHANGE: dict[str, str | None] = {
    "shop/bag.py": None,
    "shop/basket.py": BAG.replace("sum(things)", "round(sum(things), 1)"),
    "shop/label.py": None,
    "shop/sticker.py": STARTING["shop/label.py"],
    "shop/old.py": None,
    "shop/older.py": None,
    "shop/price.py": STARTING["shop/price.py"].replace("0.19", "0.2"),
    "shop/tax.py": '"""The tax on a price."""\n\nTAX = 0.07\n',
}
RENAMES = {"shop/bag.py": "shop/basket.py", "shop/label.py": "shop/sticker.py"}
VERDICTS = {
    "shop/bag.py": "Accept",
    "shop/label.py": "Reject",
    "shop/old.py": "Accept",
    "shop/older.py": "Reject",
    "shop/tax.py": "Accept",
}


def test_files_that_are_renamed_go_or_come_are_decided_in_the_diff_of_all(
    machine: Path,
    play: Callable[[str, Mapping[str, object]], Mapping[str, Any]],
    start_code_server: Callable[[Mapping[str, object], Mapping[str, str]], str],
) -> None:
    root = write_workspace(machine / "work", STARTING)
    address = start_code_server({"rolecall.server.interpreter": sys.executable, "rolecall.tests.run": False}, {})
    store = open_store(machine / "xdg" / "data" / "rolecall" / "rolecall.db")
    proposed = propose(store, root, CHANGE, RENAMES, title="Sort the shelves")
    store.close()
    decisions = [
        {"file": change.renamed_to or change.path, "verdict": VERDICTS[change.path], "hunk": hunk.id}
        for change, hunk in proposed.proposal.hunks()
        if change.path in VERDICTS
    ]
    scenario = {"url": f"{address}/?folder={root}", "decisions": decisions, "last": "price.py"}
    report = play("moved.mjs", scenario)
    expected = {
        "shop/basket.py": CHANGE["shop/basket.py"],
        "shop/label.py": STARTING["shop/label.py"],
        "shop/older.py": STARTING["shop/older.py"],
        "shop/price.py": CHANGE["shop/price.py"],
        "shop/tax.py": CHANGE["shop/tax.py"],
    }
    assert contents(root) == {path: str(text).encode() for path, text in expected.items()}
    heads = {name: "".join(told.split()) for name, told in report["heads"].items()}
    assert heads["shop/basket.py"] == "basket.py/p1/shopRbag.py/p1/shop"
    assert heads["shop/old.py"] == "old.py/p1(goes)/shop"
    assert heads["shop/tax.py"] == "tax.py/p1(new)/shop"
