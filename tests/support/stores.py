"""The stores that a test opens in this process; each is closed when the test is over."""

from __future__ import annotations

import contextlib
from pathlib import Path

from rolecall_server import store

_opened = contextlib.ExitStack()


def open_store(path: Path) -> store.Store:
    """Return the store at *path*, open for as long as the test runs."""
    opened = store.open_store(path)
    _opened.callback(opened.close)
    return opened


def close_stores() -> None:
    """Close the stores that are still open."""
    _opened.close()
