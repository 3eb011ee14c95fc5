"""`codeAction/resolve`: the command and the diagnostic of an action, once somebody looks at it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

from lsprotocol import types

from rolecall_server.lsp.proposals.hunks import ShownHunk, diagnostic_of, shown_hunks, stale_hunks
from rolecall_server.lsp.server import RolecallServer
from rolecall_server.lsp.session import Session


async def code_action_resolve(ls: RolecallServer, action: types.CodeAction) -> types.CodeAction:
    """Complete *action* with the properties it lacks, and return it; return it as it came where it is none of ours."""
    data = _mapping(action.data)
    command, target = data.get("command"), _mapping(data.get("target"))
    if not isinstance(command, str):
        return action
    action.command = types.Command(action.title, command, arguments=[target])
    if data.get("hasDiagnostic"):
        shown = next(_named(ls.session, target), None)
        action.diagnostics = [diagnostic_of(shown)] if shown is not None else None
    return action


def _mapping(value: object) -> Mapping[str, Any]:
    """Return *value* if it is a JSON object; an empty one otherwise."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _named(session: Session, target: Mapping[str, Any]) -> Iterator[ShownHunk]:
    wanted = (target.get("proposalId"), target.get("hunkId"))
    for folder in session.folders.values():
        for shown in (*shown_hunks(session, folder), *stale_hunks(session, folder)):
            if (shown.reviewed.proposal.id, shown.hunk.id) == wanted:
                yield shown
