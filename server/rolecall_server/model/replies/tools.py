"""Tools for a model, used in bounded rounds: it asks, we answer, until it answers us."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from pydantic import ValidationError

from rolecall_server.errors import FileRefused, ReplyMalformed, RolecallError
from rolecall_server.model.client import NO_WISHES, ChatMessage, ModelClient, Reply, ToolCall, ToolSpec, Wishes
from rolecall_server.model.replies.plain_tools import in_words

logger = logging.getLogger(__name__)

_ANSWER_NOW = "No more tools can be used. Answer now, with what you know."
_WHY_ENDED = {
    "rounds": "All rounds of tools are used.",
    "calls": "All calls of tools are used.",
    "bytes": "All that tools may show was shown.",
    "loop": "You asked for nothing new.",
}
_REPEATED = "You asked exactly this before; the result is above."
_MAX_ERROR_CHARACTERS = 600


@dataclass(frozen=True)
class ToolLimits:
    """The limits on a model's use of its tools before it has to answer."""

    rounds: int = 8
    calls: int = 24
    result_bytes: int = 16_000
    """Of one result; what is longer is cut, and says so."""
    total_bytes: int = 120_000
    """Of all results together."""
    tool_timeout_s: float = 60.0
    in_words: bool = False
    """The model was told of them, and asks for them in its text: what is offered in form is used in any case, and each
    round pays anew for all that was shown."""


DEFAULT_LIMITS = ToolLimits()


@dataclass(frozen=True)
class ToolUse:
    """One call and what came of it."""

    call: ToolCall
    result: str
    """The text that the model was told."""
    failed: bool = False


@dataclass(frozen=True)
class Talk:
    """A conversation in which tools were used."""

    reply: Reply
    """The model's last words; it asks nothing more of a tool."""
    messages: tuple[ChatMessage, ...]
    """All of the conversation, those words included."""
    uses: tuple[ToolUse, ...] = ()
    ended_by: Literal["answer", "rounds", "calls", "bytes", "loop"] = "answer"
    """The end of the use of tools: the model itself, a limit, or that it asked nothing but what it had asked before."""


async def use_tools(
    client: ModelClient,
    messages: Sequence[ChatMessage],
    tools: Sequence[ToolSpec],
    wishes: Wishes = NO_WISHES,
    *,
    limits: ToolLimits = DEFAULT_LIMITS,
) -> Talk:
    """Return the talk in which the model answers *messages*, after it has asked *tools* what it wanted to know.

    ::

        async def outline(which: Path) -> str: ...


        tools = [ToolSpec("outline", "The classes and functions of a file.", Path, outline)]
        talk = await use_tools(client, [ChatMessage("user", "Where is the price rounded?")], tools)
        talk.reply.text, [use.call.name for use in talk.uses]

    At most ``limits.rounds + 1`` calls of *client* are made. A tool that fails tells the model why; at a limit the
    model is told to answer with what it knows.

    Raises:
        ReplyMalformed: it asks for tools even then, and says nothing.
        RolecallError: the model failed.
    """
    desk = _Desk({tool.name: tool for tool in tools}, limits)
    said = list(messages)
    with_tools = replace(wishes, tools=tools, tools_told=limits.in_words)
    reply = await client.complete(said, with_tools)
    while reply.calls and not desk.ended_by:
        said.append(ChatMessage("assistant", reply.text, reply.calls))
        said += await desk.answer(reply.calls)
        if desk.ended_by:
            said = [*in_words(said), ChatMessage("user", f"{_WHY_ENDED[desk.ended_by]} {_ANSWER_NOW}")]
            reply = await client.complete(_alternating(said), wishes)
        else:
            reply = await client.complete(said, with_tools)
    if reply.calls and not reply.text.strip():
        raise ReplyMalformed(f"{client.label} kept asking for tools and gave no answer.")
    said.append(ChatMessage("assistant", reply.text))
    return Talk(reply, tuple(_alternating(said)), tuple(desk.uses), desk.ended_by or "answer")


