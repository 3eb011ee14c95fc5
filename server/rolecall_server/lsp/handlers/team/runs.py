"""`rolecall/run/list` and `rolecall/run/tree`: the runs there were, and all that happened in one."""

from __future__ import annotations

import asyncio
from typing import Any

from pygls.exceptions import JsonRpcInvalidParams

from rolecall_server.errors import NotFound
from rolecall_server.lsp.server import RolecallServer
from rolecall_server.lsp.session import Session
from rolecall_server.lsp.untyped import fields_of

_MOST_RUNS = 30


async def run_list(ls: RolecallServer, params: Any) -> dict[str, Any]:
    """Return the latest runs of the opened folders, the newest first."""
    from rolecall_server.team.run_tree import list_runs

    session = ls.session
    rows = [row for root in session.folders for row in session.store.runs(root)]
    listed = await asyncio.to_thread(list_runs, session.store, rows, _MOST_RUNS)
    return {"runs": [_now(session, one) for one in listed]}


async def tree(ls: RolecallServer, params: Any) -> dict[str, Any]:
    """Return the run that `runId` names: its roles' steps, their messages, documents and calls, and what they used."""
    from rolecall_server.lsp.proposals.shown import find_run
    from rolecall_server.team.run_tree import run_tree

    session, run_id = ls.session, fields_of(params).get("runId")
    if not isinstance(run_id, str) or not run_id:
        raise JsonRpcInvalidParams("`runId` names a run.")
    try:
        row = find_run(session, run_id)
    except NotFound as error:
        raise JsonRpcInvalidParams(str(error)) from error
    under_way = session.under_way.get(run_id, ())
    return _now(session, await asyncio.to_thread(run_tree, session.store, row, under_way))


def _now(session: Session, told: dict[str, Any]) -> dict[str, Any]:
    """Return *told* with the latest words on the run, and with the state that it is going to have."""
    control = session.controls.get(told["runId"])
    state = "pausing" if control is not None and control.is_paused else told["state"]
    return {**told, "state": state, "step": session.steps.get(told["runId"], "")}
