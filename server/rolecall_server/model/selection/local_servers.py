"""Model servers on this machine, at the ports they usually have, and what they say of their models.

Only loopback is asked, without proxies and redirects, and only what the servers answer from memory: no model is loaded
and nothing is generated. Whatever listens there and does not answer as the server it should be is left alone.

Source: Ollama, docs/api.md (``/api/version``, ``/api/tags``, ``/api/ps``, ``/api/show``); LM Studio, "REST API v0"
(``/api/v0/models``); llama.cpp, tools/server/README.md (``/props``, ``/v1/models``); vLLM,
vllm/entrypoints/openai/protocol.py (``ModelCard``).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

from pydantic import JsonValue

from rolecall_server.errors import ReplyMalformed
from rolecall_server.model.endpoint import Endpoint

if TYPE_CHECKING:
    import httpx2

_TIMEOUT_S = 1.5
"""For all of them together, and only where something listens: a port that is closed says so at once."""
_CONNECT_TIMEOUT_S = 0.75
_MAX_BODY_BYTES = 2_000_000

FindLocal = Callable[[], Awaitable["tuple[LocalService, ...]"]]
Fields = Mapping[str, JsonValue]
Ask = Callable[..., Awaitable[Fields]]
"""The JSON object at a path, perhaps after sending one; an empty one where there is none."""


@dataclass(frozen=True)
class LocalModel:
    """A model that a server offers."""

    name: str
    loaded: bool = False
    """It answers without being loaded first."""
    context_tokens: int | None = None
    """The tokens that prompt and reply may have together, as it is loaded; ``None`` where the server does not say."""
    tools: bool | None = None
    slots: int | None = None
    """The number of calls that it answers at once."""


@dataclass(frozen=True)
class LocalService:
    """A model server that was found."""

    name: str
    """``Ollama``, ``LM Studio``, ``llama.cpp`` or ``vLLM``."""
    endpoint: Endpoint
    models: tuple[LocalModel, ...]
    """The best first: what is loaded, then in the server's own order."""


@dataclass(frozen=True)
class ServerAddress:
    """An address where a server usually listens."""

    service: str
    base_url: str


PLACES = (
    ServerAddress("Ollama", "http://127.0.0.1:11434/v1"),
    ServerAddress("LM Studio", "http://127.0.0.1:1234/v1"),
    ServerAddress("llama.cpp", "http://127.0.0.1:8080/v1"),
    ServerAddress("vLLM", "http://127.0.0.1:8000/v1"),
)


async def find_local_services(
    places: Sequence[ServerAddress] = PLACES, timeout_s: float = _TIMEOUT_S
) -> tuple[LocalService, ...]:
    """Return the servers that answer at *places* within *timeout_s*, in that order."""
    found = await asyncio.gather(*(_look(place, timeout_s) for place in places))
    return tuple(service for service in found if service is not None)


async def describe_service(endpoint: Endpoint, timeout_s: float = 2.0) -> LocalService | None:
    """Return the description that a server of any of the four kinds at *endpoint* gives of itself; None if it is none
    of them.
    """
    for name in _RECOGNIZE:
        if (found := await _look(ServerAddress(name, endpoint.base_url), timeout_s, endpoint)) is not None:
            return found
    return None


async def _look(place: ServerAddress, timeout_s: float, endpoint: Endpoint | None = None) -> LocalService | None:
    endpoint = endpoint or Endpoint(place.base_url)
    parts = urlsplit(endpoint.base_url)
    headers = {"Authorization": f"Bearer {endpoint.api_key}"} if endpoint.has_key else {}
    import httpx2  # slow to import, and seldom needed

    async with httpx2.AsyncClient(
        base_url=f"{parts.scheme}://{parts.netloc}",
        headers=headers,
        timeout=httpx2.Timeout(timeout_s, connect=min(timeout_s, _CONNECT_TIMEOUT_S)),
        verify=endpoint.has_certificate,
        trust_env=not endpoint.is_local,
        follow_redirects=False,
    ) as http:

        async def ask(path: str, send: Fields | None = None) -> Fields:
            with suppress(httpx2.HTTPError, httpx2.InvalidURL, ReplyMalformed, ValueError, RecursionError):
                return await _object_at(http, path, send)
            return {}

        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                models = [model for model in await _RECOGNIZE[place.service](ask) if model.name]
                if models:
                    return LocalService(place.service, endpoint, tuple(sorted(models, key=lambda it: not it.loaded)))
    return None


