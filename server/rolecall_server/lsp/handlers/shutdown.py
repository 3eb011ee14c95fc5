"""`shutdown`: stop what is running; everything worth keeping is in the store."""

from __future__ import annotations

import asyncio

from rolecall_server.lsp.runs import stop_runs
from rolecall_server.lsp.server import RolecallServer


async def shutdown(ls: RolecallServer, params: None) -> None:
    """Cancel the runs, and wait for their processes and folders, and those of the code graph, to be gone."""
    await stop_runs(ls.session)
    await asyncio.to_thread(ls.session.close)
