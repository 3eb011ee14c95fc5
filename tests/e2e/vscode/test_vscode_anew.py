"""Hunks made anew in a real VS Code: as the developer says in the box of a lens, and in an answer below a hunk."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from support.chat_server import MODEL, ChatServer
from support.edits import block
from support.workspaces import FILES, write_workspace

PRICE = "shop/price.py"
SUM, LESS = "    return sum(items)\n", "    return price * (1 - rate)\n"
SUM_RAISED, LESS_RAISED = "    return sum(items) * 1.2\n", "    return price * (1.2 - rate)\n"
RAISED = block(PRICE, SUM, SUM_RAISED) + block(PRICE, LESS, LESS_RAISED)
FIRST = {"says": "The tax is 19 per cent.", "line": "sum(items) * 1.19"}
SECOND = {"says": "Callers want whole cents.", "line": "round(price * (1.2 - rate), 2)"}


def answer(body: Mapping[str, Any]) -> str:
    """A model that does what the latest words of the developer ask for, in the file as it was proposed.

    The second request also tells why the first hunk was turned down.
    """
    told = "\n".join(str(one["content"]) for one in body["messages"])
    if SECOND["says"] in told:
        return block(PRICE, LESS_RAISED, f"    return {SECOND['line']}\n")
    if FIRST["says"] in told:
        return block(PRICE, SUM_RAISED, f"    return {FIRST['line']}\n")
    return RAISED


def test_a_hunk_is_made_anew_as_the_developer_says_in_a_lens_or_in_an_answer_below_it(
    machine: Path,
    play: Callable[[str, Mapping[str, object]], object],
    start_code_server: Callable[[Mapping[str, object], Mapping[str, str]], str],
) -> None:
    root = write_workspace(machine / "work")
    with ChatServer(answer) as model:
        settings = {
            "rolecall.server.interpreter": sys.executable,
            "rolecall.tests.run": False,
            "rolecall.model.baseUrl": model.base_url,
            "rolecall.model.name": MODEL,
        }
        address = start_code_server(settings, {})
        scenario = {"brief": "Raise the price.", "first": FIRST, "second": SECOND}
        play("anew.mjs", {"url": f"{address}/?folder={root}", **scenario})
    anew = FILES[PRICE].replace(SUM, f"    return {FIRST['line']}\n").replace(LESS, f"    return {SECOND['line']}\n")
    assert (root / PRICE).read_text(encoding="utf-8") == anew
