"""What is about to happen to files, stored before an editor is asked, and what was tried: what reviews store."""

from __future__ import annotations

import json
import time
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from rolecall_server.store.database import Store, row_number
from rolecall_server.store.rows import LandingRow


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
