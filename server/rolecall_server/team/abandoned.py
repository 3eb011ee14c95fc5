"""Runs whose process ended without a word: killed, or the machine went down."""

from __future__ import annotations

import psutil

from rolecall_server.store import RunRow, Store

_CLOCK_S = 2.0
"""How far the clock of processes and that of the store may be apart."""


def mark_interrupted_runs(store: Store) -> tuple[str, ...]:
    """The runs that nobody works on any more; they are stored as ``interrupted`` now."""
    abandoned = tuple(run.id for run in store.running() if not _is_at_work(run))
    for run_id in abandoned:
        store.end_run(run_id, "interrupted", "The process that worked on it has ended.")
    return abandoned


def _is_at_work(run: RunRow) -> bool:
    """Whether the process that began *run* is alive; a younger one only has its number."""
    if run.process_id is None:
        return False
    try:
        process = psutil.Process(run.process_id)
        return process.status() != psutil.STATUS_ZOMBIE and process.create_time() <= run.started_at_s + _CLOCK_S
    except psutil.AccessDenied:
        return True
    except psutil.NoSuchProcess:
        return False
