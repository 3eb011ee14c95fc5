"""What llama.cpp, Ollama, LM Studio and vLLM really send is understood; `recorded/` says where each text is from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from rolecall_server.errors import ContextOverflow, ProviderUnavailable, ReplyCut, RolecallError, UnknownModel
from rolecall_server.model import NO_WISHES, ChatMessage, Parameters, Reply, ToolSpec, Wishes, ask_for
from rolecall_server.model.chat_completions.openai_chat import OpenAIChat
from rolecall_server.model.endpoint import Endpoint
from rolecall_server.model.selection.local_servers import (
    LocalModel,
    LocalService,
    ServerAddress,
    describe_service,
    find_local_services,
)
from support.chat_server import ChatServer, Script, Speech, Turn, hangs, sends_body
from support.patience import PATIENCE_S

RECORDED = Path(__file__).parent / "recorded"
SERVERS = {"Ollama": "ollama", "LM Studio": "lm_studio", "llama.cpp": "llama_cpp", "vLLM": "vllm"}
QUESTION = [ChatMessage("user", "hi")]


class Where(BaseModel):
    path: str


async def _read(where: Where) -> str:
    return where.path


READ = ToolSpec("read", "A file.", Where, _read)


@cache
def recording(server: str) -> Mapping[str, Any]:
    return json.loads((RECORDED / f"{SERVERS[server]}.json").read_text(encoding="utf-8"))


def turn(page: Mapping[str, Any]) -> Turn:
    """A page as it was sent; what may pass is tried again at once."""
    return sends_body(page["body"], status=page["status"], content_type=page["contentType"])


def chat(server: str, name: str) -> Turn:
    return turn(recording(server)["chats"][name])


def pages(server: str) -> dict[str, Turn]:
    return {path: turn(page) for path, page in recording(server)["pages"].items()}


async def complete(script: Script, wishes: Wishes = NO_WISHES) -> tuple[Reply | RolecallError, list[Mapping[str, Any]]]:
    """What comes of a question, and what was sent for it."""
    with ChatServer(script) as server:
        client = OpenAIChat(Endpoint(server.base_url), "m", 5, 32_000)
        try:
            return await client.complete(QUESTION, wishes), list(server.asked)
        except RolecallError as error:
            return error, list(server.asked)
        finally:
            await client.aclose()


def test_every_recording_says_where_it_is_from() -> None:
    for server in SERVERS:
        assert len(recording(server)["provenance"]) > 40


@pytest.mark.parametrize(
    ("server", "name", "text"),
    [
        ("Ollama", "text", "Hello."),
        ("Ollama", "reasoning", "Hello."),
        ("LM Studio", "text", "Hello."),
        ("vLLM", "text", "Hello."),
        ("vLLM", "reasoning", "Hello."),
    ],
)
async def test_text_is_put_together(server: str, name: str, text: str) -> None:
    reply, _ = await complete(chat(server, name))
    assert isinstance(reply, Reply)
    assert reply.text == text


@pytest.mark.parametrize("server", ["Ollama", "LM Studio", "vLLM"])
async def test_tool_calls_are_put_together(server: str) -> None:
    reply, _ = await complete(chat(server, "tool"), Wishes(tools=[READ]))
    assert isinstance(reply, Reply)
    assert [(call.name, json.loads(call.arguments)) for call in reply.calls] == [("read", {"path": "a"})]


async def test_llama_cpp_says_how_many_tokens_there_were_and_where_its_length_ended_it() -> None:
    whole, _ = await complete(chat("llama.cpp", "shape"))
    assert isinstance(whole, Reply)
    assert isinstance(json.loads(whole.text)["ok"], bool)
    assert (whole.prompt_tokens, whole.completion_tokens) == (22, 29)
    cut, _ = await complete(chat("llama.cpp", "cut"))
    assert isinstance(cut, ReplyCut)
    assert cut.said


@pytest.mark.parametrize(
    ("server", "name", "error"),
    [
        ("Ollama", "unknown", UnknownModel),
        ("Ollama", "busy", ProviderUnavailable),
        ("Ollama", "crash", ProviderUnavailable),
        ("Ollama", "crashInStream", ProviderUnavailable),
        ("LM Studio", "noModel", UnknownModel),
        ("LM Studio", "tooLongInStream", ContextOverflow),
        ("LM Studio", "unloadedInStream", ProviderUnavailable),
        ("llama.cpp", "tooLong", ContextOverflow),
        ("vLLM", "tooLong", ContextOverflow),
        ("vLLM", "unknown", UnknownModel),
    ],
)
async def test_what_a_server_complains_of_is_told_as_what_it_is(
    server: str, name: str, error: type[RolecallError]
) -> None:
    failure, _ = await complete(chat(server, name))
    assert type(failure) is error


@pytest.mark.parametrize("name", ["tooMuch", "tooMuchNew"])
async def test_a_server_that_counts_the_longest_reply_into_its_context_is_asked_for_what_fits(name: str) -> None:
    reply, asked = await complete([chat("vLLM", name), "Hello."])
    assert isinstance(reply, Reply)
    assert [body["max_completion_tokens"] for body in asked] == [32_000, 16_384 - 10_123 - 16]


@pytest.mark.parametrize(("server", "name"), [("Ollama", "noTools"), ("vLLM", "noAutoTools")])
async def test_a_model_without_tools_is_told_of_them_in_words(server: str, name: str) -> None:
    reply, asked = await complete([chat(server, name), "Hello."], Wishes(tools=[READ]))
    assert isinstance(reply, Reply)
    assert ["tools" in body for body in asked] == [True, False]


@pytest.mark.parametrize("name", ["badSchema", "badGrammar"])
async def test_a_schema_that_llama_cpp_cannot_follow_is_given_up_for_words(name: str) -> None:
    def script(body: Mapping[str, Any]) -> Speech:
        refuses = body.get("response_format", {}).get("type") == "json_schema"
        return chat("llama.cpp", name) if refuses else '{"path": "a"}'

    with ChatServer(script) as server:
        client = OpenAIChat(Endpoint(server.base_url), "m", 5)
        answer = await ask_for(client, QUESTION, Where, Wishes(parameters=Parameters(temperature=0)), prose_first=False)
        await client.aclose()
    assert answer.value == Where(path="a")


async def test_lm_studio_which_has_schemas_but_no_json_mode_ends_with_words() -> None:
    def script(body: Mapping[str, Any]) -> Speech:
        kind = body.get("response_format", {}).get("type")
        return chat("LM Studio", "noJsonObject") if kind else '{"path": "a"}'

    with ChatServer(script) as server:
        client = OpenAIChat(Endpoint(server.base_url), "m", 5)
        assert (await ask_for(client, QUESTION, Where, prose_first=False)).value == Where(path="a")
        await client.aclose()
    assert len(server.asked) == 3


# Who is there


FOUND = {
    "Ollama": (LocalModel("qwen2.5-coder:7b", True, 4096, True), LocalModel("gemma3:4b")),
    "LM Studio": (
        LocalModel("qwen2.5-coder-7b-instruct", True, 7800, True),
        LocalModel("meta-llama-3.1-8b-instruct"),
    ),
    "llama.cpp": (LocalModel("tiny.gguf", True, 2048, False, 1),),
    "vLLM": (LocalModel("Qwen/Qwen2.5-Coder-7B-Instruct", True, 16384),),
}


@pytest.mark.parametrize("name", SERVERS)
async def test_a_server_is_recognized_and_says_what_its_models_can_do(name: str) -> None:
    with ChatServer("ok", models=None, pages=pages(name)) as server:
        found = await find_local_services([ServerAddress(name, server.base_url)], timeout_s=PATIENCE_S)
        assert found == (LocalService(name, Endpoint(server.base_url), FOUND[name]),)
        assert await describe_service(Endpoint(server.base_url), timeout_s=PATIENCE_S) == found[0]
    assert not server.asked


@pytest.mark.parametrize("name", SERVERS)
async def test_no_server_is_taken_for_another(name: str) -> None:
    others = [other for other in SERVERS if other != name]
    for other in others:
        with ChatServer("ok", models=None, pages=pages(other)) as server:
            assert await find_local_services([ServerAddress(name, server.base_url)], timeout_s=PATIENCE_S) == ()


WEB = sends_body("<html>Welcome", content_type="text/html")
NOT_MODELS = {
    "a web page": WEB,
    "JSON of its own": sends_body('{"status": "ok"}'),
    "another list": sends_body('{"object": "list", "data": [{"id": 1, "owned_by": "me"}]}'),
    "no JSON": sends_body("ok"),
    "a deep body": sends_body("[" * 100_000),
    "a list": sends_body('[{"id": "m", "owned_by": "vllm"}]'),
    "nothing for ever": hangs(),
    "an error": sends_body("{}", status=500),
    "a redirect": sends_body("", status=307),
}


@pytest.mark.parametrize("what", NOT_MODELS)
async def test_whatever_else_listens_there_is_no_model(what: str) -> None:
    paths = ("/v1/models", "/props", "/api/version", "/api/tags", "/api/ps", "/api/v0/models")
    with ChatServer("ok", models=None, pages=dict.fromkeys(paths, NOT_MODELS[what])) as server:
        places = [ServerAddress(name, server.base_url) for name in SERVERS]
        assert await find_local_services(places, timeout_s=0.3) == ()
        assert not server.asked


async def test_a_huge_list_is_not_read_to_its_end() -> None:
    models = json.dumps({"data": [{"id": "m" * 1000, "owned_by": "vllm"}] * 10_000})
    with ChatServer("ok", models=None, pages={"/v1/models": sends_body(models)}) as server:
        assert await find_local_services([ServerAddress("vLLM", server.base_url)], timeout_s=PATIENCE_S) == ()


async def test_nobody_there_is_soon_known() -> None:
    assert await find_local_services([ServerAddress(name, "http://127.0.0.1:1/v1") for name in SERVERS]) == ()
