"""A model client with what is known of its model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rolecall_server.model import (
    NO_WISHES,
    ChatMessage,
    Chosen,
    ModelClient,
    Recorder,
    Relay,
    ReplayModel,
    Reply,
    Wishes,
)
from rolecall_server.model.abilities import Abilities, recall_abilities
from rolecall_server.settings import Settings
from rolecall_server.store import Store


@dataclass(frozen=True)
class KnownModel(Relay):
    """*client*, and what its model can take."""

    client: ModelClient
    context_tokens: int | None = None
    """Prompt and reply together, as the model counts; ``None`` where nobody knows."""
    takes_tools: bool = False
    """Whether it may be offered tools. A recording answers what was asked when it was made, and nothing else."""

    async def complete(self, messages: Sequence[ChatMessage], wishes: Wishes = NO_WISHES) -> Reply:
        """The client's answer."""
        return await self.client.complete(messages, wishes)


def lookups_for(known: KnownModel, settings: Settings, names: Sequence[str]) -> tuple[str, ...]:
    """Those of the lookups called *names* that its model may be offered: all, or none."""
    return tuple(names) if known.takes_tools and settings.model.tools else ()


def known_model(chosen: Chosen, store: Store | None) -> KnownModel:
    """The model that was chosen, with what the choice and *store* know of it."""
    remembered = recall_abilities(store, chosen.endpoint, chosen.model) if store and chosen.endpoint else None
    abilities = remembered or Abilities()
    is_live = not isinstance(chosen.client, ReplayModel | Recorder)
    context_tokens = chosen.context_tokens or abilities.context_tokens
    return KnownModel(chosen.client, context_tokens, is_live and abilities.tools is not False)
