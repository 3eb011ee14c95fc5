"""Two folders in one window of a real VS Code, in high contrast, by keys alone: review, runs of the team, tests."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from rolecall_server.review.proposals.evidence import Evidence, Tally, TestEnd
from rolecall_server.store import Store
from support.proposals import propose
from support.shop_team import BRIEF, shop_speeches
from support.stores import open_store
from support.team_model import TeamModel
from support.team_run import TeamRun
from support.team_run import play as play_team
from support.workspaces import FILES, write_workspace

PRICE, TESTS = "shop/price.py", "tests/test_price.py"
ROUNDED = FILES[PRICE].replace("sum(items)\n", "round(sum(items), 2)\n")
ADDED = FILES[TESTS] + "\n\ndef test_total_adds():\n    assert total([1, 2]) == 4\n"
SEEN = Evidence(
    ran=True,
    before=Tally(1, 0),
    after=Tally(1, 1),
    tests=(
        TestEnd(f"{TESTS}::test_total_of_nothing", "passed"),
        TestEnd(f"{TESTS}::test_total_adds", "failed", "assert 3 == 4"),
    ),
)


def work_in_both(store: Store, roots: list[Path]) -> None:
    """Leave a proposal of a whole team in the first folder, and one with tests in the second."""
    team, other = roots
    play_team(TeamRun(team, store, TeamModel(shop_speeches())).begin(BRIEF))
    propose(store, other, {PRICE: ROUNDED, TESTS: ADDED}, evidence=SEEN, title="Round the total")


def test_two_folders_are_reviewed_in_high_contrast_by_keys_alone(
    machine: Path,
    play: Callable[[str, Mapping[str, object]], Mapping[str, Any]],
    start_code_server: Callable[[Mapping[str, object], Mapping[str, str]], str],
) -> None:
    roots = [write_workspace(machine / name) for name in ("first", "second")]
    window = machine / "both.code-workspace"
    window.write_text(json.dumps({"folders": [{"path": root.name} for root in roots]}), encoding="utf-8")
    address = start_code_server({"rolecall.server.interpreter": sys.executable, "rolecall.tests.run": False}, {})
    store = open_store(machine / "xdg" / "data" / "rolecall" / "rolecall.db")
    work_in_both(store, roots)
    store.close()
    scenario = {
        "url": f"{address}/?workspace={quote(str(window))}",
        "settings": str(machine / "data" / "User" / "settings.json"),
        "first": {
            "proposal": "p1",
            "title": "p1 · first",
            "about": "Let total() take",
            "hunk": "changes total",
            "left": "7 hunks wait",
        },
        "second": {"proposal": "p2", "title": "Round the total", "hunk": "changes total", "left": "6 hunks wait"},
    }
    report = play("contrast.mjs", scenario)
    first, second = ((root / PRICE).read_text(encoding="utf-8") for root in roots)
    assert "tax=0" in first, "what was accepted in the one folder is on disk there"
    assert second == ROUNDED, "and in the other folder what was accepted in it"
    for said in ("Let total() take a tax rate", "Architect", "m5"):
        assert said in report["runs"], report["runs"]
    assert "test_total_adds (Failed)" in report["tests"], report["tests"]
