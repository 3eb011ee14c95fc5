"""An editor lends its own language models: listed, asked, streamed, refused, cancelled; the status says who answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from support.chat_server import ChatServer
from support.edits import block
from support.frames import FrameClient, connected
from support.stores import open_store
from support.workspaces import contents, environment, write_workspace

REPLY = block("shop/price.py", "    return sum(items)\n", "    return sum(items, 0)\n")
MODELS = {"models": [{"id": "x-1", "name": "X", "vendor": "copilot", "family": "x", "maxInputTokens": 64_000}]}
LENDS = {"experimental": {"rolecall": {"models": True}}}
UNTESTED = {"tests": {"run": False}}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_workspace(tmp_path / "work")


@pytest.fixture
async def client(root: Path, tmp_path: Path) -> AsyncIterator[FrameClient]:
    """An editor that lends its models, on a machine where no other is configured."""
    async with connected(root, environment(tmp_path / "home")) as client:
        folder = {"uri": root.as_uri(), "name": root.name}
        await client.initialize(workspaceFolders=[folder], capabilities=LENDS, initializationOptions=UNTESTED)
        yield client


async def ask_engineer(client: FrameClient, root: Path, models: object = MODELS) -> dict[str, Any]:
    """The reply to the command, once the editor has said which models it has."""
    arguments = {"uri": (root / "shop" / "price.py").as_uri(), "brief": "Round."}
    params = {"command": "rolecall.brief.implement", "arguments": [arguments]}
    asked = asyncio.create_task(client.request("workspace/executeCommand", params))
    await client.answer("rolecall/model/list", models)
    return (await asked)["result"]


async def status_of(client: FrameClient) -> dict[str, Any]:
    """The server's status, for which it asks the editor for its models once more."""
    before = list(client.received)
    asked = asyncio.create_task(client.request("rolecall/status", {}))
    listing = await client.wait_for(
        lambda message: message.get("method") == "rolecall/model/list" and message not in before
    )
    await client.send({"jsonrpc": "2.0", "id": listing["id"], "result": MODELS})
    return (await asked)["result"]


def is_request(message: dict[str, Any]) -> bool:
    return message.get("method") == "rolecall/model/ask"


async def test_a_role_works_with_the_editors_model_and_its_pieces_are_shown_as_they_come(
    client: FrameClient, root: Path, tmp_path: Path
) -> None:
    assert "runId" in await ask_engineer(client, root)
    asked = (await client.wait_for(is_request))["params"]
    assert (asked["vendor"], asked["model"]) == ("copilot", "x-1")
    assert "Round." in asked["messages"][-1]["text"]
    assert "code you point them at" in asked["justification"]
    for piece in (REPLY[:20], REPLY[20:]):
        await client.notify("rolecall/model/delta", {"callId": asked["callId"], "text": piece})
    await client.answer("rolecall/model/ask", {"text": REPLY, "promptTokens": 900, "completionTokens": 40})
    done = await client.wait_for(lambda message: (message.get("params") or {}).get("state") == "finished")
    assert done["params"]["proposalId"] == "p1"
    store = open_store(tmp_path / "home" / "data" / "rolecall" / "rolecall.db")
    assert store.spent("r1").tokens == 940
    store.close()
    assert not client.broken


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ({"text": "", "error": {"kind": "consent", "message": "not allowed"}}, "ModelWithheld"),
        ({"text": "", "error": {"kind": "notFound", "message": "gone"}}, "UnknownModel"),
        ({"text": "", "error": {"kind": "blocked", "message": "filtered"}}, "ReplyRefused"),
        ({"text": "", "error": {"kind": "tooLong", "message": "too many tokens"}}, "ContextOverflow"),
        ({"text": "", "error": {"kind": "quota", "message": "slow down"}}, "RateLimited"),
        ({"text": "", "error": {"kind": "new", "message": "?"}}, "ProviderUnavailable"),
        ({"text": " "}, "ReplyMalformed"),
        ({"text": 5}, "ReplyMalformed"),
        ([], "ReplyMalformed"),
        (None, "ReplyMalformed"),
    ],
)
async def test_what_keeps_the_model_from_answering_is_one_typed_error_and_nothing_is_written(
    client: FrameClient, root: Path, answer: object, error: str
) -> None:
    before = contents(root)
    await ask_engineer(client, root)
    await client.answer("rolecall/model/ask", answer)
    if error == "ContextOverflow":  # it is shown less, and asked once more
        first = await client.wait_for(is_request)
        again = await client.wait_for(lambda message: is_request(message) and message["id"] != first["id"])
        await client.send({"jsonrpc": "2.0", "id": again["id"], "result": answer})
    failed = await client.wait_for(lambda message: (message.get("params") or {}).get("state") == "failed")
    assert failed["params"]["error"] == error
    assert contents(root) == before


