"""A model that plays every role of a team: it sees by the prompt who is asked, whatever the order."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rolecall_server.model import NO_WISHES, ChatMessage, Reply, Wishes

Says = str | BaseException | Callable[[Sequence[ChatMessage]], str]

_TITLE = re.compile(r"You are the ([A-Z][\w ]*?) of a software team")
_TASK = re.compile(r"Do (T\d+) of the task list")


def who_is_asked(messages: Sequence[ChatMessage]) -> str:
    """``Architect``, ``Engineer T2``, ``Engineer repair``, ``QA Engineer``."""
    title = _TITLE.search(messages[0].text)
    assert title is not None, messages[0].text
    user = next(message.text for message in messages if message.role == "user")
    if task := _TASK.search(user):
        return f"{title[1]} {task[1]}"
    if "# What is wrong" in user:
        return f"{title[1]} repair"
    if "# The review\n" in user:
        return f"{title[1]} answer"
    return title[1]


@dataclass
class TeamModel:
    """Answers by who is asked; the last of several speeches is said again and again."""

    speeches: Mapping[str, Says | Sequence[Says]]
    latency_s: float = 0.0
    waits: dict[str, Callable[[], bool]] = field(default_factory=dict[str, Callable[[], bool]])
    """What must be so before somebody gets an answer."""
    asked: list[str] = field(default_factory=list[str])
    """Who was asked, in order."""
    conversations: list[tuple[ChatMessage, ...]] = field(default_factory=list[tuple[ChatMessage, ...]])
    wishes: list[Wishes] = field(default_factory=list[Wishes])
    """How each of those who were asked was to answer."""
    at_once: int = 0
    most_at_once: int = 0
    label: str = "a script"

    async def complete(self, messages: Sequence[ChatMessage], wishes: Wishes = NO_WISHES) -> Reply:
        who = who_is_asked(messages)
        self.asked.append(who)
        self.conversations.append(tuple(messages))
        self.wishes.append(wishes)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await asyncio.sleep(self.latency_s)
            while who in self.waits and not self.waits[who]():
                await asyncio.sleep(0.01)
        finally:
            self.at_once -= 1
        return Reply(self._speech(who, messages), "script-1", 100, 50)

    async def aclose(self) -> None:
        """Nothing is held."""

    def told(self, who: str) -> str:
        """All that *who* was told the first time."""
        return "\n".join(message.text for message in self.conversations[self.asked.index(who)])

    def _speech(self, who: str, messages: Sequence[ChatMessage]) -> str:
        assert who in self.speeches, f"nobody wrote what {who} says:\n{messages[-1].text}"
        said = self.speeches[who]
        if not isinstance(said, str | BaseException) and not callable(said):
            said = said[min(self.asked.count(who), len(said)) - 1]
        if isinstance(said, BaseException):
            raise said
        return said if isinstance(said, str) else said(messages)


def fenced(value: Mapping[str, Any], prose: str = "I thought about it.") -> str:
    """A reply as structured output wants it: prose, then one JSON object."""
    return f"{prose}\n\n```json\n{json.dumps(value)}\n```\n"
