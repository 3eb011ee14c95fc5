"""A signal ends the server as a closed pipe does: nothing that it began is left behind."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from pathlib import Path

import psutil
import pytest

from support.frames import FrameClient, connected
from support.patience import PATIENCE_S
from support.stores import open_store
from support.workspaces import FILES, environment, write_workspace

SLOW = "import time\n\n\ndef test_that_takes_long():\n    time.sleep(3600)\n"
PRICE = "shop/price.py"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=lambda number: number.name)
async def test_a_signal_in_the_middle_of_tests_leaves_no_process_no_folder_and_no_run(
    tmp_path: Path, number: signal.Signals
) -> None:
    root = write_workspace(tmp_path / "work", {**FILES, "tests/test_price.py": f"import shop.price\n{SLOW}"})
    home = tmp_path / "home"
    async with connected(root, environment(home)) as client:
        await client.initialize(workspaceFolders=[{"uri": root.as_uri(), "name": "work"}])
        await begin_tests(client)
        children = await when_tests_run(client, home)
        client.process.send_signal(number)
        assert await client.exit_code() == 130
        assert "Traceback" not in await client.log()
        _, alive = psutil.wait_procs(children, PATIENCE_S)
    assert alive == []
    assert made_folders(home) == []
    assert [run.state for run in open_store(home / "data" / "rolecall" / "rolecall.db").runs(root)] == ["cancelled"]


async def test_a_signal_ends_a_server_that_has_nothing_to_do(tmp_path: Path) -> None:
    root = write_workspace(tmp_path / "work")
    async with connected(root, environment(tmp_path / "home")) as client:
        await client.initialize()
        client.process.send_signal(signal.SIGTERM)
        assert await client.exit_code() == 130
        assert await client.log() == ""


async def test_a_server_that_an_editor_leaves_without_a_word_removes_what_a_killed_one_left(tmp_path: Path) -> None:
    root, home = write_workspace(tmp_path / "work"), tmp_path / "home"
    environ = environment(home)
    (home / "tmp" / "rolecall-999999999-1-left").mkdir()
    async with connected(root, environ) as client:
        assert client.process.stdin is not None
        client.process.stdin.close()
        assert await client.exit_code() == 1
    assert made_folders(home) == []


async def begin_tests(client: FrameClient) -> None:
    """Propose an edit, which has the tests of the workspace run; the answer is not waited for."""
    text = FILES[PRICE].replace("sum(items)", "sum(items, 0)")
    params = {"origin": "An Agent", "title": "t", "files": [{"path": PRICE, "text": text}]}
    await client.send({"jsonrpc": "2.0", "id": "begun", "method": "rolecall/propose", "params": params})


async def when_tests_run(client: FrameClient, home: Path) -> list[psutil.Process]:
    """Return the processes of the server and below, once tests run among them in folders that were made for that."""
    server = psutil.Process(client.process.pid)
    async with asyncio.timeout(PATIENCE_S):
        while True:
            children = server.children(recursive=True)
            with contextlib.suppress(psutil.Error):
                if made_folders(home) and any("pytest" in " ".join(child.cmdline()) for child in children):
                    return children
            await asyncio.sleep(0.05)


def made_folders(home: Path) -> list[str]:
    """Return the temporary folders of ours."""
    return [path.name for path in (home / "tmp").iterdir() if path.name.startswith("rolecall-")]
