"""Working on while a run does, in a real VS Code: nothing takes the focus, and what was killed can go on."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rolecall_server.team.plan.planning import begin_run
from rolecall_server.team.request import RoleName, RunRequest
from support.chat_server import MODEL, ChatServer
from support.edits import block
from support.patience import PATIENCE_S
from support.stores import open_store
from support.workspaces import write_workspace

PRICE = "shop/price.py"
BRIEF, OTHER = "Round the total.", "Round the discount."
ROUNDED = block(PRICE, "    return sum(items)\n", "    return round(sum(items), 2)\n")
DISCOUNTED = block(PRICE, "    return price * (1 - rate)\n", "    return round(price * (1 - rate), 2)\n")


def killed_run(machine: Path, root: Path) -> None:
    """Store a run of the Engineer whose process is gone."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    store = open_store(machine / "xdg" / "data" / "rolecall" / "rolecall.db")
    begin_run(store, root, RunRequest(RoleName.ENGINEER, PRICE, "", BRIEF))
    store.connection.execute("UPDATE run SET process_id = ?", (gone.pid,))
    store.connection.commit()
    store.close()


def test_a_killed_run_goes_on_and_what_runs_propose_takes_the_focus_from_nobody(
    machine: Path,
    play: Callable[[str, Mapping[str, object]], Mapping[str, Any]],
    start_code_server: Callable[[Mapping[str, object], Mapping[str, str]], str],
) -> None:
    root, signs = write_workspace(machine / "work"), machine / "signs"
    signs.mkdir()

    def answer(body: Mapping[str, Any]) -> str:
        told = "\n".join(str(one["content"]) for one in body["messages"])
        sign, said = (signs / "second", DISCOUNTED) if OTHER in told else (signs / "first", ROUNDED)
        deadline = time.monotonic() + PATIENCE_S
        while not sign.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        return said

    with ChatServer(answer) as model:
        settings = {
            "rolecall.server.interpreter": sys.executable,
            "rolecall.tests.run": False,
            "rolecall.model.baseUrl": model.base_url,
            "rolecall.model.name": MODEL,
        }
        address = start_code_server(settings, {})
        killed_run(machine, root)
        report = play(
            "working.mjs",
            {
                "url": f"{address}/?folder={root}",
                "open": PRICE.split("/"),
                "brief": BRIEF,
                "other": OTHER,
                "signs": str(signs),
            },
        )
    assert report == {"kept": True, "typed": '# one line"""Prices."""'}