async def test_a_cancelled_run_takes_its_request_back_and_a_late_answer_is_harmless(
    client: FrameClient, root: Path
) -> None:
    run_id = (await ask_engineer(client, root))["runId"]
    asked = await client.wait_for(is_request)
    await client.request(
        "workspace/executeCommand", {"command": "rolecall.run.cancel", "arguments": [{"runId": run_id}]}
    )
    taken_back = await client.wait_for(lambda message: message.get("method") == "$/cancelRequest")
    assert taken_back["params"]["id"] == asked["id"]
    await client.notify("rolecall/model/delta", {"callId": asked["params"]["callId"], "text": "late"})
    await client.notify("rolecall/model/delta", {"callId": "nobody's"})
    await client.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"text": "late"}})
    assert (await status_of(client))["runs"] == []


async def test_a_model_that_goes_in_circles_is_stopped(client: FrameClient, root: Path) -> None:
    await ask_engineer(client, root)
    asked = (await client.wait_for(is_request))["params"]
    for _ in range(60):
        await client.notify("rolecall/model/delta", {"callId": asked["callId"], "text": "and again " * 10})
    failed = await client.wait_for(lambda message: (message.get("params") or {}).get("state") == "failed")
    assert failed["params"]["error"] == "ReplyRepeats"
    await client.wait_for(lambda message: message.get("method") == "$/cancelRequest")


@pytest.mark.parametrize("models", [{"models": []}, None, {"models": [{"name": "no id"}]}])
async def test_an_editor_without_models_is_as_one_that_lends_none(
    client: FrameClient, root: Path, models: object
) -> None:
    assert (await ask_engineer(client, root, models))["error"] == "NoModelConfigured"


async def test_the_status_says_which_model_answers_and_why(client: FrameClient) -> None:
    status = await status_of(client)
    assert status["model"]["label"] == "X (copilot) in your editor"
    assert (status["model"]["why"], status["model"]["contextTokens"]) == ("your editor offers it", 64_000)


async def test_what_is_configured_is_asked_and_the_editor_is_not(root: Path, tmp_path: Path) -> None:
    with ChatServer(REPLY) as chat:
        async with connected(root, environment(tmp_path / "home", chat.base_url)) as client:
            folder = {"uri": root.as_uri(), "name": root.name}
            await client.initialize(workspaceFolders=[folder], capabilities=LENDS, initializationOptions=UNTESTED)
            status = (await client.request("rolecall/status", {}))["result"]["model"]
            assert status["why"] == "ROLECALL_MODEL names it"
        assert not chat.requests, "a status asks no model anything"
        assert not any(str(message.get("method")).startswith("rolecall/model") for message in client.received)


async def test_an_editors_model_that_was_chosen_is_asked_though_a_key_for_another_is_set(
    root: Path, tmp_path: Path
) -> None:
    with ChatServer(REPLY) as other:
        keys = {"OPENAI_API_KEY": "sk-somebody-elses", "OPENAI_BASE_URL": other.base_url}
        async with connected(root, {**environment(tmp_path / "home"), **keys}) as client:
            folder = {"uri": root.as_uri(), "name": root.name}
            chosen = {**UNTESTED, "model": {"name": "copilot/x-1", "baseUrl": "editor:"}}
            await client.initialize(workspaceFolders=[folder], capabilities=LENDS, initializationOptions=chosen)
            assert "runId" in await ask_engineer(client, root)
            asked = (await client.wait_for(is_request))["params"]
            assert (asked["vendor"], asked["model"]) == ("copilot", "x-1")
            await client.answer("rolecall/model/ask", {"text": REPLY})
            done = await client.wait_for(lambda message: (message.get("params") or {}).get("state") == "finished")
            assert done["params"]["proposalId"] == "p1"
        assert not other.requests
