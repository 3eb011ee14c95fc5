"""The attempts that runs made at a change, each beside the call whose reply it came from.

What a model was told and what it said is in that call, what was proposed in the run's proposals: none of it is here.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from rolecall_server.store.database import Store, row_number


@dataclass(frozen=True)
class AttemptRow:
    """One attempt as stored."""

    call_id: int
    run_id: str
    step: str
    """The step of the run that it was made in."""
    role: str
    body: str
    at_s: float
    """Seconds since the epoch."""
    reply: str
    """The reply it came from, as JSON."""


def keep_attempt(store: Store, call_id: int, body: str) -> None:
    """Keep how the attempt ended that the reply of a call led to; again for a run that is taken up again."""
    with store.transaction() as connection:
        connection.execute(
            "insert INTO attempt (call_id, body, at) VALUES (?, ?, ?) "
            "ON CONFLICT (call_id) DO UPDATE SET body = excluded.body",
            (call_id, body, time.time()),
        )


def attempts(store: Store, root: Path, *, before: str = "") -> tuple[AttemptRow, ...]:
    """Return the attempts in the workspace at *root*, oldest first; only those of runs *before* one, if it is named."""
    run = row_number(before, "r") if before else None
    rows = store.select(
        "SELECT call_id, run_id, purpose, COALESCE(NULLIF(call.role, ''), run.role), body, attempt.at, reply "
        "FROM attempt JOIN call ON call.id = call_id JOIN run ON run.id = run_id "
        "WHERE root = ? AND (? IS NULL OR run_id < ?) ORDER BY call_id",
        str(root),
        run,
        run,
    )
    return tuple(
        # A purpose is the key of a step and the attempt at it, `KEY#0`.
        AttemptRow(call_id, f"r{number}", purpose.partition("#")[0], role, body, at_s, reply or "")
        for call_id, number, purpose, role, body, at_s, reply in rows
    )


def effort(store: Store, root: Path) -> dict[tuple[str, str], tuple[int, int]]:
    """Return how many calls each step in the workspace at *root* made, and the tokens they took, by run and step."""
    rows = store.select(
        "SELECT call.run_id, purpose, COUNT(*), SUM(tokens) FROM call JOIN ledger USING (id) "
        "JOIN run ON run.id = call.run_id WHERE root = ? GROUP BY call.run_id, purpose",
        str(root),
    )
    found: dict[tuple[str, str], tuple[int, int]] = {}
    for number, purpose, n_calls, tokens in rows:
        key = (f"r{number}", purpose.partition("#")[0])
        calls_before, tokens_before = found.get(key, (0, 0))
        found[key] = (calls_before + n_calls, tokens_before + tokens)
    return found


def forget_attempts(store: Store, call_ids: Collection[int]) -> int:
    """Delete the attempts of these calls, and return how many there were; the log of their runs stays."""
    with store.transaction() as connection:
        return sum(connection.execute("DELETE FROM attempt WHERE call_id = ?", (one,)).rowcount for one in call_ids)
