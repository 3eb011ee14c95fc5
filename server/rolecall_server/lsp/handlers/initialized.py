"""`initialized`: now the server may speak first."""

from __future__ import annotations

from lsprotocol import types

from rolecall_server.lsp.hunks import show_hunks
from rolecall_server.lsp.navigation import follow_navigation
from rolecall_server.lsp.server import RolecallServer

_WATCHED = "**/*"


async def initialized(ls: RolecallServer, params: types.InitializedParams) -> None:
    """Say what is wrong with settings and store, show what earlier sessions left undecided, ask for file events."""
    for problem in ls.session.settings_problems:
        ls.tell(problem, types.MessageType.Warning)
    for sentence in ls.session.told_first:
        ls.tell(sentence, types.MessageType.Warning)
    if ls.session.store_damage:
        ls.tell(ls.session.store_damage, types.MessageType.Error)
    for folder in ls.session.folders.values():
        show_hunks(ls, folder)
    ls.later(follow_navigation(ls))
    if ls.session.client.watched_files:
        await _watch_files(ls)


async def _watch_files(ls: RolecallServer) -> None:
    watchers = [types.FileSystemWatcher(glob_pattern=_WATCHED)]
    options = types.DidChangeWatchedFilesRegistrationOptions(watchers)
    registration = types.Registration("rolecall-files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
    await ls.client_register_capability_async(types.RegistrationParams([registration]))
