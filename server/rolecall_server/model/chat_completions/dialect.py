"""Requests as one endpoint understands them: what it refuses by name is not sent again, or said in another way.

A shape goes from a schema to JSON mode to words alone, tools from the endpoint's own to words, each one step at a time
and only once.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rolecall_server.model.client import ChatMessage, JsonShape, Parameters, ToolSpec, Wishes
from rolecall_server.model.replies.plain_tools import spoken
from rolecall_server.model.replies.schema import shape_of

_OF_SHAPE = re.compile(
    r"response_format|json_schema|json_object|json mode|structured output|schema|grammar", re.IGNORECASE
)
_OF_TOOLS = re.compile(r"\btools?\b|tool_choice|tool_calls|function.?call", re.IGNORECASE)
_CONTEXT = re.compile(r"context length is (\d{3,9})")
_PROMPT = re.compile(r"(\d{1,9}) (?:in the messages|input tokens|in the prompt|of text input)")
_ROOM_BETWEEN = 16
_LEAST_ROOM = 256


@dataclass
class Dialect:
    """The options that an endpoint is known not to understand."""

    reply_tokens: int = 0
    """The number of tokens that a reply may have where no wish says so; 0 is no limit."""
    refused: set[str] = field(default_factory=set[str])
    """Options by name; ``json_schema``, ``json_object`` and ``tools`` as well."""
    on_refusal: Callable[[str], None] = lambda name: None
    """Told what was refused, once."""

    def request(
        self, model: str, messages: Sequence[ChatMessage], wishes: Wishes, room: int | None = None
    ) -> dict[str, Any]:
        """Return the body of a request to *model*, if *wishes* name no other; its reply has at most *room* tokens."""
        are_in_words = wishes.tools_told or "tools" in self.refused
        told = spoken(messages, wishes) if wishes.tools and are_in_words else messages
        body: dict[str, Any] = {
            "model": wishes.parameters.model or model,
            "messages": [_message(message) for message in told],
            "stream": True,
        }
        options = self._options(wishes.parameters, room)
        body |= {name: value for name, value in options.items() if name not in self.refused}
        if wishes.shape is not None and (response_format := self._response_format(wishes.shape)):
            body["response_format"] = response_format
        if wishes.tools and not are_in_words:
            body["tools"] = [_tool(tool) for tool in wishes.tools]
        return body

    def learn(self, complaint: str, sent: Mapping[str, Any]) -> bool:
        """Learn from *complaint* which part of the request *sent* to leave out from now on; return whether there is
        such a part.
        """
        refused = next((name for name in ("stream_options", *self._tunable(sent)) if name in complaint), None)
        if refused is None and "response_format" in sent and _OF_SHAPE.search(complaint):
            refused = sent["response_format"]["type"]
        if refused is None and "tools" in sent and _OF_TOOLS.search(complaint):
            refused = "tools"
        if refused is None or refused in self.refused or (refused == "stream_options" and refused not in sent):
            return False
        self.refused.add(refused)
        self.on_refusal(refused)
        return True

    def _options(self, given: Parameters, room: int | None) -> dict[str, Any]:
        reply_tokens = min(given.reply_tokens or self.reply_tokens or room or 0, room or sys.maxsize)
        # OpenAI's newer models refuse `max_tokens`; many other servers know no other name.
        length = "max_tokens" if "max_completion_tokens" in self.refused else "max_completion_tokens"
        options = {
            "stream_options": {"include_usage": True},
            length: reply_tokens or None,
            "temperature": given.temperature,
            "top_p": given.top_p,
            "seed": given.seed,
            "logprobs": given.logprobs or None,
        }
        return {name: value for name, value in options.items() if value is not None}

    @staticmethod
    def _tunable(sent: Mapping[str, Any]) -> list[str]:
        return [
            name
            for name in ("max_completion_tokens", "max_tokens", "temperature", "top_p", "seed", "logprobs")
            if name in sent
        ]

    def _response_format(self, shape: JsonShape) -> dict[str, Any] | None:
        if "json_schema" not in self.refused:
            described = {"name": shape.name, "schema": shape.schema, "strict": True}
            return {"type": "json_schema", "json_schema": described}
        return {"type": "json_object"} if "json_object" not in self.refused else None


def room_left(complaint: str) -> int | None:
    """Return how many tokens a reply may have after a *complaint* that prompt and reply together exceed the context.

    ``None`` where it is another complaint, or too little is left for any answer.

    Source: the words of vLLM and of OpenAI, as in vllm-project/vllm issues 20409 and 33418.
    """
    context, prompt = _CONTEXT.search(complaint), _PROMPT.search(complaint)
    if context is None or prompt is None:
        return None
    room = int(context[1]) - int(prompt[1]) - _ROOM_BETWEEN
    return room if room >= _LEAST_ROOM else None


def _message(message: ChatMessage) -> dict[str, Any]:
    told: dict[str, Any] = {"role": message.role, "content": message.text}
    if message.calls:
        told["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.calls
        ]
    if message.role == "tool":
        told["tool_call_id"] = message.answers
    return told


def _tool(tool: ToolSpec) -> dict[str, Any]:
    parameters = shape_of(tool.arguments).schema
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": parameters},
    }
