"""Runs whose process ended without a word: killed, or the machine went down."""

from __future__ import annotations

from rolecall_server.store import RunRow, Store
from rolecall_server.store.landings import still_runs


def mark_interrupted_runs(store: Store) -> tuple[str, ...]:
    """The runs that nobody works on any more; they are stored as ``interrupted`` now."""
    abandoned = tuple(run.id for run in store.running() if not _is_at_work(run))
    for run_id in abandoned:
        store.end_run(run_id, "interrupted", "The process that worked on it has ended.")
    return abandoned


def _is_at_work(run: RunRow) -> bool:
    """Whether the process that began *run* is alive; a younger one only has its number."""
    return run.process_id is not None and still_runs(run.process_id, run.started_at_s)
