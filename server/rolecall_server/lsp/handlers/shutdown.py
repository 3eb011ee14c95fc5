"""`shutdown`: stop what is running; everything worth keeping is in the store."""

from __future__ import annotations

from rolecall_server.lsp.runs import stop_runs
from rolecall_server.lsp.server import RolecallServer


async def shutdown(ls: RolecallServer, params: None) -> None:
    """Cancel the runs and wait for their processes and folders to be gone."""
    await stop_runs(ls.session)
