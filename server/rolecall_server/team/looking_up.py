"""What a role may look up for itself while it works: as its desk has the repository, within bounds."""

from __future__ import annotations

from rolecall_server.craft.lookups import LookingUp, Sources, tools_for
from rolecall_server.model import ModelClient, ToolLimits
from rolecall_server.model.tools import DEFAULT_LIMITS
from rolecall_server.team.request import Desk

IN_A_TEAM = ToolLimits(rounds=3, calls=12)
"""Of a role of the team: each round is a call of the run, of which all roles together have a few dozen."""


def looking_up(desk: Desk, client: ModelClient, limits: ToolLimits = DEFAULT_LIMITS) -> ModelClient:
    """*client* with the lookups of *desk* at hand, if it has any."""
    if not desk.lookups:
        return client
    return LookingUp(client, tools_for(Sources(desk.view, desk.bench), desk.lookups), limits)
