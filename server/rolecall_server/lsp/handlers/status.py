"""`rolecall/status`: which model answers and why."""

from __future__ import annotations

import os
from typing import Any

from rolecall_server.lsp.editor_model import editor_offer
from rolecall_server.lsp.server import RolecallServer
from rolecall_server.team.checkup import Circumstances, check_model

STATUS_REQUEST = "rolecall/status"


async def status(ls: RolecallServer, params: Any) -> dict[str, Any]:
    """The model as it stands; no model is asked anything for it."""
    session = ls.session
    root = next(iter(session.folders), session.scratch)
    around = Circumstances(root, session.settings, os.environ, session.store, editor_offer(ls))
    model = await check_model(around, ask=False)
    return {
        "model": {"state": model.state, "what": model.what, "nextStep": model.next_step, **model.facts},
        "runs": list(session.runs),
    }
