"""Reading a folder's code for a command, with a bar on the screen when it takes long."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, RenderableColumn, TimeElapsedColumn

from rolecall_analysis import Index, Snapshot, Workers
from rolecall_analysis.indexing.saved_facts import saved_path
from rolecall_server.cli.screen import Screen, shown
from rolecall_server.errors import FileRefused
from rolecall_server.store import cache_path

PATIENCE_S = 1.0
"""A task that is done sooner needs no bar."""


@dataclass(frozen=True, slots=True)
class IndexedFolder:
    """The code in a folder, and the root from which its modules are imported."""

    root: Path
    """The folder from which its modules are imported: for a package the one that holds it."""
    below: str
    """The folder that was asked for, from the root; empty if it is the root."""
    snapshot: Snapshot

    def path_of(self, path: Path) -> str:
        """Return *path*, which a person typed, as the graph names it.

        Raises:
            FileRefused: it lies outside.
        """
        try:
            return path.resolve().relative_to(self.root).as_posix()
        except ValueError:
            raise FileRefused(f"{path} is not in {self.root}.", "Name a file below the folder.") from None

    def shown(self, path: str) -> str:
        """Return the graph's *path* as seen from the folder that was asked for."""
        return path.removeprefix(f"{self.below}/") if self.below else path


def read_code(folder: Path, messages: Screen) -> IndexedFolder:
    """Return the code in *folder*.

    Raises:
        FileRefused: it is no folder.
    """
    if not folder.is_dir():
        raise FileRefused(f"{folder} is no folder.", "Name the folder of a repository or a package.")
    root, below = package_root(folder.resolve())
    workers = Workers()
    # A package is read from the folder around it, which may hold anything: nothing of that is kept.
    index = Index(root, saved_in=None if below else saved_path(cache_path(), root), workers=workers)
    try:
        with progress_bar(messages, f"reading {folder}") as report:
            if below:
                index.refresh([below])
            else:
                index.scan(report)
        return IndexedFolder(root, below, index.snapshot())
    finally:
        workers.close()
        index.close()


def package_root(folder: Path) -> tuple[Path, str]:
    """Return the folder from which the packages around *folder* are imported, and the path from there to *folder*."""
    root = folder
    while (root / "__init__.py").is_file() and root.parent != root:
        root = root.parent
    return root, "" if root == folder else folder.relative_to(root).as_posix()


@contextmanager
def progress_bar(
    messages: Screen, what: str, patience_s: float = PATIENCE_S
) -> Generator[Callable[[int, int], None], None, None]:
    """Something to tell how many files are done, and of how many; a bar appears when it takes long."""
    started_s = time.monotonic()
    columns = (RenderableColumn(shown(what)), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    progress = Progress(*columns, console=messages, transient=True, disable=not messages.is_terminal)
    task = progress.add_task("")

    def report(n_done: int, n_all: int) -> None:
        if time.monotonic() - started_s >= patience_s:
            progress.start()
        progress.update(task, completed=n_done, total=n_all)

    try:
        yield report
    finally:
        progress.stop()
