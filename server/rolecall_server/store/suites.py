"""The results that runs have shown of a repository's tests: one text for each repository, kept small."""

from __future__ import annotations

import time
import zlib
from pathlib import Path

from rolecall_server.store.database import Store

_MOST_KEPT = 100
"""Repositories; of more, those that were run longest ago are forgotten."""


def save_suite(store: Store, root: Path, body: str) -> None:
    """Keep *body* for the workspace at *root*, in place of what was kept."""
    packed = zlib.compress(body.encode())
    with store.transaction() as connection:
        connection.execute(
            "insert OR REPLACE INTO suite (root, body, at) VALUES (?, ?, ?)", (str(root), packed, time.time())
        )
        connection.execute(
            "DELETE FROM suite WHERE root NOT IN (SELECT root FROM suite ORDER BY at DESC LIMIT ?)", (_MOST_KEPT,)
        )


def suite_of(store: Store, root: Path) -> str:
    """Return what is kept for the workspace at *root*; empty where nothing is, or nothing that can be read."""
    rows = store.select("SELECT body FROM suite WHERE root = ?", str(root))
    try:
        return zlib.decompress(rows[0][0]).decode() if rows else ""
    except (zlib.error, UnicodeDecodeError):
        return ""
