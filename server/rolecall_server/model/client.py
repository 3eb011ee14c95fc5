"""The interface through which the team asks a language model, whichever one answers."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, Protocol

from pydantic import AfterValidator, BaseModel, JsonValue

OnText = Callable[[str], None]
"""Told each piece of a reply as it comes, in order."""

MAX_REPLY_CHARACTERS = 1_000_000
"""More text than that is no answer but a model that cannot stop."""

_MOST_TOKENS = 1_000_000_000
"""Of one call; whoever counts more is mistaken, or wants the sums of a run to be wrong."""

TokenCount = Annotated[int | None, AfterValidator(lambda n: n if n is not None and 0 <= n <= _MOST_TOKENS else None)]
"""Tokens as somebody else counts them; ``None`` where the number cannot be right."""

_BYTES_PER_TOKEN = 3.5


@dataclass(frozen=True)
class ToolCall:
    """A request of a model to a tool."""

    id: str
    """Ties the answer to it; unique within a reply."""
    name: str
    arguments: str
    """JSON as the model wrote it, perhaps broken."""


@dataclass(frozen=True)
class ChatMessage:
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant", "tool"]
    text: str
    calls: tuple[ToolCall, ...] = ()
    """The calls of tools that the model asked for, where it is the model's turn."""
    answers: str = ""
    """The id of the call whose result this is, where it is a tool's turn."""


@dataclass(frozen=True)
class ToolSpec:
    """A tool that is offered to a model.

    ::

        class Place(BaseModel):
            \"\"\"Where a name is used.\"\"\"

            path: str
            line: int = Field(description="counted from 1")


        async def definition(place: Place) -> str: ...


        ToolSpec("definition", "Where the name on a line is defined.", Place, definition)
    """

    name: str
    """Letters, digits and underscores, at most 64."""
    description: str
    """For the model: what comes back, and when to use it."""
    arguments: type[BaseModel]
    """The model of its arguments; the descriptions of its fields are shown to the model."""
    run: Callable[[Any], Awaitable[str]]
    """Takes a value of `arguments`; a `RolecallError` it raises is told to the model."""


@dataclass(frozen=True)
class JsonShape:
    """The one JSON object that a reply shall be."""

    name: str
    """Letters, digits and underscores, at most 64."""
    schema: Mapping[str, JsonValue]
    """A JSON schema."""


@dataclass(frozen=True)
class Parameters:
    """Parameters of a model's answer; what is ``None`` or empty is left to the endpoint and the settings."""

    model: str = ""
    """Another model of the same endpoint."""
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    """The same seed, the same reply, where the endpoint heeds it."""
    reply_tokens: int | None = None
    """The number of tokens that the reply may have, hidden reasoning included."""
    logprobs: bool | None = None
    """The endpoint shall say how likely the tokens of its reply were, where it can."""

    def over(self, usual: Parameters) -> Parameters:
        """These, and *usual* for what they leave open."""
        return replace(usual, **{name: value for name, value in vars(self).items() if value not in (None, "")})


@dataclass(frozen=True)
class Reply:
    """A complete answer; a model that stopped halfway gives an error instead."""

    text: str
    model: str
    """The name the endpoint gives the model that answered; it may differ from the one asked for."""
    prompt_tokens: int | None
    """As the endpoint counts; ``None`` where it does not say."""
    completion_tokens: int | None
    calls: tuple[ToolCall, ...] = ()
    """The calls of tools that the model asks for before it goes on; the text may then be empty."""
    cut: bool = False
    """The length limit ended it; only recordings hold such replies, elsewhere it is an error."""
    logprob: float | None = None
    """The mean log-probability of its tokens; ``None`` where the endpoint did not say."""


@dataclass(frozen=True)
class Wishes:
    """The form in which an answer shall come, and who hears of it."""

    on_text: OnText | None = None
    shape: JsonShape | None = None
    """An endpoint may not be able to grant it: say it in words as well (`ask_for` does)."""
    tools: Sequence[ToolSpec] = ()
    """Offered, in words where the endpoint knows none; none is run by a client (`use_tools` does)."""
    tools_told: bool = False
    """The conversation says itself which tools there are, and how to ask for them in words."""
    parameters: Parameters = field(default_factory=Parameters)


NO_WISHES = Wishes()


class ModelClient(Protocol):
    """Someone who answers conversations."""

    @property
    def label(self) -> str:
        """Return the label of the model that answers, for a person to read: ``gpt-x at https://host/v1``."""
        ...

    async def complete(self, messages: Sequence[ChatMessage], wishes: Wishes = NO_WISHES) -> Reply:
        """Return the answer to *messages*.

        Raises:
            RolecallError: there is none; the error says who acts next.
        """
        ...

    async def aclose(self) -> None:
        """Let go of connections; nothing can be asked afterwards."""
        ...


class Relay:
    """A client that has another one answer."""

    client: ModelClient

    @property
    def label(self) -> str:
        """Return the label of the client that answers."""
        return self.client.label

    async def aclose(self) -> None:
        """Close the client."""
        await self.client.aclose()


def estimate_tokens(text: str) -> int:
    """About how many tokens *text* takes: one for each 3.5 bytes of UTF-8. An estimate, no bound.

    Dense code (short names, many operators) may take a fifth more; an endpoint's own count is exact.

    Source: OpenAI's rule of thumb, four characters a token in English, less some room. Bytes rather than characters
    because scripts outside ASCII take more tokens for each character.
    """
    return math.ceil(len(text.encode("utf-8", "surrogatepass")) / _BYTES_PER_TOKEN)
