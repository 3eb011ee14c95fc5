"""Rolecall's tools in a real VS Code, called by another extension as an agent of the editor calls them."""

from __future__ import annotations

import json
import sys
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

from support.workspaces import FILES, contents, write_workspace

GUEST = Path(__file__).parent / "guest"
PRICE = "shop/price.py"
DIFF = f"""\
--- a/{PRICE}
+++ b/{PRICE}
@@ -4,3 +4,3 @@
 def total(items):
     \"\"\"The sum of the prices.\"\"\"
-    return sum(items)
+    return round(sum(items), 2)
"""
CALLS = [
    {"name": "rolecall_what_waits", "input": {}},
    {"name": "rolecall_ask_graph", "input": {"question": "callers", "path": PRICE, "symbol": "total"}},
    {"name": "rolecall_propose_edit", "input": {"title": "Round the total", "diff": DIFF}},
    {"name": "rolecall_what_waits", "input": {}},
]


def test_what_an_agent_edits_by_the_tool_is_shown_for_review_and_not_written(
    machine: Path,
    play: Callable[[str, Mapping[str, object]], object],
    start_code_server: Callable[..., str],
) -> None:
    root, answers, package = write_workspace(machine / "work"), machine / "answers.json", machine / "guest.vsix"
    with zipfile.ZipFile(package, "w") as archive:
        for file in GUEST.iterdir():
            archive.write(file, f"extension/{file.name}")
    settings = {
        "rolecall.server.interpreter": sys.executable,
        "rolecall.tests.interpreter": sys.executable,
        "rolecall.model.probeLocal": False,
    }
    environment = {"GUEST_CALLS": json.dumps(CALLS), "GUEST_ANSWERS": str(answers)}
    address = start_code_server(settings, environment, package)
    play("guest.mjs", {"url": f"{address}/?folder={root}", "answers": str(answers)})
    nothing, callers, proposed, waits = json.loads(answers.read_text(encoding="utf-8"))
    assert nothing == "Nothing waits to be decided."
    assert "shop/cart.py:4 checkout (function)" in callers
    assert proposed.startswith("p1: Round the total: 1 hunk in shop/price.py.")
    assert "1 passed, 0 failed" in proposed
    assert "nothing is written until the developer accepts it" in proposed
    assert waits.startswith("p1 by VS Code agent: Round the total")
    assert contents(root) == {path: text.encode() for path, text in FILES.items()}
