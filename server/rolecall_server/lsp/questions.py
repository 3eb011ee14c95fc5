"""Questions about code: guarded on the event loop, answered by a thread, given up when the editor cancels them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

from rolecall_analysis.languages import language_of
from rolecall_server.errors import FileRefused
from rolecall_server.lsp.folders import begin_scan, latest_snapshot
from rolecall_server.lsp.server import RolecallServer
from rolecall_server.lsp.session import Folder
from rolecall_server.lsp.view import View, take_view
from rolecall_server.settings import NavigationSettings

_PATIENCE_S = 2.0
"""How long after a folder was opened a question waits for its first scan."""

Answer = TypeVar("Answer")


async def ask(ls: RolecallServer, folder: Folder, question: Callable[[View], Answer]) -> Answer:
    """What *question* finds in what is known of *folder* now."""
    view = take_view(ls.session, folder, await latest_snapshot(ls.session, folder))
    return await asyncio.get_running_loop().run_in_executor(ls.thread_pool, question, view)


async def ask_when_read(ls: RolecallServer, folder: Folder, question: Callable[[View], Answer]) -> Answer:
    """As `ask`, for what other files answer: the first scan of a small folder is worth a moment, a long one is not."""
    begin_scan(ls.session, folder)
    patience_s = folder.opened_at_s + _PATIENCE_S - time.monotonic()
    if not folder.ready.done() and patience_s > 0:
        await asyncio.wait([folder.ready], timeout=patience_s)
    return await ask(ls, folder, question)


def known_place(ls: RolecallServer, uri: str) -> tuple[Folder, str] | None:
    """The folder and the path of *uri*; None where it is outside, or in a language that is not asked for."""
    try:
        folder, path = ls.session.place(uri)
    except FileRefused:
        return None
    document = ls.session.documents.get(uri)
    language_id = document.language_id if document else None
    return (folder, path) if is_wanted(ls.session.settings.navigation, path, language_id) else None


def is_wanted(settings: NavigationSettings, path: str, language_id: str | None = None) -> bool:
    """Whether the graph reads *path*, and the settings ask for its language, by its name or as the editor has it."""
    language = language_of(path)
    return language is not None and (
        not settings.languages or not {language, language_id}.isdisjoint(settings.languages)
    )
