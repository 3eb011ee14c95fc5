"""A model client whose model may look things up before it answers; who asks it sees the answer alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from rolecall_server.model import (
    NO_WISHES,
    ChatMessage,
    ModelClient,
    Relay,
    Reply,
    ToolLimits,
    ToolSpec,
    Wishes,
    use_tools,
)
from rolecall_server.model.interludes import Interludes


@dataclass
class LookingUp(Relay):
    """Asks *client* with *tools* at hand.

    What was looked up stays in the conversation, at its place.
    """

    client: ModelClient
    tools: Sequence[ToolSpec]
    limits: ToolLimits = field(default_factory=ToolLimits)
    _interludes: Interludes = field(default_factory=Interludes)

    async def complete(self, messages: Sequence[ChatMessage], wishes: Wishes = NO_WISHES) -> Reply:
        """The client's answer, after its model has looked up what it wanted.

        A call that brings a shape or tools of its own is passed on as it is.

        Raises:
            RolecallError: there is none; the error says who acts next.
        """
        asked = tuple(messages)
        if wishes.shape is not None or wishes.tools:
            return await self.client.complete(asked, wishes)
        talk = await use_tools(self.client, self._interludes.restore(asked), self.tools, wishes, limits=self.limits)
        if talk.uses:
            self._interludes.keep((*asked, ChatMessage("assistant", talk.reply.text)), talk.messages)
        return talk.reply
