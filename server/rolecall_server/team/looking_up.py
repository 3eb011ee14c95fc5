"""What a role may look up for itself while it works: as its desk has the repository, within bounds."""

from __future__ import annotations

from rolecall_server.craft.lookups import LookingUp, Sources, tools_for
from rolecall_server.model import ModelClient, ToolLimits
from rolecall_server.sandbox import NotRun
from rolecall_server.team.request import Desk

IN_A_TEAM = ToolLimits(rounds=3, calls=12)
"""Of a role of the team: each round is a call of the run, of which all roles together have a few dozen."""


def looking_up(desk: Desk, client: ModelClient) -> ModelClient:
    """Return *client* with the lookups of *desk* at hand that can be answered there, if it has any."""
    names = _answerable(desk)
    if not names:
        return client
    return LookingUp(client, tools_for(Sources(desk.view, desk.bench, desk.draft), names), desk.tool_limits)


def with_limits(system: str, desk: Desk) -> str:
    """Return the system prompt *system* with how often who sits at *desk* may look things up, if at all."""
    if not _answerable(desk):
        return system
    limits = desk.tool_limits
    told = (
        f"Before each answer you may look things up with your tools, in at most {limits.rounds} rounds and "
        f"{limits.calls} calls. What you ask in one reply is one round: ask together what does not build on an answer."
    )
    return f"{system.rstrip()}\n\n{told}\n"


def _answerable(desk: Desk) -> tuple[str, ...]:
    """Return the lookups of *desk* without those that run code where none may be run."""
    bench = desk.bench
    may = {"run_test": not isinstance(bench.shadow, NotRun), "run_python": bench.why_no_snippet is None}
    return tuple(name for name in desk.lookups if may.get(name, True))
