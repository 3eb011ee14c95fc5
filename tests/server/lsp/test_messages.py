"""Messages that are none, too late or about nobody: each leaves one line in the log, and the session as it was."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rolecall_server.lsp.runs.editor_model import ASK_REQUEST
from support.local_server import HastyLoop, LocalServer, Message
from support.stores import open_store
from support.workspaces import write_workspace


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LocalServer]:
    store = open_store(tmp_path / "rolecall.db")
    local = LocalServer(HastyLoop(), store)
    local.start(write_workspace(tmp_path / "project"), {})
    yield local
    local.end()
    local.loop.close()
    store.close()


def tracebacks(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.exc_info or "Traceback" in each.getMessage()]


def notification(**fields: object) -> Message:
    return {"jsonrpc": "2.0", **fields}


@pytest.mark.parametrize(
    "message",
    [
        notification(method="$/cancelRequest", params={"id": {}}),
        notification(method="$/cancelRequest", params={"id": [1]}),
        notification(method="$/cancelRequest", params={"id": None}),
        notification(method="$/cancelRequest", params={}),
        notification(method="$/cancelRequest"),
        notification(method=None),
        notification(method=None, params={"id": 1}),
        notification(method=7),
        notification(id="nobody asked", result=1),
        notification(id="nobody asked", error={"code": 1, "message": "no"}),
    ],
    ids=str,
)
def test_a_message_about_nothing_leaves_no_traceback(
    message: Message, server: LocalServer, caplog: pytest.LogCaptureFixture
) -> None:
    server.send(message)
    assert "result" in {"result": server.request("rolecall/status", {})}
    assert tracebacks(caplog) == []


def asked(server: LocalServer) -> tuple[Any, str]:
    """Return the future of a question to the editor, and its id."""
    sent: list[Message] = []
    server.on_message = sent.append

    async def ask() -> Any:
        future: Any = server.server.protocol.send_request_async(ASK_REQUEST, {})
        await asyncio.sleep(0.01)
        return future

    future = server.loop.run_until_complete(ask())
    return future, next(each["id"] for each in sent if each.get("method") == ASK_REQUEST)


def test_a_reply_to_a_question_that_nobody_waits_for_any_more_leaves_no_traceback(
    server: LocalServer, caplog: pytest.LogCaptureFixture
) -> None:
    future, number = asked(server)
    future.cancel()
    server.settle()
    server.send({"jsonrpc": "2.0", "id": number, "result": None})
    server.send({"jsonrpc": "2.0", "id": number, "error": {"code": 1, "message": "no"}})
    server.settle()
    assert tracebacks(caplog) == []


def test_an_editor_can_neither_cancel_what_it_is_asked_nor_answer_what_it_asked(
    server: LocalServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    future, number = asked(server)
    server.send(notification(method="$/cancelRequest", params={"id": number}))
    server.settle()
    assert not future.cancelled()
    server.send({"jsonrpc": "2.0", "id": number, "result": None})
    server.settle()
    assert future.result() is None
    server.send({"jsonrpc": "2.0", "id": 4711, "method": "rolecall/status", "params": {}})
    server.send({"jsonrpc": "2.0", "id": 4711, "result": "mine"})
    answers: list[Message] = []
    server.on_message = answers.append
    server._replies.clear()  # pyright: ignore[reportPrivateUsage]
    server.settle()
    assert [each["id"] for each in answers] == [4711]
    assert answers[0]["result"] != "mine"
    assert tracebacks(caplog) == []


def test_of_the_folders_in_a_message_those_on_this_machine_are_opened(server: LocalServer, tmp_path: Path) -> None:
    first, other = [*server.session.folders], (tmp_path / "other").resolve()
    other.mkdir()
    uris = ["file://server/share", "file://[", other.as_uri()]
    event = {"added": [{"uri": uri, "name": "folder"} for uri in uris], "removed": []}
    server.send(notification(method="workspace/didChangeWorkspaceFolders", params={"event": event}))
    server.settle()
    assert [*server.session.folders] == [*first, other]
