"""The known abilities of an endpoint: tried by `ability_trials`, or met in passing, and remembered for a week."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, field, replace

from pydantic import TypeAdapter, ValidationError

from rolecall_server.model.endpoint import Endpoint
from rolecall_server.store import Store

EXPIRES_AFTER_S = 7 * 86_400.0


@dataclass(frozen=True)
class Abilities:
    """The known abilities of one model at one endpoint; ``None`` is not known."""

    service: str = ""
    """The kind of server, where it can be told."""
    context_tokens: int | None = None
    """The tokens that prompt and reply may have together."""
    streaming: bool | None = None
    json_schema: bool | None = None
    json_object: bool | None = None
    tools: bool | None = None
    logprobs: bool | None = None
    parallel: bool | None = None
    """Two calls at once are answered side by side."""
    refused: frozenset[str] = field(default_factory=frozenset[str])
    """Options that the endpoint does not take, by the names of `Dialect`."""
    tried: bool = False
    """It was tried with calls of its own; otherwise this is what was met in passing."""


_ABILITIES = TypeAdapter(Abilities)


def recall_abilities(store: Store, endpoint: Endpoint, model: str) -> Abilities | None:
    """Return the remembered abilities of *model* at *endpoint*; None if there are none, or they are old."""
    stored = store.endpoint(endpoint.address, model)
    if stored is None or time.time() - stored.at_s > EXPIRES_AFTER_S:
        return None
    with suppress(ValidationError):
        return _ABILITIES.validate_json(stored.body)
    return None


def remember_abilities(store: Store, endpoint: Endpoint, model: str, abilities: Abilities) -> None:
    """Keep *abilities* for a week."""
    store.save_endpoint(endpoint.address, model, _ABILITIES.dump_json(abilities).decode())


def remember_refusal(store: Store, endpoint: Endpoint, model: str, refused: str) -> None:
    """Keep that the endpoint does not take the option *refused*; how long what is known lasts stays as it is."""
    known = recall_abilities(store, endpoint, model) or Abilities()
    without = {refused: False} if refused in ("json_schema", "json_object", "tools") else {}
    remember_abilities(store, endpoint, model, replace(known, refused=known.refused | {refused}, **without))
