"""`workspace/didChangeConfiguration`"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, cast

from lsprotocol import types

from rolecall_server.lsp.navigation import follow_navigation
from rolecall_server.lsp.refreshing import refresh_soon
from rolecall_server.lsp.server import RolecallServer
from rolecall_server.settings import Settings, read_settings


def did_change_configuration(ls: RolecallServer, params: types.DidChangeConfigurationParams) -> None:
    """Take the `rolecall` section; a client that sends none changes nothing, and a problem is told once."""
    section = _section(params.settings)
    if section is None:
        return
    known = ls.session.settings_problems
    ls.session.settings, ls.session.settings_problems = read_settings(section, os.environ)
    for problem in ls.session.settings_problems:
        if problem not in known:
            ls.tell(problem, types.MessageType.Warning)
    ls.later(follow_navigation(ls))
    refresh_soon(ls)


def _section(sent: object) -> Mapping[str, Any] | None:
    """Our section among the settings *sent*, or all of them where a client sends just ours."""
    if not isinstance(sent, Mapping):
        return None
    settings = cast("Mapping[str, Any]", sent)
    if "rolecall" in settings:
        return _section(settings["rolecall"] or None)
    return settings if settings.keys() & Settings.model_fields.keys() else None
