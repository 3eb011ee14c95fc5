"""What commands that were killed left behind, seen to before any other command begins.

This is looked at each time, so nothing is imported before there is something to do.
"""

from __future__ import annotations

import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from rolecall_server.store import open_store, store_path


def remove_leftovers() -> None:
    """Remove temporary folders whose maker has ended."""
    if any(Path(tempfile.gettempdir()).glob("rolecall-*-*")):
        from rolecall_server.sandbox.trees import remove_abandoned_folders

        remove_abandoned_folders()


def finish_what_was_begun() -> tuple[str, ...]:
    """Finish changes of files that a killed command began, in any repository; what was done, a sentence for each."""
    return _finish_changes() if _has_begun() else ()


def _has_begun() -> bool:
    """Return whether the store, where there is one that can be read, has a change of files that has not ended."""
    path = store_path()
    if not path.is_file():
        return False
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
            return connection.execute("SELECT 1 FROM begun").fetchone() is not None
    except sqlite3.Error:
        return False  # what needs the store says what is wrong with it


def _finish_changes() -> tuple[str, ...]:
    from rolecall_server.cli.disk import finish_changes
    from rolecall_server.errors import RolecallError
    from rolecall_server.review.rendering import visible

    try:
        with closing(open_store(store_path())) as store:
            return tuple(map(visible, finish_changes(store)))
    except RolecallError as error:
        return (visible(f"What a command that was ended left cannot be seen to: {error}"),)
