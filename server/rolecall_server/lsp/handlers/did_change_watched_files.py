"""`workspace/didChangeWatchedFiles`: somebody else wrote, created or deleted files."""

from __future__ import annotations

from lsprotocol import types

from rolecall_server.errors import FileRefused
from rolecall_server.lsp.folders import files_changed
from rolecall_server.lsp.hunks import text_changed
from rolecall_server.lsp.server import RolecallServer
from rolecall_server.lsp.session import Folder


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
