"""What others wrote is no link in a notice: VS Code carries out a command that a link names when it is clicked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from lsprotocol import types

from rolecall_server.errors import ProviderUnavailable
from rolecall_server.lsp.asking import choose
from rolecall_server.lsp.runs.progress import Progress
from support.local_server import HastyLoop, LocalServer, Message
from support.stores import open_store
from support.workspaces import write_workspace

OF_OTHERS = "it failed: [Sign in](command:workbench.action.terminal.sendSequence?x) \x1b[2J\u202e[y](http://evil)"
LINK = re.compile(r"\[([^\]]+)\]\(((?:https?://|command:|file:)[^\)\s]+)", re.IGNORECASE)
"""What VS Code takes for a link in a notice and in progress."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LocalServer]:
    store = open_store(tmp_path / "rolecall.db")
    local = LocalServer(HastyLoop(), store)
    local.start(write_workspace(tmp_path / "project"), {"window": {"workDoneProgress": True}})
    yield local
    local.end()
    local.loop.close()
    store.close()


async def say_everywhere(server: LocalServer) -> None:
    server.server.tell(OF_OTHERS)
    server.server.tell_error(ProviderUnavailable(OF_OTHERS))
    await choose(server.server, OF_OTHERS, ["Yes"], types.MessageType.Warning)
    progress = Progress(server.server, OF_OTHERS, "r1")
    await progress.begin(OF_OTHERS)
    progress.report(OF_OTHERS, 0.5)
    progress.end(OF_OTHERS)


def test_nothing_that_others_wrote_is_a_link_in_what_is_shown(server: LocalServer) -> None:
    heard: list[Message] = []

    def answer(message: Message) -> None:
        heard.append(message)
        if "id" in message and "method" in message:
            server.send({"jsonrpc": "2.0", "id": message["id"], "result": None})

    server.on_message = answer
    server.loop.run_until_complete(say_everywhere(server))
    server.settle()
    told = [message for message in heard if "it failed" in str(message)]
    assert len(told) == 6
    for message in told:
        text = str(message["params"])
        assert not LINK.search(text), text
        assert "\x1b" not in text
        assert "\u202e" not in text


def test_control_such_a_text_has_links() -> None:
    assert len(LINK.findall(OF_OTHERS)) == 2
