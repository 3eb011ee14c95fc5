"""The review in a real VS Code: proposals read as diffs, decided hunk by hunk, edited before they are accepted.

`ROLECALL_PICTURE=docs/pictures/review.png` has the picture of the README taken anew.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rolecall_server.review.proposals.evidence import CoverageChange, Evidence, Tally
from rolecall_server.store import Store
from support.proposals import propose
from support.stores import open_store
from support.workspaces import FILES, write_workspace

PRICE, CART, TAX = "shop/price.py", "shop/cart.py", "shop/tax.py"
BETTER = (
    FILES[PRICE]
    .replace("    return sum(items)\n", "    return round(sum(items), 2)\n")
    .replace("    return price * (1 - rate)\n", "    return round(price * (1 - rate), 2)\n")
)
TAXED = (
    FILES[CART]
    .replace("    return total(cart)\n", "    return with_tax(total(cart))\n")
    .replace("import total\n", "import total\nfrom shop.tax import with_tax\n")
)
NEW = '''\
"""The tax on a price."""

RATE = 0.19


def with_tax(price):
    """The price and the tax on it."""
    return round(price * (1 + RATE), 2)
'''
CHANGE: dict[str, str | None] = {PRICE: BETTER, CART: TAXED, TAX: NEW}
CHECKED = Evidence(
    ran=True,
    before=Tally(134, 0),
    after=Tally(140, 0),
    coverage=(CoverageChange(PRICE, 0.71, 0.94),),
    confinement="a sandbox without network",
    model="a script",
)


def prepare(machine: Path, store: Store) -> dict[str, Any]:
    """Three workspaces with proposals; a scenario in them at ``ADDRESS``."""
    roots = [write_workspace(machine / name) for name in ("work", "second")]
    for root in roots:
        propose(store, root, CHANGE, evidence=CHECKED, title="Add the tax at checkout")
    before, after = many_functions("n"), many_functions("n + 1")
    roots.append(write_workspace(machine / "many", before))
    propose(store, roots[2], {**after}, evidence=CHECKED, title="Count from one")
    url, second, many = (f"ADDRESS/?folder={root}" for root in roots)
    decided = [f"changes step_0_{n}" for n in range(5)] + [f"changes step_1_{n}" for n in range(5)]
    return {
        "url": url,
        "second": second,
        "many": many,
        "root": str(roots[0]),
        "files": [*CHANGE],
        "decided": decided,
        "picture": os.environ.get("ROLECALL_PICTURE", ""),
    }


def many_functions(returned: str) -> dict[str, str]:
    """40 files of 5 functions each."""
    return {
        f"pack/part_{k:02}.py": "\n\n".join(f"def step_{k}_{n}(n):\n    return {returned}\n" for n in range(5))
        for k in range(40)
    }


def test_a_proposal_is_read_decided_and_edited_in_diffs(
    machine: Path,
    play: Callable[[str, Mapping[str, object]], Mapping[str, Any]],
    start_code_server: Callable[[Mapping[str, object], Mapping[str, str]], str],
) -> None:
    address = start_code_server({"rolecall.server.interpreter": sys.executable, "rolecall.tests.run": False}, {})
    store = open_store(machine / "xdg" / "data" / "rolecall" / "rolecall.db")
    scenario = prepare(machine, store)
    store.close()
    at_address = {
        name: value.replace("ADDRESS", address) if isinstance(value, str) else value for name, value in scenario.items()
    }
    report = play("review.mjs", at_address)
    root = machine / "work"
    assert report["unsaved"] == {PRICE: FILES[PRICE], CART: FILES[CART], TAX: NEW}, "only the new file is on disk"
    assert (root / PRICE).read_text(encoding="utf-8") == FILES[PRICE].replace("sum(items)", "round(sum(items), 2)")
    assert (root / CART).read_text(encoding="utf-8") == TAXED.replace("(cart))\n", "(cart))  # gross\n")
    assert (root / TAX).read_text(encoding="utf-8") == NEW
    assert (machine / "second" / CART).read_text(encoding="utf-8") == FILES[CART], "what would break was not accepted"
    assert not (machine / "second" / TAX).exists()
    print(f"200 hunks opened in {report['opened']} ms, decisions shown in {sorted(report['decided'])} ms")
