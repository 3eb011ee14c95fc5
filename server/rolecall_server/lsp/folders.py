"""Keeping the code graph of a folder current, beside everything else that goes on.

Short documents are read where somebody asks for the graph; everything that takes longer is done by threads, which
in turn leave the reading to worker processes, so that the event loop goes on.
"""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from rolecall_analysis import Problem, Snapshot, WorkersClosed
from rolecall_server.errors import FileRefused
from rolecall_server.lsp.session import Folder, Session, is_short
from rolecall_server.lsp.text.documents import folder_paths
from rolecall_server.workspace import check_can_be_read, is_project

logger = logging.getLogger(__name__)

_BURST_S = 0.05
"""File events that come within this are looked at together: a branch switch sends thousands."""
_REPORT_S = 0.1
_MANY_FILES = 500
"""The collector of garbage, while which no thread goes on, need not look again and again at a graph of so many."""


def open_folders(session: Session, uris: Iterable[str]) -> tuple[list[Folder], list[str]]:
    """Open the folders that the editor names and begin to read them; return them, and sentences about the others.

    A folder that is not opened is none: a file in it brings its own project, as where no folder is open.
    """
    opened: list[Folder] = []
    refused: list[str] = []
    for root in folder_paths(uris):
        try:
            check_can_be_read(root)
        except FileRefused as error:
            refused.append(str(error))
        else:
            opened.append(session.open_folder(root))
            begin_scan(session, opened[-1])
    return opened, refused


def begin_scan(session: Session, folder: Folder) -> None:
    """Start the first scan of *folder*, once."""
    if not folder.graph.scan_begun:
        folder.graph.scan_begun = True
        if folder.guessed and not _is_repository(folder):
            folder.graph.ready.set_result(None)
            return
        _start(session, _scan(session, folder))


def _is_repository(folder: Folder) -> bool:
    """Return whether what lies around the file that brought *folder* belongs to it."""
    try:
        check_can_be_read(folder.root)
    except FileRefused:
        return False
    return is_project(folder.root)


async def current_snapshot(session: Session, folder: Folder) -> Snapshot:
    """Wait until the first scan of *folder* is done and every reported change has been read, and return its
    code graph.
    """
    # All who ask wait for this one future: without the shield, one that is cancelled would cancel it for the others.
    await asyncio.shield(folder.graph.ready)
    while busy := [
        task for task in (folder.graph.reading, folder.graph.refreshing) if task is not None and not task.done()
    ]:
        await asyncio.wait(busy)
    return session.snapshot(folder)


async def latest_snapshot(session: Session, folder: Folder) -> Snapshot:
    """Return the snapshot of *folder* as it is known so far, with its open documents as they are now."""
    while folder.graph.reading is not None and not folder.graph.reading.done():
        await asyncio.wait([folder.graph.reading])
    return session.snapshot(folder)


def document_changed(session: Session, folder: Folder, path: str) -> None:
    """Have the graph see that the document *path* was opened, edited or closed."""
    folder.graph.unseen.add(path)
    document = session.document_at(folder, path)
    # A thread may be giving the graph an older text of the document just now: the new one must come after that.
    is_quick = document is not None and is_short(document) and path not in folder.graph.in_hand
    if not is_quick and (folder.graph.reading is None or folder.graph.reading.done()):
        folder.graph.reading = _start(session, _read_documents(session, folder))


def files_changed(session: Session, folder: Folder, paths: Iterable[str]) -> None:
    """Have the graph see what was created, changed or deleted on disk."""
    folder.graph.changed.update(paths)
    if folder.graph.changed and (folder.graph.refreshing is None or folder.graph.refreshing.done()):
        folder.graph.refreshing = _start(session, _refresh(session, folder))


async def _scan(session: Session, folder: Folder) -> None:
    loop = asyncio.get_running_loop()
    told_at_s = 0.0

    def progress(n_done: int, n_files: int) -> None:
        nonlocal told_at_s
        if loop.time() - told_at_s > _REPORT_S:
            told_at_s = loop.time()
            loop.call_soon_threadsafe(session.report_scan, folder, n_done, n_files)

    try:
        await _in_thread(folder, lambda: folder.graph.index.scan(progress, folder.graph.closed.is_set))
        if len(folder.graph.index.snapshot().files) >= _MANY_FILES:
            gc.freeze()
    finally:
        session.report_scan(folder, None, 0)
        # After a scan that failed as well: else whoever asks would wait for ever.
        if not folder.graph.ready.done():
            folder.graph.ready.set_result(None)


async def _refresh(session: Session, folder: Folder) -> None:
    while folder.graph.changed and not folder.graph.closed.is_set():
        await asyncio.sleep(_BURST_S)
        paths, folder.graph.changed = folder.graph.changed, set()
        await _in_thread(folder, lambda paths=paths: folder.graph.index.refresh(paths))


async def _read_documents(session: Session, folder: Folder) -> None:
    """Read documents until the graph has seen all, the newest text of each."""
    while folder.graph.unseen and not folder.graph.closed.is_set():
        # Taken off before its text is read: a change that comes meanwhile puts it on again.
        path = folder.graph.unseen.pop()
        folder.graph.in_hand.add(path)
        try:
            document = session.document_at(folder, path)
            if document is None:
                await _in_thread(folder, lambda path=path: folder.graph.index.close_document(path))
            else:
                text = document.text
                await _in_thread(folder, lambda path=path, text=text: folder.graph.index.open_document(path, text))
        finally:
            folder.graph.in_hand.discard(path)


async def _in_thread(folder: Folder, work: Callable[[], tuple[Problem, ...] | None]) -> None:
    """Do *work* in a thread. What it reports is logged, once; an error leaves the graph as it was."""
    try:
        problems = await asyncio.to_thread(work)
    except WorkersClosed:
        return  # the server ends
    except Exception:
        logger.exception("The code graph of %s could not be brought up to date.", folder.root)
        return
    for problem in problems or ():
        if problem not in folder.graph.told:
            folder.graph.told.add(problem)
            level = logging.INFO if problem.path else logging.WARNING
            logger.log(level, "%s: %s", problem.path or folder.root, problem.message)


def _start(session: Session, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    task = asyncio.get_running_loop().create_task(work)
    session.background.add(task)
    task.add_done_callback(session.background.discard)
    return task
