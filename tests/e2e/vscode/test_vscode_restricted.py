"""A window that is not trusted, of two folders with odd names: all can be read and decided, nothing of it is run."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from support.proposals import propose
from support.stores import open_store

PRICE = "def total(items):\n    return sum(items)\n"
CALLER = "from preis import total\n\n\ndef {name}(items):\n    return total(items)\n"
LEAVES_A_TRACE = '__import__("pathlib").Path({trace!r}).touch()\n'
ODD = "a b#c %20 ü.py"


def write_root(root: Path, caller: str, trace: Path) -> Path:
    """A folder of a function and its caller, in which everything that is run leaves a trace."""
    (root / ".venv" / "bin").mkdir(parents=True)
    (root / ".vscode").mkdir()
    python = root / ".venv" / "bin" / "python"
    python.write_text(f"#!/bin/sh\ntouch '{trace}'\n", encoding="utf-8")
    python.chmod(0o755)
    settings = {"rolecall.server.interpreter": str(python), "python.defaultInterpreterPath": str(python)}
    (root / ".vscode" / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    for name in ("conftest.py", "sitecustomize.py", "test_it.py"):
        (root / name).write_text(LEAVES_A_TRACE.format(trace=str(trace)), encoding="utf-8")
    (root / "preis.py").write_text(PRICE, encoding="utf-8")
    (root / ODD).write_text(CALLER.format(name=caller), encoding="utf-8")
    return root


def test_in_an_untrusted_window_code_and_proposals_are_read_and_decided_and_nothing_runs(
    machine: Path,
    play: Callable[[str, Mapping[str, object]], Mapping[str, Any]],
    start_code_server: Callable[..., str],
) -> None:
    trace = machine / "trace"
    roots = [
        write_root(machine / name, caller, trace)
        for name, caller in (("Größe #1 100%", "verkauf"), ("second one", "sale"))
    ]
    window = machine / "both.code-workspace"
    window.write_text(json.dumps({"folders": [{"path": root.name} for root in roots]}), encoding="utf-8")
    address = start_code_server({"rolecall.server.interpreter": sys.executable}, {}, trusts=False)
    store = open_store(machine / "xdg" / "data" / "rolecall" / "rolecall.db")
    for root in roots:
        better = (root / ODD).read_text(encoding="utf-8").replace("total(items)\n", "round(total(items), 2)\n")
        propose(store, root, {ODD: better}, title=f"Round in {root.name}")
    store.close()
    play(
        "restricted.mjs",
        {
            "url": f"{address}/?workspace={quote(str(window))}",
            "open": [roots[1].name, "preis.py"],  # both are unfolded: the second is folded up
            "caller": {"name": "verkauf", "file": ODD},
            "accepted": ["p1", "p2"],
        },
    )
    for root in roots:
        assert "round(total(items), 2)" in (root / ODD).read_text(encoding="utf-8")
    assert not trace.exists(), "something of the workspace was run"
