"""Reading a folder into the code graph, beside everything else that goes on."""

from __future__ import annotations

import asyncio
import logging

from rolecall_analysis import Snapshot
from rolecall_server.lsp.session import Folder, Session
from rolecall_server.workspace import is_project

logger = logging.getLogger(__name__)


def begin_scan(session: Session, folder: Folder) -> None:
    """Start the first scan of *folder*, once."""
    if not folder.scan_begun:
        folder.scan_begun = True
        if folder.guessed and not is_project(folder.root):
            folder.ready.set_result(None)  # a lone file, perhaps in a home folder: what lies around it is no repository
            return
        task = asyncio.get_running_loop().create_task(_scan(folder))
        session.background.add(task)
        task.add_done_callback(session.background.discard)


async def current_snapshot(session: Session, folder: Folder) -> Snapshot:
    """The code graph of *folder*, once its first scan is done."""
    await asyncio.shield(folder.ready)
    return session.snapshot(folder)


async def _scan(folder: Folder) -> None:
    try:
        problems = await asyncio.to_thread(folder.index.scan)
        for problem in problems:
            logger.info("%s: %s", problem.path, problem.message)
    except Exception:
        logger.exception("The scan of %s failed; the code graph holds open files only.", folder.root)
    finally:
        if not folder.ready.done():
            folder.ready.set_result(None)
