"""The data that reviews store: what is about to happen to files, before anybody changes one, and what was tried."""

from __future__ import annotations

import json
import time
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from rolecall_server.processes import ProcessId, still_runs, this_process
from rolecall_server.store.database import Store, row_number
from rolecall_server.store.rows import BegunRow, LandingRow


def add_landings(store: Store, root: Path, landings: Collection[LandingRow]) -> tuple[LandingRow, ...]:
    """Store *landings*, all or none, and return them with the numbers they got."""
    statement = (
        "insert INTO landing (root, path, proposal_id, brought_in, taken_out, before, after, process_id, "
        "process_start) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
    )
    with store.transaction() as connection:
        numbers = [
            connection.execute(
                statement,
                (
                    str(root),
                    landing.path,
                    row_number(landing.proposal_id, "p"),
                    json.dumps(landing.brought_in),
                    json.dumps(landing.taken_out),
                    landing.before,
                    landing.after,
                    *landing.process,
                ),
            ).lastrowid
            for landing in landings
        ]
    return tuple(replace(one, id=number or 0) for one, number in zip(landings, numbers, strict=True))


def load_landings(store: Store, root: Path) -> tuple[LandingRow, ...]:
    """Return the landings kept for the workspace at *root*, oldest first."""
    rows = store.select(
        "SELECT id, path, proposal_id, brought_in, taken_out, before, after, process_id, process_start FROM landing "
        "WHERE root = ? ORDER BY id",
        str(root),
    )
    return tuple(
        LandingRow(row_id, path, f"p{number}", tuple(json.loads(a)), tuple(json.loads(b)), x, y, ProcessId(*process))
        for row_id, path, number, a, b, x, y, *process in rows
    )


def claim_landings(store: Store, numbers: Collection[int]) -> None:
    """Say that these landings are watched by this process now."""
    claim = "UPDATE landing SET process_id = ?, process_start = ? WHERE id = ?"
    with store.transaction() as connection:
        connection.executemany(claim, [(*this_process(), number) for number in numbers])


def forget_landings(store: Store, numbers: Collection[int]) -> None:
    """Drop these landings."""
    with store.transaction() as connection:
        connection.executemany("DELETE FROM landing WHERE id = ?", [(number,) for number in numbers])


def begin_change(store: Store, root: Path, body: str) -> int | None:
    """Say that this process begins to change files below *root*; a number, ``None`` while another change is under way.

    *body* is all it takes to finish that, or to take it back, should the process not come to it.
    """
    with store.transaction() as connection:
        values = (str(root), *this_process(), time.time(), body)
        # A folder has one row at most: while another change is under way, this adds none.
        cursor = connection.execute(
            "insert OR IGNORE INTO begun (root, process_id, process_start, at, body) VALUES (?, ?, ?, ?, ?)", values
        )
        return cursor.lastrowid if cursor.rowcount == 1 else None


def end_change(store: Store, number: int) -> None:
    """Say that a change of files has ended, whole or taken back."""
    with store.transaction() as connection:
        connection.execute("DELETE FROM begun WHERE id = ?", (number,))


def claim_abandoned_changes(store: Store) -> tuple[BegunRow, ...]:
    """Return the changes of files whose process has ended; they are this process's now, and no other's."""
    rows = store.select("SELECT id, root, body, process_id, process_start FROM begun")
    # `IS`, because the start of a process may be NULL, to which nothing is equal.
    claim = "UPDATE begun SET process_id = ?, process_start = ? WHERE id = ? AND (process_id, process_start) IS (?, ?)"
    claimed: list[BegunRow] = []
    for number, root, body, *maker in rows:
        if not still_runs(ProcessId(*maker)):
            with store.transaction() as connection:
                cursor = connection.execute(claim, (*this_process(), number, *maker))
            claimed += [BegunRow(number, root, body)] if cursor.rowcount == 1 else []
    return tuple(claimed)


def save_trial(store: Store, proposal_id: str, texts: str, hunk_ids: Collection[str], body: str) -> None:
    """Keep what came of trying some hunks of a proposal; *texts* is the fingerprint of what stood in the files."""
    values = (row_number(proposal_id, "p"), texts, json.dumps(sorted(hunk_ids)), body, time.time())
    with store.transaction() as connection:
        connection.execute("insert OR REPLACE INTO trial VALUES (?, ?, ?, ?, ?)", values)


def load_trials(store: Store, proposal_id: str) -> tuple[tuple[str, frozenset[str], str], ...]:
    """Return the fingerprint, the hunks and what came of it for each trial of a proposal, oldest first."""
    rows = store.select(
        "SELECT texts, hunks, body FROM trial WHERE proposal_id = ? ORDER BY at", row_number(proposal_id, "p")
    )
    return tuple((texts, frozenset(json.loads(hunks)), body) for texts, hunks, body in rows)
