"""Settings and environment decide who answers; every way to get it wrong is told with what to set."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from rolecall_server.errors import FileRefused, KeyRefused, NoModelConfigured, RolecallError
from rolecall_server.model import (
    ChatMessage,
    EditorModel,
    EditorOffer,
    Recorder,
    ReplayModel,
    estimate_tokens,
    find_model,
    named_model,
)
from rolecall_server.model.chat_completions.openai_chat import OpenAIChat
from rolecall_server.model.endpoint import OPENAI_BASE_URL, Endpoint, find_endpoint
from rolecall_server.model.selection.abilities import Abilities, recall_abilities, remember_abilities
from rolecall_server.model.selection.ability_trials import try_abilities
from rolecall_server.model.selection.breaker import CircuitBreaker
from rolecall_server.model.selection.local_servers import LocalModel, LocalService
from rolecall_server.settings import ModelSettings, Settings, read_settings
from rolecall_server.store import Store
from support.chat_server import ChatServer, Speech, fails, says
from support.scripted_model import ScriptedModel
from support.stores import open_store

NOBODY: Mapping[str, str] = {}
KEY = {"OPENAI_API_KEY": "sk-1"}


def test_a_name_and_a_key_ask_openai() -> None:
    client = named_model(ModelSettings(name="gpt-x"), KEY).client
    assert isinstance(client, CircuitBreaker)
    assert isinstance(client.client, OpenAIChat)
    assert client.label == f"gpt-x at {OPENAI_BASE_URL}"


def test_an_address_is_enough() -> None:
    client = named_model(ModelSettings(base_url="http://localhost:11434/v1/"), NOBODY).client
    assert client.label == "The model at http://localhost:11434/v1"


def test_a_replay_wins_over_everything(tmp_path: Path) -> None:
    recording = tmp_path / "talk.jsonl"
    recording.touch()
    client = named_model(ModelSettings(name="gpt-x", replay=str(recording)), KEY).client
    assert isinstance(client, ReplayModel)


@pytest.mark.parametrize(
    ("settings", "environ", "tells"),
    [
        (ModelSettings(), NOBODY, "ROLECALL_MODEL.*ROLECALL_BASE_URL.*rolecall.model.name"),
        (ModelSettings(), KEY, "only the model's name is missing.*ROLECALL_MODEL"),
        (ModelSettings(name="gpt-x"), NOBODY, "needs a key.*OPENAI_API_KEY"),
        (ModelSettings(name="gpt-x"), {"OPENAI_API_KEY": "  "}, "needs a key"),
        (ModelSettings(name="gpt-x", api_key_variable="MY_KEY"), KEY, "MY_KEY is empty"),
        (ModelSettings(base_url="https://api.openai.com/v1"), NOBODY, "needs a key"),
        (ModelSettings(base_url="localhost:11434/v1"), KEY, "no http or https address.*for example http://"),
        (ModelSettings(base_url="http://"), KEY, "no http or https address"),
        (ModelSettings(base_url="http://[::1/v1"), KEY, "no http or https address"),
        (ModelSettings(base_url="http://host:99999/v1"), KEY, "no http or https address"),
        (ModelSettings(base_url="file:///etc/passwd"), KEY, "no http or https address"),
    ],
)
def test_what_is_missing_is_named(settings: ModelSettings, environ: Mapping[str, str], tells: str) -> None:
    with pytest.raises(NoModelConfigured, match=tells):
        named_model(settings, environ)


@pytest.mark.parametrize("key", ["sk-1\nsk-2", "sk-…", "Bearer sk-1"])
def test_a_key_that_cannot_be_one_is_refused_without_showing_it(key: str) -> None:
    with pytest.raises(KeyRefused) as caught:
        named_model(ModelSettings(name="gpt-x"), {"OPENAI_API_KEY": key})
    assert "sk-" not in str(caught.value)


def test_a_missing_recording_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileRefused, match="cannot be read"):
        named_model(ModelSettings(replay=str(tmp_path / "none.jsonl")), NOBODY)


async def test_a_variable_names_the_file_that_calls_are_recorded_in(tmp_path: Path) -> None:
    recording = tmp_path / "talk.jsonl"
    with ChatServer("hello") as server:
        settings = ModelSettings(base_url=server.base_url)
        client = named_model(settings, {"ROLECALL_RECORD": str(recording)}).client
        assert isinstance(client, Recorder)
        await client.complete([ChatMessage("user", "hi")])
        await client.aclose()
    assert (await ReplayModel(recording).complete([ChatMessage("user", "hi")])).text == "hello"


async def test_the_key_comes_from_the_variable_that_is_set_for_it() -> None:
    environ = {"OPENAI_API_KEY": "sk-1", "MY_KEY": " sk-mine\n"}
    with ChatServer("hello") as server:
        client = named_model(ModelSettings(base_url=server.base_url, api_key_variable="MY_KEY"), environ).client
        await client.complete([ChatMessage("user", "hi")])
        await client.aclose()
    assert {request.headers["authorization"] for request in server.requests} == {"Bearer sk-mine"}


async def test_a_local_server_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-process")
    with ChatServer("hello") as server:
        client = named_model(ModelSettings(base_url=server.base_url), NOBODY).client
        await client.complete([ChatMessage("user", "hi")])
        await client.aclose()
    assert not any("sk-" in request.headers["authorization"] for request in server.requests)


def test_a_key_meant_for_another_address_does_not_go_to_openai() -> None:
    endpoint = find_endpoint(ModelSettings(name="m"), {**KEY, "OPENAI_BASE_URL": "http://proxy.example/v1"})
    assert endpoint.address == "http://proxy.example/v1"


@pytest.mark.parametrize(
    ("base_url", "is_local"),
    [
        ("http://localhost:1/v1", True),
        ("http://127.0.0.2/v1", True),
        ("http://[::1]:8080/v1", True),
        ("http://ollama.localhost/v1", True),
        ("http://192.168.1.5:11434/v1", False),
        ("https://localhost.example/v1", False),
    ],
)
def test_only_loopback_is_local(base_url: str, is_local: bool) -> None:
    assert Endpoint(base_url).is_local is is_local


@pytest.mark.parametrize("given", [ModelSettings(), ModelSettings(name="m"), ModelSettings(base_url="x")])
def test_every_refusal_is_one_of_ours(given: ModelSettings) -> None:
    with pytest.raises(RolecallError):
        named_model(given, NOBODY)


def test_tokens_are_estimated_by_size_whatever_the_script() -> None:
    assert estimate_tokens("") == 0
    assert estimate_tokens("x") == 1
    assert estimate_tokens("x" * 3500) == 1000
    assert estimate_tokens("試" * 3500) == 3000
    assert estimate_tokens("half a pair: \ud800") > 1


# Settings, environment, the editor, this machine: in that order


QUESTION = [ChatMessage("user", "hi")]
SMALL = LocalModel("small", context_tokens=4096)
LOADED = LocalModel("loaded", loaded=True, context_tokens=8192)
OLLAMA = LocalService("Ollama", Endpoint("http://127.0.0.1:11434/v1"), (SMALL,))
LLAMA = LocalService("llama.cpp", Endpoint("http://127.0.0.1:8080/v1"), (LOADED,))


class Machine:
    """What runs on it, and whether anybody looked."""

    def __init__(self, *services: LocalService) -> None:
        self.services, self.n_looks = services, 0

    async def __call__(self) -> tuple[LocalService, ...]:
        self.n_looks += 1
        return self.services


async def offer(name: str) -> EditorModel | None:
    model = ScriptedModel(["hello"], label="gpt-x in your editor")
    return EditorModel(model, 128_000) if name in ("", "gpt-x") else None


@pytest.mark.parametrize(
    ("settings", "environ", "label", "why"),
    [
        (
            ModelSettings(base_url="http://h/v1"),
            NOBODY,
            "The model at http://h/v1",
            "the setting rolecall.model.baseUrl",
        ),
        (ModelSettings(name="m"), {**KEY, "ROLECALL_MODEL": "m"}, f"m at {OPENAI_BASE_URL}", "ROLECALL_MODEL names it"),
        (ModelSettings(name="gpt-x"), NOBODY, "gpt-x in your editor", "offers it under that name"),
        (ModelSettings(), KEY, "gpt-x in your editor", "your editor offers it"),
    ],
)
async def test_what_is_named_comes_before_the_editor_and_the_editor_before_this_machine(
    settings: ModelSettings, environ: Mapping[str, str], label: str, why: str
) -> None:
    machine = Machine(OLLAMA)
    chosen = await find_model(settings, environ, offer=offer, find_local=machine)
    assert chosen.client.label == label
    assert why in chosen.why
    assert not machine.n_looks


async def test_an_editors_model_that_was_chosen_is_asked_whatever_key_the_environment_has() -> None:
    chosen = await find_model(ModelSettings(name="gpt-x", base_url="editor:"), KEY, offer=offer)
    assert (chosen.client.label, chosen.context_tokens, chosen.endpoint) == ("gpt-x in your editor", 128_000, None)


@pytest.mark.parametrize("offering", [offer, None])
async def test_where_the_editor_has_the_chosen_model_no_longer_nobody_else_is_asked(
    offering: EditorOffer | None,
) -> None:
    machine = Machine(OLLAMA)
    with pytest.raises(NoModelConfigured, match="Your editor offers no model gone"):
        await find_model(ModelSettings(name="gone", base_url="editor:"), KEY, offer=offering, find_local=machine)
    assert not machine.n_looks


async def test_this_machine_comes_last_and_a_model_that_is_loaded_before_others() -> None:
    chosen = await find_model(ModelSettings(), NOBODY, find_local=Machine(OLLAMA, LLAMA))
    assert chosen.client.label == "loaded at http://127.0.0.1:8080/v1"
    assert chosen.why == "nothing is configured, and llama.cpp runs on this machine"
    assert (chosen.context_tokens, chosen.others) == (8192, ("small (Ollama)",))


@pytest.mark.parametrize(
    "settings",
    [ModelSettings(probe_local=False), ModelSettings(name="gpt-y"), ModelSettings(base_url="no address")],
)
async def test_this_machine_is_not_looked_at_where_something_is_named_or_it_is_off(settings: ModelSettings) -> None:
    machine = Machine(OLLAMA)
    with pytest.raises(NoModelConfigured):
        await find_model(settings, NOBODY, offer=None, find_local=machine)
    assert not machine.n_looks


async def test_without_any_model_the_reason_is_that_none_is_configured() -> None:
    with pytest.raises(NoModelConfigured, match="No language model is configured"):
        await find_model(ModelSettings(), NOBODY, find_local=Machine())


# What a role has of its own


def test_a_role_has_its_own_model_and_parameters_and_the_rest_from_all() -> None:
    given = {"model": {"name": "m", "seed": 1}, "roles": {"qaEngineer": {"model": "q", "temperature": 0.2}}}
    settings, problems = read_settings(given, NOBODY)
    assert not problems
    own, other = settings.for_role("qa_engineer").model, settings.for_role("engineer").model
    assert (own.name, own.temperature, own.seed) == ("q", 0.2, 1)
    assert (other.name, other.temperature, other.seed) == ("m", None, 1)
    assert settings.for_role("gardener") == settings


def test_a_wrong_parameter_of_a_role_is_told_and_the_others_count() -> None:
    settings, problems = read_settings({"roles": {"engineer": {"temperature": 9}}, "model": {"name": "m"}}, NOBODY)
    assert problems == ("rolecall.roles.engineer: Input should be less than or equal to 2; the default is used.",)
    assert settings == Settings(model=ModelSettings(name="m"))


async def test_parameters_of_the_settings_are_sent() -> None:
    with ChatServer("hello") as server:
        given = ModelSettings(base_url=server.base_url, temperature=0.5, top_p=0.9, seed=3, reply_tokens=100)
        client = named_model(given, NOBODY).client
        await client.complete(QUESTION)
        await client.aclose()
    sent = {name: server.asked[0].get(name) for name in ("temperature", "top_p", "seed", "max_completion_tokens")}
    assert sent == {"temperature": 0.5, "top_p": 0.9, "seed": 3, "max_completion_tokens": 100}


# What an endpoint can do, tried once and remembered


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(tmp_path / "rolecall.db")


async def test_what_an_endpoint_refused_is_not_tried_again_by_the_next_client(store: Store) -> None:
    def script(body: Mapping[str, Any]) -> Speech:
        return fails(400, "Unknown field: stream_options") if "stream_options" in body else "ok"

    with ChatServer(script) as server:
        settings = ModelSettings(base_url=server.base_url, name="scripted-model")
        for _ in range(2):
            client = (await find_model(settings, NOBODY, store=store)).client
            await client.complete(QUESTION)
            await client.aclose()
        known = recall_abilities(store, Endpoint(server.base_url), "scripted-model")
    assert ["stream_options" in body for body in server.asked] == [True, False, False]
    assert known == Abilities(refused=frozenset({"stream_options"}))


def test_what_is_remembered_is_forgotten_after_a_week(store: Store) -> None:
    endpoint = Endpoint("http://h/v1")
    remember_abilities(store, endpoint, "m", Abilities(tools=True, tried=True))
    assert recall_abilities(store, endpoint, "m") == Abilities(tools=True, tried=True)
    assert recall_abilities(store, endpoint, "other") is None
    store.connection.execute("UPDATE endpoint SET at = at - 8 * 86400")
    assert recall_abilities(store, endpoint, "m") is None


def capable(body: Mapping[str, Any]) -> Speech:
    """An endpoint with schemas and JSON mode; it refuses tools and knows no log probabilities."""
    if "tools" in body:
        return fails(400, "no tools here")
    kind = body.get("response_format", {}).get("type")
    return says(
        {"json_schema": json.dumps({"sea": True}), "json_object": "{}"}.get(kind, "The sea is wide."), pause_s=0.05
    )


async def test_abilities_are_seen_in_what_the_model_does_and_not_in_what_it_is_told() -> None:
    with ChatServer(capable) as server:
        found = await try_abilities(Endpoint(server.base_url), "scripted-model")
    assert found == Abilities(
        streaming=True, json_schema=True, json_object=True, tools=False, logprobs=False, parallel=True, tried=True
    )
    assert all(body["max_tokens"] <= 64 for body in server.asked)
    assert len(server.asked) <= 7


@pytest.mark.parametrize("script", [fails(500), "", says("x", finish_reason="length")])
async def test_an_endpoint_that_only_talks_or_fails_can_nothing_and_raises_nothing(script: Speech) -> None:
    with ChatServer(script) as server:
        found = await try_abilities(Endpoint(server.base_url), "scripted-model")
    assert not any((found.json_schema, found.tools, found.logprobs))
