"""Replies that reach their length limit, continued where they stop."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from rolecall_server.errors import ReplyCut
from rolecall_server.model.client import ChatMessage, Reply

MAX_CONTINUATIONS = 2
_GO_ON = (
    "Your reply was cut off at its length limit. Go on exactly where it stops: repeat nothing, explain nothing, and "
    "open no fence that is open already."
)
_MIN_OVERLAP_CHARACTERS = 8
_MAX_OVERLAP_CHARACTERS = 400

Ask = Callable[[Sequence[ChatMessage]], Awaitable[Reply]]


async def whole_reply(ask: Ask, messages: Sequence[ChatMessage]) -> Reply:
    """Return the reply of *ask* to *messages*; if it is cut by its length, ask for the rest and append that.

    Raises:
        ReplyCut: it broke off otherwise, or was not done after `MAX_CONTINUATIONS` more.
    """
    said: list[str] = []
    asked = list(messages)
    while True:
        try:
            reply = await ask(asked)
        except ReplyCut as cut:
            if not cut.said.strip() or len(said) == MAX_CONTINUATIONS:
                raise
            said.append(cut.said)
            # From the beginning each time: the model always sees one half-written answer, never its own breaks.
            asked = [*messages, ChatMessage("assistant", _joined(said)), ChatMessage("user", _GO_ON)]
            continue
        if not said:
            return reply
        # The counts of the last call alone would pass for those of the whole.
        return replace(
            reply, text=_joined([*said, reply.text]), prompt_tokens=None, completion_tokens=None, logprob=None
        )


def _joined(parts: Sequence[str]) -> str:
    """Return *parts* one after the other, each without what it repeats of the one before."""
    text = ""
    for part in parts:
        text += part[_overlap(text, part) :]
    return text


def _overlap(text: str, part: str) -> int:
    """Return the number of characters at the end of *text* that are the first of *part*, by more than chance."""
    longest = min(len(text), len(part), _MAX_OVERLAP_CHARACTERS)
    for n_characters in range(longest, _MIN_OVERLAP_CHARACTERS - 1, -1):
        if text.endswith(part[:n_characters]):
            return n_characters
    return 0
