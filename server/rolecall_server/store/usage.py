"""The usage of model calls, summed up from the ledger: by day, model, role or run."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from rolecall_server.store.database import Store, row_number

Grouping = Literal["day", "model", "role", "run"]
GROUPINGS: tuple[Grouping, ...] = get_args(Grouping)

DAY_S = 86_400
NANOS = 1_000_000_000

_COLUMNS = {
    "day": "date(at, 'unixepoch')",
    "model": "COALESCE(NULLIF(model, ''), endpoint)",
    "role": "ledger.role",
    "run": "'r' || run_id",
}


@dataclass(frozen=True)
class Usage:
    """The usage of the calls of one group."""

    group: tuple[str, ...]
    """The value of each grouping asked for: a day as ``2026-11-22`` (UTC), a model, a role, a run."""
    n_calls: int
    prompt_tokens: int
    """As the endpoints counted."""
    completion_tokens: int
    set_aside: int
    """Tokens by estimate, of calls that are under way, broke off, or whose endpoint does not count."""
    nanos: int
    """Money, in billionths; what is set aside is in it."""

    @property
    def tokens(self) -> int:
        """Return the tokens that count against the limits."""
        return self.prompt_tokens + self.completion_tokens + self.set_aside


def usage(
    store: Store, by: Sequence[Grouping] = (), *, root: Path | None = None, since_s: float = 0.0
) -> tuple[Usage, ...]:
    """Return the usage, a row for each group; the latest first where *by* begins with days or runs.

    One row for everything where *by* is empty, also if nothing was used. *root* narrows it to one workspace.
    """
    keys = [_COLUMNS[each] for each in by]
    sums = (
        "COUNT(*), COALESCE(SUM(prompt_tokens), 0), COALESCE(SUM(completion_tokens), 0), "
        "COALESCE(SUM(tokens - COALESCE(prompt_tokens + completion_tokens, 0)), 0), COALESCE(SUM(nanos), 0)"
    )
    order = f" GROUP BY {', '.join(keys)} ORDER BY MAX(ledger.id) DESC" if keys else ""
    statement = (
        f"SELECT {', '.join([*keys, sums])} FROM ledger JOIN run ON run.id = run_id "  # noqa: S608 - names are ours
        f"WHERE at >= ? AND (? IS NULL OR root = ?){order}"
    )
    where = None if root is None else str(root)
    with store.transaction() as connection:
        rows = connection.execute(statement, (since_s, where, where)).fetchall()
    n = len(keys)
    return tuple(Usage(tuple(row[:n]), *row[n:]) for row in rows)


def today_s() -> float:
    """Return the time when the day began, UTC, in seconds since the epoch."""
    now = time.time()
    return now - now % DAY_S


def ratios(store: Store, endpoint: str, n: int, *, before: str = "") -> tuple[float, ...]:
    """Return the tokens that *endpoint* counted for each that was estimated, for the latest *n* prompts that are long
    enough; of the runs *before* one, where it is named.
    """
    run = row_number(before, "r") if before else None
    statement = (
        "SELECT CAST(prompt_tokens AS REAL) / estimated FROM ledger WHERE endpoint = ? AND prompt_tokens > 0 "
        "AND estimated >= ? AND (? IS NULL OR run_id < ?) ORDER BY id DESC LIMIT ?"
    )
    with store.transaction() as connection:
        return tuple(ratio for (ratio,) in connection.execute(statement, (endpoint, _MIN_ESTIMATED, run, run, n)))


def replies(store: Store, role: str, kind: str, endpoint: str, n: int) -> tuple[int, ...]:
    """Return the tokens of the latest *n* replies of *endpoint* to *role* in calls of that *kind*."""
    statement = (
        "SELECT completion_tokens FROM call WHERE role = ? AND kind = ? AND endpoint = ? AND completion_tokens > 0 "
        "ORDER BY id DESC LIMIT ?"
    )
    return tuple(tokens for (tokens,) in store.select(statement, role, kind, endpoint, n))


@dataclass(frozen=True)
class Taken:
    """The calls that one piece of work of a role took, and what they sent and received."""

    calls: float
    sent: float
    received: float


def taken(store: Store, role: str, kind: str, n: int) -> tuple[Taken, ...]:
    """Return what the latest *n* pieces of work of that *kind* took a role, as far as endpoints counted."""
    statement = (
        "SELECT COUNT(*), SUM(prompt_tokens), SUM(completion_tokens) FROM call "
        "WHERE role = ? AND kind = ? AND prompt_tokens > 0 GROUP BY run_id, purpose ORDER BY MAX(id) DESC LIMIT ?"
    )
    return tuple(Taken(*row) for row in store.select(statement, role, kind, n))


def used_by(store: Store, run_id: str, step: str) -> tuple[int, int, int]:
    """Return how many calls a step has made, the tokens of those that have ended, and about how many others sent."""
    has_ended = "(reply IS NOT NULL OR error != '')"
    statement = (
        f"SELECT COUNT(*), COALESCE(SUM(CASE WHEN {has_ended} THEN tokens END), 0), "  # noqa: S608 - ours
        f"COALESCE(SUM(CASE WHEN NOT {has_ended} THEN call.estimated END), 0) "
        "FROM call JOIN ledger USING (id) WHERE call.run_id = ? AND purpose LIKE ?"
    )
    ((n_calls, tokens, sent),) = store.select(statement, row_number(run_id, "r"), f"{step}#%")
    return n_calls, tokens, sent


def tokens_by_run(store: Store) -> dict[str, int]:
    """Return the tokens that each run has used; what is set aside for replies that have not come is not among them."""
    statement = "SELECT call.run_id, SUM(tokens) FROM call JOIN ledger USING (id) WHERE reply IS NOT NULL GROUP BY 1"
    return {f"r{number}": tokens for number, tokens in store.select(statement)}


@dataclass(frozen=True)
class CallInShort:
    """One model call without its words."""

    number: int
    """From 1, within the run."""
    purpose: str
    """The step it was made for, and the attempt at it: ``KEY#0``; empty where it was made for none."""
    role: str
    model: str
    """Who answered; empty where nobody did."""
    at_s: float
    error: str
    state: str
    """``working``, ``done`` or ``failed``."""
    tokens: int
    """As they were counted, or estimated of a reply that came; 0 where none did."""
    set_aside: int
    """The tokens set aside for a reply that has not come."""
    nanos: int
    """Money, in billionths, for those tokens."""


def calls_in_short(store: Store, run_id: str) -> tuple[CallInShort, ...]:
    """Return the model calls of a run, in order."""
    statement = (
        "SELECT purpose, ledger.role, call.model, call.at, error, reply IS NOT NULL, tokens, nanos "
        "FROM call JOIN ledger USING (id) WHERE call.run_id = ? ORDER BY id"
    )
    rows = store.select(statement, row_number(run_id, "r"))
    return tuple(_in_short(number, row) for number, row in enumerate(rows, 1))


def _in_short(number: int, row: tuple[str, str, str, float, str, int, int, int]) -> CallInShort:
    purpose, role, model, at_s, error, came, tokens, nanos = row
    state = "done" if came else "failed" if error else "working"
    used, held, paid = (tokens, 0, nanos) if came else (0, tokens, 0)
    return CallInShort(number, purpose, role, model, at_s, error, state, used, held, paid)


_MIN_ESTIMATED = 200
"""In shorter prompts, what an endpoint puts around messages outweighs the text."""
