"""What is about to happen to files, stored before anybody changes one, and what was tried: what reviews store."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import psutil

from rolecall_server.store.database import Store, row_number
from rolecall_server.store.rows import BegunRow, LandingRow

_CLOCK_S = 2.0
"""How far the clock of processes and that of the store, or of the file system, may be apart."""


def add_landings(store: Store, root: Path, landings: Collection[LandingRow]) -> tuple[LandingRow, ...]:
    """*landings* with the numbers they got, stored all or none."""
    statement = (
        "insert INTO landing (root, path, proposal_id, brought_in, taken_out, before, after, process_id) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
    )
    with store.transaction() as connection:
        numbers = [
            connection.execute(
                statement,
                (
                    str(root),
                    landing.path,
                    row_number(landing.proposal_id),
                    json.dumps(landing.brought_in),
                    json.dumps(landing.taken_out),
                    landing.before,
                    landing.after,
                    landing.process_id,
                ),
            ).lastrowid
            for landing in landings
        ]
    return tuple(replace(one, id=number or 0) for one, number in zip(landings, numbers, strict=True))


def load_landings(store: Store, root: Path) -> tuple[LandingRow, ...]:
    """The landings kept for the workspace at *root*, oldest first."""
    rows = store.select(
        "SELECT id, path, proposal_id, brought_in, taken_out, before, after, process_id FROM landing "
        "WHERE root = ? ORDER BY id",
        str(root),
    )
    return tuple(
        LandingRow(row_id, path, f"p{number}", tuple(json.loads(a)), tuple(json.loads(b)), *rest)
        for row_id, path, number, a, b, *rest in rows
    )


def claim_landings(store: Store, numbers: Collection[int], process_id: int) -> None:
    """Say that these landings are watched by the process *process_id* now."""
    with store.transaction() as connection:
        connection.executemany("UPDATE landing SET process_id = ? WHERE id = ?", [(process_id, n) for n in numbers])


def forget_landings(store: Store, numbers: Collection[int]) -> None:
    """Drop these landings."""
    with store.transaction() as connection:
        connection.executemany("DELETE FROM landing WHERE id = ?", [(number,) for number in numbers])


def begin_change(store: Store, root: Path, body: str) -> int | None:
    """Say that this process begins to change files below *root*; a number, ``None`` while another change is under way.

    *body* is all it takes to finish that, or to take it back, should the process not come to it.
    """
    with store.transaction() as connection:
        values = (str(root), os.getpid(), time.time(), body)
        cursor = connection.execute(
            "insert OR IGNORE INTO begun (root, process_id, at, body) VALUES (?, ?, ?, ?)", values
        )
        return cursor.lastrowid if cursor.rowcount == 1 else None


def end_change(store: Store, number: int) -> None:
    """Say that a change of files has ended, whole or taken back."""
    with store.transaction() as connection:
        connection.execute("DELETE FROM begun WHERE id = ?", (number,))


def claim_abandoned_changes(store: Store) -> tuple[BegunRow, ...]:
    """Return the changes of files whose process has ended; they are this process's now, and no other's."""
    claimed: list[BegunRow] = []
    for row in (BegunRow(*values) for values in store.select("SELECT id, root, process_id, at, body FROM begun")):
        if not still_runs(row.process_id, row.at_s):
            with store.transaction() as connection:
                cursor = connection.execute(
                    "UPDATE begun SET process_id = ?, at = ? WHERE id = ? AND process_id = ?",
                    (os.getpid(), time.time(), row.id, row.process_id),
                )
            claimed += [row] if cursor.rowcount == 1 else []
    return tuple(claimed)


def still_runs(process_id: int, since_s: float) -> bool:
    """Return whether the process of that number that was there at *since_s* runs; a younger one only has its number."""
    try:
        process = psutil.Process(process_id)
        return process.status() != psutil.STATUS_ZOMBIE and process.create_time() <= since_s + _CLOCK_S
    except psutil.AccessDenied:
        return True
    except psutil.NoSuchProcess:
        return False


def save_trial(store: Store, proposal_id: str, texts: str, hunk_ids: Collection[str], body: str) -> None:
    """Keep what came of trying some hunks of a proposal; *texts* is the fingerprint of what stood in the files."""
    values = (row_number(proposal_id), texts, json.dumps(sorted(hunk_ids)), body, time.time())
    with store.transaction() as connection:
        connection.execute("insert OR REPLACE INTO trial VALUES (?, ?, ?, ?, ?)", values)


def load_trials(store: Store, proposal_id: str) -> tuple[tuple[str, frozenset[str], str], ...]:
    """Return the fingerprint, the hunks and what came of it for each trial of a proposal, oldest first."""
    rows = store.select(
        "SELECT texts, hunks, body FROM trial WHERE proposal_id = ? ORDER BY at", row_number(proposal_id)
    )
    return tuple((texts, frozenset(json.loads(hunks)), body) for texts, hunks, body in rows)
