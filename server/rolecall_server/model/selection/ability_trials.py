"""The trial of a model's abilities with a handful of short calls."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

import httpx2

from rolecall_server.errors import ReplyMalformed
from rolecall_server.model.chat_completions.bodies import bound
from rolecall_server.model.endpoint import Endpoint
from rolecall_server.model.selection.abilities import Abilities
from rolecall_server.model.selection.local_servers import describe_service

_CALL_TIMEOUT_S = 60.0
"""For one short call, a local model's loading included."""
_MAX_LINES = 2_000
_MAX_BODY_BYTES = 2_000_000
_REPLY_TOKENS = 64

_WORDS = [{"role": "user", "content": "Write one line of a poem about the sea."}]
_TOOL = {
    "type": "function",
    "function": {
        "name": "note",
        "description": "Keeps a note.",
        "parameters": {
            "type": "object",
            "properties": {"text": {"type": "string"}},
            "required": ["text"],
            "additionalProperties": False,
        },
    },
}
_SCHEMA = {
    "type": "object",
    "properties": {"sea": {"type": "boolean"}},
    "required": ["sea"],
    "additionalProperties": False,
}


async def try_abilities(endpoint: Endpoint, model: str) -> Abilities:
    """Return the abilities that *model* at *endpoint* shows in six short calls, each of at most 64 tokens.

    An ability that a failing endpoint keeps us from seeing stays ``None``; no error is raised.
    """
    described = await describe_service(endpoint)
    facts = next((each for each in described.models if each.name == model), None) if described else None
    headers = {"Authorization": f"Bearer {endpoint.api_key}", "Accept-Encoding": "identity"}
    async with httpx2.AsyncClient(
        headers=headers,
        timeout=_CALL_TIMEOUT_S,
        verify=endpoint.has_certificate,
        trust_env=not endpoint.is_local,
        follow_redirects=False,
    ) as http:
        trial = _Trial(http, endpoint.base_url.rstrip("/") + "/chat/completions", model)
        plain = await trial.say({"logprobs": True})
        # An endpoint may refuse nothing but log-probabilities, which says little of the rest.
        if plain is None:
            plain = await trial.say({})
        shaped = await trial.say({"response_format": {"type": "json_schema", "json_schema": _SHAPE}})
        object_alone = await trial.say({"response_format": {"type": "json_object"}}, ask="Answer in JSON.")
        called = await trial.say({"tools": [_TOOL]}, ask="Keep the note 'sea' by calling the tool.")
        slots = facts.slots if facts else None
        # A server that says how many calls it answers at once need not be tried.
        parallel = slots > 1 if slots is not None else await trial.side_by_side()
    reached = plain is not None
    return Abilities(
        service=described.name if described else "",
        context_tokens=facts.context_tokens if facts else None,
        streaming=plain.n_pieces > 1 if plain else None,
        json_schema=_fits(shaped) if reached else None,
        json_object=_is_object(object_alone) if reached else None,
        tools=bool(called and called.n_calls) if reached else None,
        logprobs=plain.logprobs if plain else None,
        parallel=parallel if reached else None,
        tried=reached,
    )


_SHAPE = {"name": "poem", "schema": _SCHEMA, "strict": True}


@dataclass
class _Said:
    """The content of the reply to one call."""

    text: str = ""
    n_pieces: int = 0
    n_calls: int = 0
    logprobs: bool = False
    began_at_s: float = 0.0
    ended_at_s: float = 0.0


@dataclass(frozen=True)
class _Trial:
    http: httpx2.AsyncClient
    url: str
    model: str

    async def say(self, options: Mapping[str, Any], ask: str = "") -> _Said | None:
        """Return the model's streamed reply; None if the endpoint refuses or breaks off."""
        messages = [{"role": "user", "content": ask}] if ask else _WORDS
        body = {"model": self.model, "messages": messages, "stream": True, "max_tokens": _REPLY_TOKENS, **options}
        said = _Said()
        try:
            async with asyncio.timeout(_CALL_TIMEOUT_S), self.http.stream("POST", self.url, json=body) as response:
                bound(response, self.url, _MAX_BODY_BYTES)
                if response.status_code != 200:
                    return None
                async for chunk in _chunks(response):
                    _take(said, chunk)
        except (TimeoutError, httpx2.HTTPError, httpx2.InvalidURL, ReplyMalformed, ValueError, RecursionError):
            return None
        said.ended_at_s = time.monotonic()
        return said if said.n_pieces or said.n_calls else None

    async def side_by_side(self) -> bool | None:
        """Return whether the endpoint works on two calls at a time: each begins to answer before the other
        has ended.
        """
        one, other = await asyncio.gather(self.say({}), self.say({}))
        if one is None or other is None:
            return False
        return one.began_at_s < other.ended_at_s and other.began_at_s < one.ended_at_s


async def _chunks(response: httpx2.Response) -> AsyncIterator[Mapping[str, Any]]:
    """Yield the chunks of a stream, or the one completion of an endpoint that does not stream."""
    if "json" in response.headers.get("content-type", ""):
        yield json.loads(await response.aread())
        return
    n_lines = 0
    async for line in response.aiter_lines():
        n_lines += 1
        if n_lines > _MAX_LINES or line.strip() == "data: [DONE]":
            return
        if line.startswith("data:"):
            yield json.loads(line[5:])


def _take(said: _Said, chunk: Any) -> None:
    """Take in a chunk of whatever shape."""
    for choice in _list(_dict(chunk).get("choices"))[:1]:
        words = _dict(_dict(choice).get("delta")) or _dict(_dict(choice).get("message"))
        text, calls = words.get("content") or words.get("reasoning_content"), _list(words.get("tool_calls"))
        said.n_calls += len(calls)
        said.logprobs = said.logprobs or bool(_list(_dict(_dict(choice).get("logprobs")).get("content")))
        if isinstance(text, str) and text:
            said.began_at_s = said.began_at_s or time.monotonic()
            said.n_pieces += 1
            said.text += text


def _fits(said: _Said | None) -> bool:
    """Return whether the answer fits the schema although a line of a poem was asked for."""
    with suppress(ValueError, RecursionError):
        found = json.loads(said.text) if said else None
        return isinstance(found, dict) and isinstance(cast("dict[str, Any]", found).get("sea"), bool)
    return False


def _is_object(said: _Said | None) -> bool:
    with suppress(ValueError, RecursionError):
        return isinstance(json.loads(said.text) if said else None, dict)
    return False


def _dict(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []
