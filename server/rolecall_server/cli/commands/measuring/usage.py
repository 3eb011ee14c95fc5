"""`rolecall usage`: what the models have used, summed up from the ledger."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from rich.table import Table

from rolecall_server.cli.boundary import exit_code_of
from rolecall_server.cli.repository import find_workspace, open_user_store
from rolecall_server.cli.screen import print_json, say, wide_screen
from rolecall_server.errors import UserMustAct
from rolecall_server.store.usage import DAY_S, GROUPINGS, NANOS, Grouping, Usage, today_s, usage
from rolecall_server.team.model_calls.prices import show_money
from rolecall_server.team.request import title_of


def run_usage(arguments: argparse.Namespace) -> int:
    """Carry out `rolecall usage`; the exit code."""
    return exit_code_of(lambda: _usage(arguments), as_json=arguments.json, cancelled="Cancelled.")


def _usage(arguments: argparse.Namespace) -> int:
    by = _groupings(arguments.by)
    since_s = today_s() - (arguments.days - 1) * DAY_S if arguments.days else 0.0
    root = find_workspace(arguments.root).root if arguments.root else None
    store = open_user_store()
    rows = usage(store, by, root=root, since_s=since_s)
    (total,) = usage(store, root=root, since_s=since_s)
    if arguments.json:
        print_json({"by": list(by), "rows": [_row_json(by, row) for row in rows], "total": _row_json((), total)})
    else:
        _print(by, rows, total)
    return 0


def _groupings(text: str) -> tuple[Grouping, ...]:
    """Return the groupings that *text* names.

    Raises:
        UserMustAct: one of them is none.
    """
    asked = [name.strip() for name in text.split(",") if name.strip()]
    wrong = [name for name in asked if name not in GROUPINGS]
    if wrong:
        raise UserMustAct(f"Usage cannot be told by {', '.join(wrong)}.", f"Choose among {', '.join(GROUPINGS)}.")
    return tuple(each for name in dict.fromkeys(asked) for each in GROUPINGS if each == name)


def _row_json(by: Sequence[Grouping], row: Usage) -> dict[str, object]:
    return {
        **dict(zip(by, row.group, strict=True)),
        "calls": row.n_calls,
        "promptTokens": row.prompt_tokens,
        "completionTokens": row.completion_tokens,
        "setAside": row.set_aside,
        "tokens": row.tokens,
        "cost": row.nanos / NANOS,
    }


def _print(by: Sequence[Grouping], rows: Sequence[Usage], total: Usage) -> None:
    screen = wide_screen()
    if not total.n_calls:
        say(screen, "No model was asked yet.")
        return
    has_money = total.nanos > 0
    table = Table(*by, box=None, pad_edge=False)
    for name in ("calls", "sent", "received", "set aside", "tokens", *(["cost"] if has_money else [])):
        table.add_column(name, justify="right")
    for row in rows:
        named = (title_of(value) if key == "role" else value for key, value in zip(by, row.group, strict=True))
        table.add_row(*named, *_figures(row, has_money=has_money))
    if by:
        table.add_section()
        table.add_row("all", *[""] * (len(by) - 1), *_figures(total, has_money=has_money), style="bold")
    screen.print(table)
    if total.set_aside:
        say(screen, "Set aside: for calls under way, broken off, or at endpoints that do not count.", "dim")


def _figures(row: Usage, *, has_money: bool) -> list[str]:
    counts = (row.n_calls, row.prompt_tokens, row.completion_tokens, row.set_aside, row.tokens)
    return [f"{count:,}" for count in counts] + ([show_money(row.nanos)] if has_money else [])
