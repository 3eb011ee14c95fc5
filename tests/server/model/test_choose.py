"""Settings and environment decide who answers; every way to get it wrong is told with what to set."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from rolecall_server.errors import FileRefused, KeyRefused, NoModelConfigured, RolecallError
from rolecall_server.model import ChatMessage, Recorder, ReplayModel, choose_model, estimate_tokens
from rolecall_server.model.endpoint import OPENAI_BASE_URL, Endpoint, find_endpoint
from rolecall_server.model.openai_chat import OpenAIChat
from rolecall_server.settings import ModelSettings
from support.chat_server import ChatServer

NOBODY: Mapping[str, str] = {}
KEY = {"OPENAI_API_KEY": "sk-1"}


def test_a_name_and_a_key_ask_openai() -> None:
    client = choose_model(ModelSettings(name="gpt-x"), KEY)
    assert isinstance(client, OpenAIChat)
    assert client.label == f"gpt-x at {OPENAI_BASE_URL}"


def test_an_address_is_enough() -> None:
    client = choose_model(ModelSettings(base_url="http://localhost:11434/v1/"), NOBODY)
    assert client.label == "The model at http://localhost:11434/v1"


def test_a_replay_wins_over_everything(tmp_path: Path) -> None:
    recording = tmp_path / "talk.jsonl"
    recording.touch()
    client = choose_model(ModelSettings(name="gpt-x", replay=str(recording)), KEY)
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
        choose_model(settings, environ)


@pytest.mark.parametrize("key", ["sk-1\nsk-2", "sk-…", "Bearer sk-1"])
def test_a_key_that_cannot_be_one_is_refused_without_showing_it(key: str) -> None:
    with pytest.raises(KeyRefused) as caught:
        choose_model(ModelSettings(name="gpt-x"), {"OPENAI_API_KEY": key})
    assert "sk-" not in str(caught.value)


def test_a_missing_recording_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileRefused, match="cannot be read"):
        choose_model(ModelSettings(replay=str(tmp_path / "none.jsonl")), NOBODY)


async def test_a_variable_names_the_file_that_calls_are_recorded_in(tmp_path: Path) -> None:
    recording = tmp_path / "talk.jsonl"
    with ChatServer("hello") as server:
        settings = ModelSettings(base_url=server.base_url)
        client = choose_model(settings, {"ROLECALL_RECORD": str(recording)})
        assert isinstance(client, Recorder)
        await client.complete([ChatMessage("user", "hi")])
        await client.aclose()
    assert (await ReplayModel(recording).complete([ChatMessage("user", "hi")])).text == "hello"


async def test_the_key_comes_from_the_variable_that_is_set_for_it() -> None:
    environ = {"OPENAI_API_KEY": "sk-1", "MY_KEY": " sk-mine\n"}
    with ChatServer("hello") as server:
        client = choose_model(ModelSettings(base_url=server.base_url, api_key_variable="MY_KEY"), environ)
        await client.complete([ChatMessage("user", "hi")])
        await client.aclose()
    assert {request.headers["authorization"] for request in server.requests} == {"Bearer sk-mine"}


async def test_a_local_server_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-process")
    with ChatServer("hello") as server:
        client = choose_model(ModelSettings(base_url=server.base_url), NOBODY)
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
        choose_model(given, NOBODY)


def test_tokens_are_estimated_by_size_whatever_the_script() -> None:
    assert estimate_tokens("") == 0
    assert estimate_tokens("x") == 1
    assert estimate_tokens("x" * 3500) == 1000
    assert estimate_tokens("試" * 3500) == 3000
    assert estimate_tokens("half a pair: \ud800") > 1
