"""The choice of the model that answers, and why: by the settings, else the environment, else the editor, else this
machine.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from rolecall_server.errors import NoModelConfigured
from rolecall_server.model.chat_completions.dialect import Dialect
from rolecall_server.model.client import ModelClient, Parameters
from rolecall_server.model.endpoint import Endpoint, find_endpoint
from rolecall_server.model.recordings.recording import Recorder
from rolecall_server.model.recordings.replay import ReplayModel
from rolecall_server.model.selection.abilities import Abilities, recall_abilities, remember_refusal
from rolecall_server.model.selection.breaker import Breaker, CircuitBreaker
from rolecall_server.model.selection.local_servers import FindLocal, LocalService, find_local_services
from rolecall_server.settings import ModelSettings
from rolecall_server.store import Store

RECORD_VARIABLE = "ROLECALL_RECORD"
"""Names the file to which finished calls are appended."""
EDITORS = "editor:"
"""The address that stands for the editor's own models: no endpoint is asked then, whatever the environment names."""


@dataclass(frozen=True)
class EditorModel:
    """A model that the editor offers."""

    client: ModelClient
    context_tokens: int | None = None


EditorOffer = Callable[[str], Awaitable[EditorModel | None]]
"""The editor's model of a name, or its own choice where that is empty; None where it has none."""


@dataclass(frozen=True)
class Chosen:
    """The model that answers."""

    client: ModelClient
    why: str
    """The source that named it, as ``ROLECALL_MODEL`` or ``a llama.cpp server on this machine``."""
    endpoint: Endpoint | None = None
    """Where it is asked; ``None`` for a recording and the editor's own."""
    model: str = ""
    """Its name; empty while the endpoint's only one is meant."""
    context_tokens: int | None = None
    """The tokens that prompt and reply may have together, as the model counts; ``None`` where nobody knows."""
    takes_tools: bool = False
    """It may be offered tools. A recording answers what was asked when it was made, and nothing else."""
    others: tuple[str, ...] = field(default=())
    """The other models that could have been chosen."""


async def find_model(
    settings: ModelSettings,
    environ: Mapping[str, str],
    *,
    offer: EditorOffer | None = None,
    store: Store | None = None,
    find_local: FindLocal = find_local_services,
) -> Chosen:
    """Return the model that answers: one that is named, else the editor's own, else one of a server on this machine.

    The editor and the machine are asked only where neither a setting nor the environment names a model, or where the
    setting says that the editor's own are meant; then nobody else is asked. *store*
    remembers what endpoints refuse and what models can do, so that it is not tried anew in each session.

    Raises:
        NoModelConfigured: there is none, or the one that is named cannot be used.
        KeyRefused: the key holds characters that no key can have.
        FileRefused: the recording to replay or to write cannot be used.
    """
    try:
        chosen = await _editors_model(settings, environ, offer) or named_model(settings, environ, store)
    except NoModelConfigured:
        # Who names an address means that one: no other model is taken in its place.
        if settings.base_url or settings.replay:
            raise
        offered = await offer(settings.name) if offer is not None else None
        services = await find_local() if offered is None and settings.probe_local and not settings.name else ()
        if offered is not None:
            why = f"your editor offers it{' under that name' if settings.name else ''}"
            chosen = Chosen(_recorded(offered.client, environ), why, context_tokens=offered.context_tokens)
        elif services:
            chosen = _local_model(services, _Means(settings, environ, store))
        else:
            raise
    return _with_abilities(chosen, store)


async def _editors_model(
    settings: ModelSettings, environ: Mapping[str, str], offer: EditorOffer | None
) -> Chosen | None:
    """Return the model of the editor that the settings name; ``None`` where they do not say that it is the editor's.

    Raises:
        NoModelConfigured: they do, and the editor has none of that name.
    """
    if settings.base_url != EDITORS or settings.replay:
        return None
    offered = await offer(settings.name) if offer is not None else None
    if offered is None:
        raise NoModelConfigured(
            f"Your editor offers no model {settings.name}".rstrip() + ", and rolecall.model.baseUrl says that it is "
            "the editor's.",
            "Choose another model, or sign in where the editor gets it from.",
        )
    why = "the setting rolecall.model.name names it in your editor" if settings.name else "it is your editor's choice"
    return Chosen(_recorded(offered.client, environ), why, context_tokens=offered.context_tokens)


