"""`window/workDoneProgress/cancel`: the developer pressed Cancel."""

from __future__ import annotations

from lsprotocol import types

from rolecall_server.lsp.server import RolecallServer


def progress_cancel(ls: RolecallServer, params: types.WorkDoneProgressCancelParams) -> None:
    """Stop the run that the progress belongs to, if it is still running."""
    run_id = ls.session.progress.get(str(params.token), "")
    task = ls.session.runs.get(run_id)
    if task is not None:
        task.cancel()
