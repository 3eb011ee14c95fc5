"""What an editor's status bar, its choice of a model and its questions need from the server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from support.chat_server import ChatServer, says
from support.editor import Editor, capabilities, editing, until, value_of
from support.edits import block
from support.workspaces import environment, write_workspace

ADD_TAX = block("shop/price.py", "    return sum(items)\n", "    return sum(items) * 1.2\n")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_workspace(tmp_path / "work")


async def ask(editor: Editor, method: str, **params: object) -> Any:
    return await editor.client.protocol.send_request_async(f"rolecall/{method}", params)


async def configure(editor: Editor, **settings: object) -> None:
    editor.changed.clear()
    params = types.DidChangeConfigurationParams({"rolecall": settings})
    editor.client.workspace_did_change_configuration(params)
    await until(lambda: "status" in editor.changed)


async def test_another_model_in_the_settings_is_told_and_is_the_one_that_answers(root: Path) -> None:
    async with editing(root, environment(root.parent / "home")) as editor:
        assert value_of(value_of(await ask(editor, "status"), "model"), "state") == "limited"
        await configure(editor, model={"name": "some-model", "baseUrl": "http://127.0.0.1:9/v1"})
        told = value_of(await ask(editor, "status"), "model")
        assert value_of(told, "label") == "some-model at http://127.0.0.1:9/v1"


async def test_a_key_goes_to_the_address_it_is_for_and_to_no_other(root: Path) -> None:
    with ChatServer("") as one, ChatServer("") as other:
        one.models = other.models = ["m"]
        async with editing(root, environment(root.parent / "home")) as editor:
            await ask(editor, "model/key", address=f"{one.base_url}/", key="sk-of-one")
            for chat in (one, other):
                listed = value_of(await ask(editor, "model/choices", address=chat.base_url), "servers")
                assert [value_of(model, "name") for model in value_of(listed[0], "models")] == ["m"]
                await configure(editor, model={"name": "m", "baseUrl": chat.base_url})
                await ask(editor, "model/test")
            heads = [{request.headers.get("authorization") for request in chat.requests} for chat in (one, other)]
            assert "Bearer sk-of-one" in heads[0]
            assert not any("sk-of-one" in (head or "") for head in heads[1])
            await ask(editor, "model/key", address=one.base_url, key="")
            one.requests.clear()
            await configure(editor, model={"name": "m", "baseUrl": one.base_url})
            await ask(editor, "model/test")
            assert not any("sk-of-one" in (request.headers.get("authorization") or "") for request in one.requests)


async def test_an_address_where_nobody_answers_is_said_to_be_one(root: Path) -> None:
    async with editing(root, environment(root.parent / "home")) as editor:
        (server,) = value_of(await ask(editor, "model/choices", address="http://127.0.0.1:9/v1"), "servers")
        assert value_of(server, "models") == []
        assert "127.0.0.1:9" in value_of(server, "problem")


async def test_what_is_at_work_and_what_waits_is_told(root: Path) -> None:
    with ChatServer(says(ADD_TAX, n_pieces=20, pause_s=0.05)) as chat:
        async with editing(root, environment(root.parent / "home", chat.base_url)) as editor:
            uri = editor.open("shop/price.py")
            reply = await editor.execute("rolecall.brief.implement", uri=uri, brief="Add the tax.")
            (run,) = value_of(await ask(editor, "activity"), "runs")
            assert value_of(run, "runId") == value_of(reply, "runId")
            assert value_of(run, "role") == "engineer"
            assert value_of(value_of(await ask(editor, "activity"), "waiting"), "hunks") == 0
            await until(lambda: editor.ended_runs)
            await until(lambda: "p1/h1" in editor.hunks("shop/price.py"))
            told = await ask(editor, "activity")
            assert value_of(told, "runs") == []
            assert value_of(value_of(told, "waiting"), "hunks") == 1
            editor.changed.clear()
            await editor.execute("rolecall.hunk.reject", proposalId="p1", hunkId="h1")
            await until(lambda: "activity" in editor.changed)
            assert value_of(value_of(await ask(editor, "activity"), "waiting"), "hunks") == 0


@pytest.mark.parametrize("restricted", [True, False])
async def test_where_nothing_is_trusted_proposals_are_decided_and_nothing_is_run(root: Path, restricted: bool) -> None:
    environ = environment(root.parent / "home")
    with ChatServer(ADD_TAX) as chat:
        async with editing(root, environment(root.parent / "home", chat.base_url)) as editor:
            await editor.run("rolecall.brief.implement", uri=editor.open("shop/price.py"), brief="Add the tax.")
    able = capabilities()
    able.experimental = {"rolecall": {"restricted": restricted}}
    async with editing(root, environ, None, able) as editor:
        uri = editor.open("shop/price.py")
        reply = await editor.execute("rolecall.tests.generate", uri=uri)
        assert value_of(reply, "error") == ("UserMustAct" if restricted else None)
        assert any("This workspace is not trusted. Trust it" in told for told in editor.messages) == restricted
        await editor.execute("rolecall.hunk.accept", proposalId="p1", hunkId="h1")
        await until(lambda: "* 1.2" in editor.text("shop/price.py"))
        if not restricted:
            await until(lambda: editor.ended_runs)
