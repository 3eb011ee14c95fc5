"""The clients around the model of a role, one on top of the other; each asks the one below it.

``RememberingClient``: remembers what was said, and answers at once what needs no attempt.
``LookingUp``: runs the tools that the model asks for, before it answers.
``Repacking``: begins a conversation that is too long for the model with a shorter opening.
``Consulting``: lets a role of a team ask the author of what it reads.
``StoredCalls``: covers secrets, keeps the run within its budget, and stores each call.
`Chosen.client`: the connection, which `model.choose` made, with ``Recorder`` and ``Rested`` around it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from rolecall_server.craft.lookups import LookingUp, LookupSources, tell_lookups, tools_for
from rolecall_server.model import NO_WISHES, ChatMessage, Chosen, ModelClient, Relay, Reply, ToolLimits, Wishes
from rolecall_server.model.hidden_turns import Interludes
from rolecall_server.model.prompts import prompts_beside
from rolecall_server.sandbox import NotRun
from rolecall_server.settings import Settings
from rolecall_server.team.model_calls.repacking import Repacking
from rolecall_server.team.request import Desk
from rolecall_server.text_work import beside_the_loop

IN_A_TEAM = ToolLimits(rounds=3, calls=12)
"""Of a role of the team: each round is a call of the run, of which all roles together have a few dozen."""
ALONE = ToolLimits(rounds=3, calls=12, in_words=True)
"""Of a role that works alone on what a command asks."""
OF_A_REPAIR = ToolLimits(rounds=2, calls=6, result_bytes=4_000, total_bytes=12_000)
"""Of a repair: each round pays once more for all that stands before it."""
OF_A_READING = ToolLimits(rounds=1, calls=6, result_bytes=6_000, total_bytes=16_000)
"""Of code that is read for promises it does not keep: what is needed for that stands in the piece itself."""


_PROMPTS = prompts_beside(__file__)


def lookups_for(chosen: Chosen, settings: Settings, names: Sequence[str]) -> tuple[str, ...]:
    """Return those of the lookups called *names* that the model may be offered: all, or none."""
    return tuple(names) if chosen.takes_tools and settings.model.tools else ()


def conversation(desk: Desk, *, looks_up: bool = True, begun: Sequence[Reply] = ()) -> RememberingClient:
    """Return a client for one conversation at *desk*, of which the replies *begun* were given already.

    Where it *looks_up*, its model is offered those lookups of the desk that can be answered there.
    """
    assert desk.client is not None
    client: ModelClient = Repacking(desk.client, desk.repacks)
    if looks_up and (names := _answerable(desk)):
        tools = tools_for(LookupSources(desk.view, desk.bench, desk.draft, desk.unfound), names)
        client = LookingUp(client, tools, desk.tool_limits)
    # A list of its own, as the client takes the replies off it.
    return RememberingClient(client, begun=list(begun))


def with_limits(system: str, desk: Desk) -> str:
    """Return the system prompt *system* with how often who sits at *desk* may look things up, if at all."""
    if not _answerable(desk):
        return system
    limits = desk.tool_limits
    most = f"in at most {limits.rounds} round{'s' * (limits.rounds != 1)} and {limits.calls} calls"
    form = _PROMPTS["in words"] if limits.in_words else _PROMPTS["in form"]
    told = form.format(most=most, lookups=tell_lookups(_answerable(desk)))
    return f"{system.rstrip()}\n\n{told}\n"


def _answerable(desk: Desk) -> tuple[str, ...]:
    """Return the lookups of *desk* without those that run code where none may be run."""
    bench = desk.bench
    may = {"run_test": not isinstance(bench.shadow, NotRun), "run_python": bench.why_no_snippet is None}
    return tuple(name for name in desk.lookups if may.get(name, True))


@dataclass
class RememberingClient(Relay):
    """A model client that remembers what the model said, and gives at once the answers that need no attempt."""

    client: ModelClient
    replies: list[str] = field(default_factory=list[str])
    begun: list[Reply] = field(default_factory=list[Reply])
    """Replies that were given already; they come first."""
    answer: Callable[[str], str] = lambda said: ""
    """Answers a reply that needs an answer before there can be edits; empty: nothing is said."""
    _interludes: Interludes = field(default_factory=Interludes)

    @property
    def said(self) -> str:
        """Return all replies as one text."""
        return "\n".join(self.replies)

    async def complete(self, messages: Sequence[ChatMessage], wishes: Wishes = NO_WISHES) -> Reply:
        """Return the client's reply; the one after it where that one needed an answer."""
        asked = tuple(messages)
        told = self._interludes.restore(asked)
        reply = self.begun.pop(0) if self.begun else await self.client.complete(told, wishes)
        self.replies.append(reply.text)
        if answer := await beside_the_loop("Reading the reply", self.answer, reply.text):
            told = (*told, ChatMessage("assistant", reply.text), ChatMessage("user", answer))
            reply = await self.client.complete(told, wishes)
            self.replies.append(reply.text)
            said = ChatMessage("assistant", reply.text)
            self._interludes.keep((*asked, said), (*told, said))
        return reply
