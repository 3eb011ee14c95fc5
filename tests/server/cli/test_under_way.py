"""The line of a step under way."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

from rolecall_server.cli.deciding.under_way import UnderWay
from rolecall_server.cli.screen import Screen
from rolecall_server.store import Asking, Caps
from rolecall_server.team.plan.steps import Step
from support.stores import open_store


def test_tokens_that_were_sent_are_shown_before_the_first_call_has_ended(tmp_path: Path) -> None:
    store = open_store(tmp_path / "rolecall.db")
    run = store.add_run(tmp_path, "team", "", "")
    shown = UnderWay(Screen(record=True, width=100), store, run, 1.0)
    shown.note_steps([cast("Step", SimpleNamespace(label="Engineer T1", key="k"))])
    assert line_of(shown).endswith("0 calls  0 tokens")
    asking = Asking(role="engineer", estimated=1_200)
    call = store.reserve_call(run, "[]", 20_000, Caps(), asking=asking, purpose="k#0")
    assert line_of(shown).endswith("1 call  ~1,200 tokens")
    assert call is not None
    store.end_call(call, "{}", tokens=(1_000, 50))
    assert line_of(shown).endswith("1 call  1,050 tokens")


def line_of(shown: UnderWay) -> str:
    shown.screen.print(shown.lines())
    return shown.screen.export_text().strip()
