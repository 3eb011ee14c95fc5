"""`rolecall/status`: which model answers and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rolecall_server.lsp.runs.editor_model import editor_offer
from rolecall_server.lsp.server import RolecallServer

if TYPE_CHECKING:
    from rolecall_server.team.checkup import CheckupSubject

STATUS_NOTIFICATION = "rolecall/status/changed"


async def status(ls: RolecallServer, params: Any) -> dict[str, Any]:
    """Return the state of the model, without sending any model a request."""
    return {"model": await model_state(check_subject(ls), ask=False), "runs": list(ls.session.runs)}


def check_subject(ls: RolecallServer) -> CheckupSubject:
    """Return the first folder, with the settings and the key of this session."""
    from rolecall_server.team.checkup import CheckupSubject

    session = ls.session
    root = next(iter(session.folders), session.scratch)
    return CheckupSubject(root, session.settings, session.environ, session.store, editor_offer(ls))


async def model_state(around: CheckupSubject, *, ask: bool, try_it: bool = False) -> dict[str, Any]:
    """Return which model answers and why, as `rolecall/status` describes it."""
    from rolecall_server.team.checkup import check_model

    model = await check_model(around, ask=ask, try_it=try_it)
    return {"state": model.state, "what": model.what, "nextStep": model.next_step, **model.facts}
