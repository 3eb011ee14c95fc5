"""From `initialize` to `shutdown`; and `window/workDoneProgress/cancel`, by which a developer ends one run."""

from __future__ import annotations

import asyncio
import os

from lsprotocol import types

from rolecall_server.lsp.client import read_client
from rolecall_server.lsp.folders import open_folders
from rolecall_server.lsp.pages.navigation import announce_navigation, follow_navigation
from rolecall_server.lsp.server import RolecallServer
from rolecall_server.lsp.text.positions import choose_encoding
from rolecall_server.settings import read_editor_settings


def initialize(ls: RolecallServer, params: types.InitializeParams) -> None:
    """Fill the session from what the client says of itself."""
    session = ls.session
    name = params.client_info.name if params.client_info else ""
    session.client = read_client(params.capabilities, choose_encoding(params.capabilities), name)
    session.settings, session.settings_problems = read_editor_settings(params.initialization_options, os.environ)
    uris = [folder.uri for folder in params.workspace_folders or ()]
    if not uris and params.root_uri:
        uris = [params.root_uri]
    _, refused = open_folders(session, uris)
    session.told_first = (*session.told_first, *refused)
    announce_navigation(ls)
    if ls.once_answered is not None:
        ls.later(ls.once_answered())


_WATCHED = "**/*"


async def initialized(ls: RolecallServer, params: types.InitializedParams) -> None:
    """Say what is wrong with settings and store, show what earlier sessions left undecided, ask for file events."""
    from rolecall_server.lsp.proposals.hunks import show_hunks  # a tenth of the start; `initialize` is answered without

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


def progress_cancel(ls: RolecallServer, params: types.WorkDoneProgressCancelParams) -> None:
    """Stop the run that the progress belongs to, if it is still running."""
    run_id = ls.session.progress.get(str(params.token), "")
    task = ls.session.runs.get(run_id)
    if task is not None:
        task.cancel()


async def shutdown(ls: RolecallServer, params: None) -> None:
    """Cancel the runs, and wait for their processes and folders, and those of the code graph, to be gone."""
    await ls.session.stop_runs()
    await asyncio.to_thread(ls.session.close)
