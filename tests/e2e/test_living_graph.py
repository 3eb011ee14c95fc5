"""The server's worker processes, seen from outside: they show progress, and they never outlive the server."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import psutil
import pytest

from support.editor import until
from support.frames import FrameClient, connected
from support.trees import write_modules
from support.workspaces import contents, environment

LARGE = "".join(f"def f{number}(): ...\n" for number in range(10_000))


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return environment(tmp_path / "home")


def workspace(root: Path, n_files: int, n_lines: int = 5) -> Path:
    (write_modules(root, n_files, n_lines=n_lines) / "pyproject.toml").write_text("")
    return root.resolve()


async def begin(client: FrameClient, root: Path, **capabilities: object) -> None:
    folder = {"uri": root.as_uri(), "name": root.name}
    await client.initialize(workspaceFolders=[folder], capabilities=capabilities)


def children(client: FrameClient) -> list[psutil.Process]:
    return psutil.Process(client.process.pid).children(recursive=True)


def is_running(process: psutil.Process) -> bool:
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


async def test_no_process_outlives_a_server_that_is_killed(tmp_path: Path, environ: dict[str, str]) -> None:
    root = workspace(tmp_path / "work", 600, n_lines=200)
    async with connected(root, environ) as client:
        await begin(client, root)
        await until(lambda: children(client))
        started = children(client)
        client.process.kill()
        await until(lambda: not any(map(is_running, started)))


async def test_a_shutdown_ends_the_processes_in_the_middle_of_a_scan(tmp_path: Path, environ: dict[str, str]) -> None:
    root = workspace(tmp_path / "work", 600, n_lines=200)
    before = contents(root)
    async with connected(root, environ) as client:
        await begin(client, root)
        await until(lambda: children(client))
        started = children(client)
        assert "error" not in await client.request("shutdown")
        assert not any(map(is_running, started))
        await client.notify("exit")
        assert await client.exit_code() == 0
        assert "Traceback" not in await client.log()
    assert contents(root) == before


async def test_a_long_scan_shows_how_far_it_is_where_the_editor_shows_progress(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    # Enough to take seconds; a machine with more processors has as many more processes that read.
    n_files = min(5_000, 1_250 * (os.cpu_count() or 1))
    root = workspace(tmp_path / "work", n_files, n_lines=150)

    def is_progress(message: dict[str, Any], kind: str) -> bool:
        return message.get("method") == "$/progress" and message["params"]["value"]["kind"] == kind

    async with connected(root, environ) as client:
        await begin(client, root, window={"workDoneProgress": True})
        asked = await client.answer("window/workDoneProgress/create", None)
        begun = await client.wait_for(lambda message: is_progress(message, "begin"))
        assert begun["params"]["token"] == asked["token"]
        assert begun["params"]["value"]["title"] == "Indexing work"
        report = await client.wait_for(lambda message: is_progress(message, "report"))
        assert f"of {n_files:,} files" in report["params"]["value"]["message"]
        assert 0 < report["params"]["value"]["percentage"] <= 100
        await client.wait_for(lambda message: is_progress(message, "end"))


async def test_a_request_is_answered_while_a_large_document_is_read(tmp_path: Path, environ: dict[str, str]) -> None:
    root = workspace(tmp_path / "work", 3)
    uri = (root / "large.py").as_uri()
    item = {"uri": uri, "languageId": "python", "version": 1, "text": LARGE}
    place = {"line": 7, "character": 5}
    params = {
        "textDocument": {"uri": uri},
        "range": {"start": place, "end": place},
        "context": {"diagnostics": []},
    }
    async with connected(root, environ) as client:
        await begin(client, root)
        await client.notify("textDocument/didOpen", {"textDocument": item})
        reply = await client.request("textDocument/codeAction", params)
        titles = [action["title"] for action in reply["result"]]
        assert "Rolecall: generate tests for f7" in titles
        (worker,) = children(client)
        worker.kill()
        edit = {"range": params["range"], "text": "x"}
        await client.notify(
            "textDocument/didChange", {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [edit]}
        )
        reply = await client.request("textDocument/codeAction", params)
        assert "Rolecall: generate tests for fx7" in [action["title"] for action in reply["result"]]
