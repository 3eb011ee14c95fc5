"""Questions to the developer that any editor can ask: a sentence and a few answers to choose from."""

from __future__ import annotations

from collections.abc import Sequence

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from rolecall_server.lsp.server import RolecallServer


async def choose(
    ls: RolecallServer, question: str, answers: Sequence[str], kind: types.MessageType = types.MessageType.Info
) -> str:
    """The one of *answers* that the developer chose; empty where there was no choice, or nobody to ask."""
    actions = [types.MessageActionItem(answer) for answer in answers]
    params = types.ShowMessageRequestParams(kind, f"Rolecall: {question}", actions)
    try:
        chosen = await ls.window_show_message_request_async(params)
    except JsonRpcException:
        return ""
    return chosen.title if chosen is not None else ""