def _with_abilities(chosen: Chosen, store: Store | None) -> Chosen:
    """Return *chosen* with what *store* remembers of its model."""
    remembered = recall_abilities(store, chosen.endpoint, chosen.model) if store and chosen.endpoint else None
    abilities = remembered or Abilities()
    is_live = not isinstance(chosen.client, ReplayModel | Recorder)
    context_tokens = chosen.context_tokens or abilities.context_tokens
    return replace(chosen, context_tokens=context_tokens, takes_tools=is_live and abilities.tools is not False)


def named_model(settings: ModelSettings, environ: Mapping[str, str], store: Store | None = None) -> Chosen:
    """Return the model that a setting or the environment names, without any request to the network.

    Raises:
        NoModelConfigured: neither does, or what is named cannot be used.
        KeyRefused: the key holds characters that no key can have.
        FileRefused: the recording to replay or to write cannot be used.
    """
    if settings.replay:
        why = _named_by(settings.replay, environ, "ROLECALL_REPLAY", "rolecall.model.replay")
        return Chosen(ReplayModel(Path(settings.replay).expanduser()), why)
    if not settings.name and not settings.base_url:
        raise _nothing_named(settings, environ)
    endpoint = find_endpoint(settings, environ)
    if settings.name:
        why = _named_by(settings.name, environ, "ROLECALL_MODEL", "rolecall.model.name")
    else:
        why = _named_by(settings.base_url, environ, "ROLECALL_BASE_URL", "rolecall.model.baseUrl")
    return Chosen(_Means(settings, environ, store).client(endpoint, settings.name), why, endpoint, settings.name)


def _local_model(services: tuple[LocalService, ...], means: _Means) -> Chosen:
    """Return the first loaded model of *services*, else the first of all."""
    pairs = [(service, model) for service in services for model in service.models]
    service, model = next((pair for pair in pairs if pair[1].loaded), pairs[0])
    return Chosen(
        client=means.client(service.endpoint, model.name),
        why=f"nothing is configured, and {service.name} runs on this machine",
        endpoint=service.endpoint,
        model=model.name,
        context_tokens=model.context_tokens,
        others=tuple(f"{other.name} ({where.name})" for where, other in pairs if other is not model),
    )


@dataclass(frozen=True)
class _Means:
    """The means with which a client is made."""

    settings: ModelSettings
    environ: Mapping[str, str]
    store: Store | None

    def client(self, endpoint: Endpoint, model: str) -> ModelClient:
        """Return the client of *model* at *endpoint*, which knows what earlier ones learned."""
        from rolecall_server.model.chat_completions.openai_chat import OpenAIChat  # the SDK takes long to import

        settings = self.settings
        parameters = Parameters(temperature=settings.temperature, top_p=settings.top_p, seed=settings.seed)
        dialect = Dialect(settings.reply_tokens)
        if self.store is not None:
            known = recall_abilities(self.store, endpoint, model)
            dialect.refused |= known.refused if known else set()
            dialect.on_refusal = partial(remember_refusal, self.store, endpoint, model)
        chat = OpenAIChat(endpoint, model, settings.timeout_seconds, parameters=parameters, dialect=dialect)
        breaker = _breakers.setdefault(endpoint.address, Breaker())
        return _recorded(CircuitBreaker(chat, endpoint, breaker), self.environ)


_breakers: dict[str, Breaker] = {}
"""The breakers of this process's endpoints, by address: a new client is no reason to hammer one again."""


def _recorded(client: ModelClient, environ: Mapping[str, str]) -> ModelClient:
    recording = environ.get(RECORD_VARIABLE)
    return Recorder(client, Path(recording).expanduser()) if recording else client


def _named_by(value: str, environ: Mapping[str, str], variable: str, setting: str) -> str:
    return f"{variable} names it" if environ.get(variable) == value else f"the setting {setting} names it"


def _nothing_named(settings: ModelSettings, environ: Mapping[str, str]) -> NoModelConfigured:
    if environ.get(settings.api_key_variable):
        return NoModelConfigured(
            f"{settings.api_key_variable} is set; only the model's name is missing.",
            "Name the model in ROLECALL_MODEL, or in your editor's setting rolecall.model.name.",
        )
    return NoModelConfigured("No language model is configured.")
