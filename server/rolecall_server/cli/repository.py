"""The first step of a command: to find its repository, and load what is known of it."""

from __future__ import annotations

import argparse
import atexit
from functools import partial
from pathlib import Path
from shlex import quote

from rolecall_analysis import Index, Snapshot, Workers
from rolecall_analysis.indexing.saved_facts import saved_path
from rolecall_server.cli.screen import Screen, Waiting, say_prose
from rolecall_server.errors import FileRefused, NotFound
from rolecall_server.review.proposals.edit_journal import take_over
from rolecall_server.review.proposals.proposal_store import Reviewed, load_all, load_proposal, load_undecided, refresh
from rolecall_server.store import Store, cache_path, open_store, store_path
from rolecall_server.team.engine.abandoned import mark_interrupted_runs
from rolecall_server.workspace import Workspace, check_can_be_read, find_root, read_text_or_none


def find_workspace(root: Path | None, near: Path | None = None) -> Workspace:
    """Return the repository at *root*; where none is named, the project around *near* or the current folder.

    Raises:
        FileRefused: *root* is no folder.
    """
    # `find_root` takes a file, and looks at the folders around it.
    found = root or find_root(near if near is not None else Path.cwd() / "anything")
    if not found.is_dir():
        raise FileRefused(f"{found} is no folder.", "Give --root the folder of a repository.")
    return Workspace(found.resolve())


def open_repository(arguments: argparse.Namespace) -> tuple[Store, Workspace]:
    """Return the store and the repository that a command is about, after taking over what killed processes left behind.

    Raises:
        FileRefused: the root is no folder.
        StoreUnavailable: the store cannot be opened.
    """
    at: str = getattr(arguments, "at", None) or ""
    workspace = find_workspace(arguments.root, Path(at.rpartition(":")[0]) if at else None)
    store = open_user_store()
    for sentence in take_over(store, workspace.root, partial(read_text_or_none, workspace)).told:
        say_prose(Screen(stderr=True), sentence, "yellow")
    return store, workspace


def open_user_store() -> Store:
    """Return the user's store, in which runs whose process is gone are interrupted.

    Raises:
        StoreUnavailable: it cannot be opened.
    """
    store = open_until_the_end()
    mark_interrupted_runs(store)
    return store


def open_until_the_end() -> Store:
    """Return the user's store as it is; it is closed when the process, which is there for one command, ends.

    Raises:
        StoreUnavailable: it cannot be opened.
    """
    store = open_store(store_path())
    atexit.register(store.close)
    return store


def proposal_here(store: Store, workspace: Workspace, proposal_id: str) -> Reviewed:
    """Return a proposal for this repository, its hunks placed in the files as they are now.

    Raises:
        NotFound: there is none of that id, or it is for another repository.
    """
    run_id = load_proposal(store, proposal_id).proposal.run_id
    check_is_here(store, workspace, proposal_id, run_id)
    return refreshed(store, workspace, proposal_id)


def check_is_here(store: Store, workspace: Workspace, what: str, run_id: str) -> None:
    """Pass where *what*, which belongs to a run, is for this repository.

    Raises:
        NotFound: it is for another, which is named.
    """
    root = store.root_of_run(run_id)
    if root != workspace.root:
        raise NotFound(f"{what} is for another repository, {root}.", f"Go there, or add --root {quote(str(root))}.")


def proposals_here(store: Store, workspace: Workspace) -> tuple[Reviewed, ...]:
    """Return the proposals for this repository with something left to decide, oldest first."""
    read_text = partial(read_text_or_none, workspace)
    return tuple(refresh(store, reviewed, read_text) for reviewed in load_undecided(store, workspace.root))


def refreshed(store: Store, workspace: Workspace, proposal_id: str) -> Reviewed:
    """Return a proposal with its hunks placed in the files as they are now."""
    return refresh(store, load_proposal(store, proposal_id), partial(read_text_or_none, workspace))


def proposals_of_run(store: Store, workspace: Workspace, run_id: str) -> tuple[Reviewed, ...]:
    """Return the proposals of a run in this repository, the latest first.

    Raises:
        NotFound: there is no such run here.
    """
    if run_id not in {run.id for run in store.runs(workspace.root)}:
        raise NotFound(f"There is no run {run_id} in {workspace.root}.", "`rolecall log` lists those there are.")
    found = [reviewed for reviewed in load_all(store, workspace.root) if reviewed.proposal.run_id == run_id]
    return tuple(refreshed(store, workspace, reviewed.proposal.id) for reviewed in reversed(found))


def read_repository(root: Path, status: Waiting | None = None) -> Snapshot:
    """Return the code graph of the folder; what is known from an earlier time is not read again.

    Raises:
        FileRefused: the folder holds the home directory.
    """
    check_can_be_read(root)

    def report(n_done: int, n_files: int) -> None:
        if status is not None:
            status.tell(f"reading the repository ({n_done:,} of {n_files:,} files)")

    workers = Workers()
    index = Index(root, saved_in=saved_path(cache_path(), root), workers=workers)
    try:
        index.scan(report)
        return index.snapshot()
    finally:
        workers.close()
        index.close()
