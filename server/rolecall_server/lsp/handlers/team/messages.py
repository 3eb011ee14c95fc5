"""`rolecall/messages`: who of the team published what in a run, because of what, and who read it."""

from __future__ import annotations

from typing import Any

from pygls.exceptions import JsonRpcInvalidParams

from rolecall_server.errors import NotFound
from rolecall_server.lsp.server import RolecallServer
from rolecall_server.lsp.untyped import fields_of


def messages(ls: RolecallServer, params: Any) -> dict[str, Any]:
    """Return the messages of the run that `runId` names, in order."""
    from rolecall_server.lsp.runs.running import describe_run

    run_id = fields_of(params).get("runId")
    if not isinstance(run_id, str):
        raise JsonRpcInvalidParams("`runId` names a run.")
    try:
        return describe_run(ls.session, run_id)
    except NotFound as error:
        raise JsonRpcInvalidParams(str(error)) from error
