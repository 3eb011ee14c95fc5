"""`workspace/didChangeConfiguration`"""

from __future__ import annotations

import os
from typing import Any

from lsprotocol import types

from rolecall_server.lsp.server import RolecallServer
from rolecall_server.settings import read_settings


def did_change_configuration(ls: RolecallServer, params: types.DidChangeConfigurationParams) -> None:
    """Take the `rolecall` section; a client that sends no settings changes none."""
    sent: Any = params.settings
    if isinstance(sent, dict) and isinstance(section := sent.get("rolecall", sent), dict):  # pyright: ignore
        ls.session.settings, problems = read_settings(section, os.environ)  # pyright: ignore
        for problem in problems:
            ls.tell(problem, types.MessageType.Warning)