async def _object_at(http: httpx2.AsyncClient, path: str, send: Fields | None) -> Fields:
    from rolecall_server.model.chat_completions.bodies import bound

    method = "POST" if send is not None else "GET"
    async with http.stream(method, path, json=send) as response:
        bound(response, path, _MAX_BODY_BYTES)
        body = await response.aread()
    found = json.loads(body) if response.status_code == 200 else None
    return cast("Fields", found) if isinstance(found, dict) else {}


async def _ollama(ask: Ask) -> list[LocalModel]:
    version, tags, running = await asyncio.gather(ask("/api/version"), ask("/api/tags"), ask("/api/ps"))
    if not isinstance(version.get("version"), str):
        return []
    loaded = {_text(each, "name"): _number(each, "context_length") for each in _objects(running, "models")}
    # Models for embeddings are listed too, and cannot answer.
    names = [name for each in _objects(tags, "models") if (name := _text(each, "name")) and "embed" not in name]
    models = [LocalModel(name, name in loaded, loaded.get(name)) for name in names]
    shown = await asyncio.gather(*(ask("/api/show", {"model": model.name}) for model in models[:1]))
    for n, details in enumerate(shown):
        abilities = details.get("capabilities")
        tools = "tools" in abilities if isinstance(abilities, list) else None
        models[n] = LocalModel(models[n].name, models[n].loaded, models[n].context_tokens, tools)
    return models


async def _lm_studio(ask: Ask) -> list[LocalModel]:
    models: list[LocalModel] = []
    for each in _objects(await ask("/api/v0/models"), "data"):
        if each.get("type") not in ("llm", "vlm") or "max_context_length" not in each:
            continue
        abilities = each.get("capabilities")
        tools = "tool_use" in abilities if isinstance(abilities, list) else None
        context_tokens = _number(each, "loaded_context_length")
        models.append(LocalModel(_text(each, "id"), each.get("state") == "loaded", context_tokens, tools))
    return models


async def _llama_cpp(ask: Ask) -> list[LocalModel]:
    listed, props = await asyncio.gather(ask("/v1/models"), ask("/props"))
    settings = props.get("default_generation_settings")
    context_tokens = _number(settings, "n_ctx") if isinstance(settings, dict) else None
    abilities = props.get("chat_template_caps")
    tools = abilities.get("supports_tools") if isinstance(abilities, dict) else None
    return [
        LocalModel(
            _text(each, "id"),
            loaded=True,
            context_tokens=context_tokens,
            tools=tools if isinstance(tools, bool) else None,
            slots=_number(props, "total_slots"),
        )
        for each in _objects(listed, "data")
        if each.get("owned_by") == "llamacpp"
    ]


async def _vllm(ask: Ask) -> list[LocalModel]:
    return [
        LocalModel(_text(each, "id"), loaded=True, context_tokens=_number(each, "max_model_len"))
        for each in _objects(await ask("/v1/models"), "data")
        if each.get("owned_by") == "vllm"
    ]


_RECOGNIZE: Mapping[str, Callable[[Ask], Awaitable[list[LocalModel]]]] = {
    "Ollama": _ollama,
    "LM Studio": _lm_studio,
    "llama.cpp": _llama_cpp,
    "vLLM": _vllm,
}


def _objects(fields: Fields, name: str) -> list[Fields]:
    listed = fields.get(name)
    return [cast("Fields", each) for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []


def _text(fields: Fields, name: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) else ""


def _number(fields: Fields, name: str) -> int | None:
    value = fields.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
