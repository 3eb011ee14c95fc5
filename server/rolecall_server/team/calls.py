"""Model calls that are in the store before anyone acts on them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from rolecall_server.model import ChatMessage, ModelClient, Reply
from rolecall_server.store import Store


@dataclass(frozen=True)
class StoredCalls:
    """A model client that stores what each call of a run sent and what came back."""

    client: ModelClient
    store: Store
    run_id: str

    @property
    def label(self) -> str:
        """Who answers."""
        return self.client.label

    async def complete(self, messages: Sequence[ChatMessage], *, on_text: Callable[[str], None] | None = None) -> Reply:
        """The client's reply, stored."""
        call = self.store.add_call(self.run_id, json.dumps([asdict(message) for message in messages]))
        try:
            reply = await self.client.complete(messages, on_text=on_text)
        except BaseException as error:
            self.store.end_call(call, None, f"{type(error).__name__}: {error}")
            raise
        self.store.end_call(call, json.dumps(asdict(reply)))
        return reply

    async def aclose(self) -> None:
        """Close the client."""
        await self.client.aclose()
