"""The clean-up of what killed commands left behind, done before any other command begins.

This is looked at each time, so nothing is imported before there is something to do.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from rolecall_server.store import open_store, store_path


def settle_temporary_folder() -> None:
    """Have temporary files made where the environment says, whenever that folder can be written.

    Python would try it out by making a file there, which a kill leaves behind. Where its disk is full it would go on to
    others, of which the last is the current folder: a repository.
    """
    named = next(filter(None, map(os.environ.get, ("TMPDIR", "TEMP", "TMP"))), "/tmp" if os.name == "posix" else "")  # noqa: S108
    if named and os.path.isdir(named) and os.access(named, os.W_OK | os.X_OK):  # noqa: PTH112
        tempfile.tempdir = os.path.abspath(named)  # noqa: PTH100


def remove_leftovers() -> None:
    """Remove temporary folders whose maker has ended."""
    if any(Path(tempfile.gettempdir()).glob("rolecall-*-*")):
        from rolecall_server.sandbox.shadow.trees import remove_abandoned_folders

        remove_abandoned_folders()


def finish_what_was_begun() -> tuple[str, ...]:
    """Finish changes of files that a killed command began, in any repository; what was done, a sentence for each."""
    return _finish_changes() if _has_begun() else ()


def _has_begun() -> bool:
    """Return whether the store, where there is one that can be read, has a change of files that has not ended.

    It is opened for writing: SQLite then takes away what a killed process left beside it, and else adds to that.
    """
    path = store_path()
    if not path.is_file():
        return False
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True)) as connection:
            return connection.execute("SELECT 1 FROM begun").fetchone() is not None
    except sqlite3.Error:
        return False  # what needs the store says what is wrong with it


def _finish_changes() -> tuple[str, ...]:
    from rolecall_server.cli.files.disk import finish_changes
    from rolecall_server.errors import RolecallError
    from rolecall_server.review.proposals.rendering import visible

    try:
        with closing(open_store(store_path())) as store:
            return tuple(map(visible, finish_changes(store)))
    except RolecallError as error:
        return (visible(f"What a command that was ended left cannot be seen to: {error}"),)
