"""What the team asks of a language model, whichever one answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

OnText = Callable[[str], None]
"""Told each piece of a reply as it comes, in order."""

_BYTES_PER_TOKEN = 3.5


@dataclass(frozen=True)
class ChatMessage:
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant"]
    text: str


@dataclass(frozen=True)
class Reply:
    """A complete answer; a model that stopped halfway gives an error instead."""

    text: str
    model: str
    """The name the endpoint gives the model that answered; it may differ from the one asked for."""
    prompt_tokens: int | None
    """As the endpoint counts; ``None`` where it does not say."""
    completion_tokens: int | None


class ModelClient(Protocol):
    """Someone who answers conversations."""

    @property
    def label(self) -> str:
        """Who answers, for a person to read: ``gpt-x at https://host/v1``."""
        ...

    async def complete(self, messages: Sequence[ChatMessage], *, on_text: OnText | None = None) -> Reply:
        """The answer to *messages*.

        Raises:
            RolecallError: there is none; the error says who acts next.
        """
        ...

    async def aclose(self) -> None:
        """Let go of connections; nothing can be asked afterwards."""
        ...


def estimate_tokens(text: str) -> int:
    """About how many tokens *text* takes: one for each 3.5 bytes of UTF-8. An estimate, no bound.

    Dense code (short names, many operators) may take a fifth more; an endpoint's own count is exact.

    Source: OpenAI's rule of thumb, four characters a token in English, less some room. Bytes rather than characters
    because scripts outside ASCII take more tokens for each character.
    """
    return math.ceil(len(text.encode("utf-8", "surrogatepass")) / _BYTES_PER_TOKEN)
