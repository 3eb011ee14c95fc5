"""Runs whose process ended without a word: killed, or the machine went down."""

from __future__ import annotations

from rolecall_server.processes import still_runs
from rolecall_server.store import Store


def mark_interrupted_runs(store: Store) -> tuple[str, ...]:
    """Store as ``interrupted`` the runs that nobody works on any more; return them."""
    abandoned = tuple(run.id for run in store.running() if run.process is None or not still_runs(run.process))
    for run_id in abandoned:
        store.end_run(run_id, "interrupted", "The process that worked on it has ended.")
    return abandoned
