"""`rolecall/usage`: what the models have used today and lately, for a meter in the editor."""

from __future__ import annotations

from typing import Any

from rolecall_server.lsp.server import RolecallServer
from rolecall_server.store.usage import NANOS, Usage, today_s, usage
from rolecall_server.team.model_calls.prices import show_money


async def rolecall_usage(ls: RolecallServer, params: object) -> dict[str, Any]:
    """Return the usage of today (UTC) by all runs, and by each run that is at work; the limits beside it, 0
    for none.
    """
    session = ls.session
    (day,) = usage(session.store, since_s=today_s())
    of_runs = {one.group[0]: one for one in usage(session.store, ["run"])} if session.runs else {}
    budget = session.settings.budget
    limits = {
        "tokensPerRun": budget.tokens_per_run,
        "tokensPerDay": budget.tokens_per_day,
        "moneyPerRun": budget.money_per_run,
        "moneyPerDay": budget.money_per_day,
    }
    runs = [{"runId": run_id, **_counts(of_runs[run_id])} for run_id in session.runs if run_id in of_runs]
    return {"text": _text(day), "day": _counts(day), "runs": runs, "limits": limits}


def _counts(used: Usage) -> dict[str, float]:
    return {"calls": used.n_calls, "tokens": used.tokens, "cost": used.nanos / NANOS}


def _text(day: Usage) -> str:
    """``12,345 tokens today, for 0.12``"""
    return f"{day.tokens:,} tokens today{f', for {show_money(day.nanos)}' if day.nanos else ''}"
