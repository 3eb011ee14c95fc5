"""Settings, files and folders that change while the session lasts."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from typing import Any, cast

from lsprotocol import types

from rolecall_server.errors import FileRefused
from rolecall_server.lsp.folders import files_changed, open_folders
from rolecall_server.lsp.handlers.team.status import STATUS_NOTIFICATION
from rolecall_server.lsp.pages.navigation import follow_navigation
from rolecall_server.lsp.proposals.hunks import clear_hunks, show_hunks, text_changed
from rolecall_server.lsp.proposals.refreshing import refresh_soon
from rolecall_server.lsp.server import RolecallServer
from rolecall_server.lsp.session import Folder
from rolecall_server.lsp.text.documents import folder_paths
from rolecall_server.settings import Settings, read_editor_settings


def did_change_configuration(ls: RolecallServer, params: types.DidChangeConfigurationParams) -> None:
    """Take the `rolecall` section; a client that sends none changes nothing, and a problem is told once."""
    section = _section(params.settings)
    if section is None:
        return
    known = ls.session.settings_problems
    ls.session.settings, ls.session.settings_problems = read_editor_settings(section, os.environ)
    for problem in ls.session.settings_problems:
        if problem not in known:
            ls.tell(problem, types.MessageType.Warning)
    ls.later(follow_navigation(ls))
    refresh_soon(ls)
    ls.notify_client(STATUS_NOTIFICATION, {})


def _section(sent: object) -> Mapping[str, Any] | None:
    """Our section among the settings *sent*, or all of them where a client sends just ours."""
    if not isinstance(sent, Mapping):
        return None
    settings = cast("Mapping[str, Any]", sent)
    if "rolecall" in settings:
        return _section(settings["rolecall"] or None)
    return settings if settings.keys() & Settings.model_fields.keys() else None


def did_change_watched_files(ls: RolecallServer, params: types.DidChangeWatchedFilesParams) -> None:
    """Read again what changed, and see where hunks stand now."""
    changed: dict[str, tuple[Folder, list[str]]] = {}
    for event in params.changes:
        try:
            folder, path = ls.session.place(event.uri)
        except FileRefused:
            continue
        changed.setdefault(str(folder.root), (folder, []))[1].append(path)
    for folder, paths in changed.values():
        files_changed(ls.session, folder, paths)
        for path in paths:
            text_changed(ls, folder, path)


def did_change_workspace_folders(ls: RolecallServer, params: types.DidChangeWorkspaceFoldersParams) -> None:
    """Open the folders that came, forget those that went."""
    for root in folder_paths(removed.uri for removed in params.event.removed):
        closed = ls.session.close_folder(root)
        if closed is not None:
            ls.later(asyncio.to_thread(closed.graph.index.close))
            clear_hunks(ls, closed)
    opened, refused = open_folders(ls.session, (added.uri for added in params.event.added))
    for sentence in refused:
        ls.tell(sentence, types.MessageType.Warning)
    for folder in opened:
        show_hunks(ls, folder)