@dataclass
class _Desk:
    """The place where calls are answered, and counted."""

    tools: dict[str, ToolSpec]
    limits: ToolLimits
    uses: list[ToolUse] = field(default_factory=list[ToolUse])
    ended_by: Literal["", "rounds", "calls", "bytes", "loop"] = ""
    _asked: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    _n_rounds: int = 0
    _bytes_left: int = field(init=False)

    def __post_init__(self) -> None:
        self._bytes_left = self.limits.total_bytes

    async def answer(self, calls: Sequence[ToolCall]) -> list[ChatMessage]:
        """Carry out each of *calls* and return a message for each, in order."""
        self._n_rounds += 1
        n_asked = len(self._asked)
        uses = [await self._use(call) for call in calls]
        self.uses += uses
        if len(self._asked) == n_asked:
            self.ended_by = "loop"
        elif self._bytes_left <= 0:
            self.ended_by = "bytes"
        elif len(self.uses) >= self.limits.calls:
            self.ended_by = "calls"
        elif self._n_rounds >= self.limits.rounds:
            self.ended_by = "rounds"
        told = [use.result for use in uses]
        if not self.ended_by:
            told[-1] += f"\n\n({self._left()})"
        return [ChatMessage("tool", text, answers=use.call.id) for text, use in zip(told, uses, strict=True)]

    def _left(self) -> str:
        """Return what the model has left of its tools before it has to answer."""
        n_rounds, n_calls = self.limits.rounds - self._n_rounds, self.limits.calls - len(self.uses)
        rounds = "1 round" if n_rounds == 1 else f"{n_rounds} rounds"
        calls = "1 call" if n_calls == 1 else f"{n_calls} calls"
        return f"You have {rounds} and {calls} of tools left before you have to answer."

    async def _use(self, call: ToolCall) -> ToolUse:
        key = (call.name, _canonical(call.arguments))
        if key in self._asked:
            return ToolUse(call, _REPEATED, failed=True)
        if len(self._asked) >= self.limits.calls or self._bytes_left <= 0:
            return ToolUse(call, _ANSWER_NOW, failed=True)
        self._asked.add(key)
        result, failed = await self._run(call)
        result = _cut(result, min(self.limits.result_bytes, self._bytes_left))
        self._bytes_left -= len(result.encode("utf-8", "surrogatepass"))
        return ToolUse(call, result, failed)

    async def _run(self, call: ToolCall) -> tuple[str, bool]:
        """Run the tool; return what it says, and whether it failed."""
        tool = self.tools.get(call.name)
        if tool is None:
            return f"There is no tool {call.name!r}; there are {', '.join(self.tools) or 'none'}.", True
        try:
            arguments = tool.arguments.model_validate_json(call.arguments or "{}")
        except ValidationError as error:
            return f"The arguments are wrong: {_short(error)}", True
        try:
            async with asyncio.timeout(self.limits.tool_timeout_s):
                return await tool.run(arguments), False
        except TimeoutError:
            return f"It was not done within {self.limits.tool_timeout_s:g} seconds.", True
        except RolecallError as error:
            # what follows on a file that is refused, such as to save or convert it, is for a developer to do
            return error.what if isinstance(error, FileRefused) else str(error), True
        except Exception as error:  # a question of the model's is no reason to lose a run
            logger.exception("The tool %s failed", call.name)
            return f"It failed: {type(error).__name__}.", True


def _canonical(arguments: str) -> str:
    """Return *arguments* in a form in which equal arguments are equal texts, however they were written."""
    try:
        return json.dumps(json.loads(arguments), sort_keys=True)
    except (ValueError, RecursionError):
        return arguments


def _short(error: ValidationError) -> str:
    details = error.errors(include_url=False, include_context=False, include_input=False)
    told = "; ".join(f"{'.'.join(map(str, each['loc'])) or 'all'}: {each['msg']}" for each in details)
    return told[:_MAX_ERROR_CHARACTERS]


def _cut(result: str, max_bytes: int) -> str:
    """Return *result*, or as much of it as fits into *max_bytes* with a word about the rest."""
    encoded = result.encode("utf-8", "surrogatepass")
    if len(encoded) <= max_bytes:
        return result
    note = f"\n… cut; {len(encoded):,} bytes in all. Ask for less."
    kept = encoded[: max(0, max_bytes - len(note.encode()))].decode("utf-8", "ignore")
    return (kept + note) if max_bytes > len(note.encode()) else ""


def _alternating(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """Return *messages* without two turns of the user in a row, which some chat templates refuse."""
    joined: list[ChatMessage] = []
    for message in messages:
        if joined and joined[-1].role == message.role == "user":
            joined[-1] = ChatMessage("user", f"{joined[-1].text}\n\n{message.text}")
        else:
            joined.append(message)
    return joined
