"""The table of the functions that answer an editor, and how little of them its first answer needs."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from pathlib import Path

import pytest

from rolecall_server.lsp import registration
from support.workspaces import environment, write_workspace

TELL_WHAT_IS_IMPORTED = """
import sys
from rolecall_server.lsp import stdio

async def tell():
    sys.stderr.write("\\n".join(sys.modules))
    sys.stderr.flush()
    stdio.os._exit(0)

stdio._get_ready = tell  # begins when `initialize` is answered
from rolecall_server.__main__ import main
sys.argv = ["rolecall", "serve"]
main()
"""

NOT_FOR_INITIALIZE = (
    "coverage",
    "httpx",
    "openai",
    "rich",
    "rolecall_analysis.faults",
    "rolecall_analysis.flow",
    "rolecall_analysis.queries",
    "rolecall_analysis.resolution",
    "rolecall_analysis.retrieval",
    "rolecall_analysis.unbound",
    "rolecall_server.cli.commands",
    "rolecall_server.context",
    "rolecall_server.craft",
    "rolecall_server.lsp.commands",
    "rolecall_server.lsp.handlers.review",
    "rolecall_server.lsp.handlers.team",
    "rolecall_server.model",
    "rolecall_server.sandbox",
    "rolecall_server.team.documents",
    "rolecall_server.team.roles",
    "rolecall_server.team.run",
    "yaml",
)
"""Modules that take long to import and that say nothing of what the server can do."""


@pytest.mark.starts_anew
def test_initialize_is_answered_without_what_only_later_questions_need(tmp_path: Path) -> None:
    root = write_workspace(tmp_path / "work")
    params = {
        "processId": None,
        "rootUri": None,
        "capabilities": {},
        "workspaceFolders": [{"uri": root.as_uri(), "name": "w"}],
    }
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).encode()
    server = subprocess.Popen(
        [sys.executable, "-I", "-c", TELL_WHAT_IS_IMPORTED],
        env=environment(tmp_path / "home"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    answered, told = server.communicate(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    imported = told.decode().splitlines()
    assert json.loads(answered.partition(b"\r\n\r\n")[2])["result"]["serverInfo"]["name"] == "rolecall"
    assert "rolecall_server.lsp.handlers.lifecycle" in imported
    assert [name for name in imported if name.startswith(NOT_FOR_INITIALIZE)] == []


@pytest.mark.parametrize("name", registration.IN_TURN.values())
def test_what_is_done_in_turn_waits_for_nothing(name: str) -> None:
    assert not inspect.iscoroutinefunction(registration.named_function(name))


@pytest.mark.parametrize("name", registration.AT_LEISURE.values())
def test_what_is_done_at_leisure_can_be_awaited(name: str) -> None:
    assert inspect.iscoroutinefunction(registration.named_function(name))


@pytest.mark.parametrize("name", registration.COMMANDS.values())
def test_each_command_has_its_function(name: str) -> None:
    assert callable(registration.named_function(f"commands.{name}"))
