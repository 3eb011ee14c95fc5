"""Which client answers, by settings and environment."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rolecall_server.errors import NoModelConfigured
from rolecall_server.model.client import ModelClient
from rolecall_server.model.endpoint import find_endpoint
from rolecall_server.model.recording import Recorder
from rolecall_server.model.replay import ReplayModel
from rolecall_server.settings import ModelSettings

RECORD_VARIABLE = "ROLECALL_RECORD"
"""Names the file to which finished calls are appended."""


def choose_model(settings: ModelSettings, environ: Mapping[str, str]) -> ModelClient:
    """The client that answers: a replay if one is set, else the named model or endpoint.

    Nothing is asked of the network yet.

    Raises:
        NoModelConfigured: nothing names a model, or what does cannot be used.
        KeyRefused: the key holds characters that no key can have.
        FileRefused: the recording to replay or to write cannot be used.
    """
    if settings.replay:
        return ReplayModel(Path(settings.replay).expanduser())
    if not settings.name and not settings.base_url:
        raise _nothing_named(settings, environ)
    endpoint = find_endpoint(settings, environ)

    from rolecall_server.model.openai_chat import OpenAIChat  # the SDK takes long to import

    client = OpenAIChat(endpoint, settings.name, settings.timeout_seconds)
    recording = environ.get(RECORD_VARIABLE)
    return Recorder(client, Path(recording).expanduser()) if recording else client


def _nothing_named(settings: ModelSettings, environ: Mapping[str, str]) -> NoModelConfigured:
    if environ.get(settings.api_key_variable):
        return NoModelConfigured(
            f"{settings.api_key_variable} is set; only the model's name is missing.",
            "Name the model in ROLECALL_MODEL, or in your editor's setting rolecall.model.name.",
        )
    return NoModelConfigured("No language model is configured.")
