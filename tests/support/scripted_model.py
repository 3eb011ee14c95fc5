"""A model that says what a test has written down, in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from rolecall_server.model import NO_WISHES, ChatMessage, Reply, Wishes


@dataclass
class ScriptedModel:
    """Answers with each of *replies* in turn; an exception among them is raised."""

    replies: Sequence[str | Reply | BaseException]
    asked: list[tuple[ChatMessage, ...]] = field(default_factory=list)
    """The conversation of each call."""
    label: str = "a script"

    async def complete(self, messages: Sequence[ChatMessage], wishes: Wishes = NO_WISHES) -> Reply:
        self.asked.append(tuple(messages))
        assert len(self.asked) <= len(self.replies), f"asked once more:\n{messages[-1].text}"
        said = self.replies[len(self.asked) - 1]
        if isinstance(said, BaseException):
            raise said
        if isinstance(said, Reply):
            return said
        if wishes.on_text is not None:
            wishes.on_text(said)
        return Reply(said, "script-1", None, None)

    async def aclose(self) -> None:
        """Nothing is held."""

    @property
    def last_words(self) -> list[str]:
        """What it was told last, in each call."""
        return [messages[-1].text for messages in self.asked]
