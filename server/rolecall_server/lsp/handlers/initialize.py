"""`initialize`: the settings, the client's abilities, the folders."""

from __future__ import annotations

import os

from lsprotocol import types

from rolecall_server.lsp.documents import file_path
from rolecall_server.lsp.folders import begin_scan
from rolecall_server.lsp.navigation import announce_navigation
from rolecall_server.lsp.positions import choose_encoding
from rolecall_server.lsp.server import RolecallServer
from rolecall_server.lsp.session import read_client
from rolecall_server.settings import read_settings


def initialize(ls: RolecallServer, params: types.InitializeParams) -> None:
    """Fill the session from what the client says of itself."""
    session = ls.session
    name = params.client_info.name if params.client_info else ""
    session.client = read_client(params.capabilities, choose_encoding(params.capabilities), name)
    session.settings, session.settings_problems = read_settings(params.initialization_options, os.environ)
    uris = [folder.uri for folder in params.workspace_folders or ()]
    if not uris and params.root_uri:
        uris = [params.root_uri]
    for uri in uris:
        if uri.startswith("file:"):
            begin_scan(session, session.open_folder(file_path(uri)))
    announce_navigation(ls)
