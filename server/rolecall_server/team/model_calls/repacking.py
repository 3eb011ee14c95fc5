"""A conversation that a model finds too long begins with less: packed anew, once, and said again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from rolecall_server.errors import ContextOverflow
from rolecall_server.model import NO_WISHES, ChatMessage, ModelClient, Relay, Reply, Wishes

Opening = tuple[ChatMessage, ...]
Repack = Callable[[], Awaitable[Opening]]
"""The same opening with a smaller pack."""


@dataclass
class Repacking(Relay):
    """Asks *client*; where a conversation is too long for the model, it goes on with a shorter opening."""

    client: ModelClient
    repacks: Mapping[Opening, Repack]
    """The functions that make an opening shorter, for each that was made."""
    _shorter: dict[Opening, Opening] = field(default_factory=dict[Opening, Opening])

    async def complete(self, messages: Sequence[ChatMessage], wishes: Wishes = NO_WISHES) -> Reply:
        """Return the client's answer, unless the endpoint rests after repeated failures.

        Raises:
            ContextOverflow: the conversation is too long even so, or nobody can shorten it.
            RolecallError: there is no answer for another reason.
        """
        asked = tuple(messages)
        opening = next((one for one in self.repacks if asked[: len(one)] == one), None)
        was_shorter = opening in self._shorter
        try:
            return await self.client.complete(self._said(asked, opening), wishes)
        except ContextOverflow:
            if opening is None or was_shorter:
                raise
            self._shorter[opening] = await self.repacks[opening]()
        return await self.client.complete(self._said(asked, opening), wishes)

    def _said(self, asked: Opening, opening: Opening | None) -> Opening:
        if opening is None or opening not in self._shorter:
            return asked
        return self._shorter[opening] + asked[len(opening) :]
