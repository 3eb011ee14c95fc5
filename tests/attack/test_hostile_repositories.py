"""Repositories that a stranger made: no line of theirs runs outside of walls, and each command ends with an answer.

What "outside" means is seen by a trace in a place that no process behind walls can reach. Each trap has a control: a
careless command, without walls, which it springs on.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from support.attacks import LONG
from support.chat_server import ChatServer
from support.editor import editing
from support.edits import block
from support.odd_files import FAILING, HANGING, NAMING, PRINTING
from support.patience import PATIENCE_S
from support.traps import RUNNING, SECRET, Trap
from support.workspaces import GOOD_TESTS, environment

_CARELESS_S = 1.0
_MOST_MEMORY = 6 * 2**30
_EVERY = 1 if LONG else 29
TRAPS = [*RUNNING, *PRINTING, *NAMING, *HANGING, *FAILING]
_TRAPS = {trap.name: trap for trap in TRAPS[::_EVERY]}

ALL = """
import json, sys
from rolecall_server.__main__ import main
for arguments in json.loads(sys.argv[1]):
    sys.argv = ["rolecall", *arguments]
    try:
        status = main()
    except SystemExit as end:
        status = end.code
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    print(f"\\n--- {arguments[0]} ended with {status}", flush=True)
"""
"""Commands one after the other in one process, which is started once."""

SET = ("--set", "tests.timeoutSeconds=20", "--set", "tests.worthSeconds=0")
EDITS = {
    "shop/price.py": block("shop/price.py", "    return sum(items)\n", "    return sum(items, 0)\n"),
    "web/price.js": block("web/price.js", "", "// total\n"),
}


def commands(trap: Trap) -> list[list[str]]:
    """Return what a developer does with a repository."""
    return [
        *map(list, trap.before),
        ["doctor"],
        ["graph", "stats", "."],
        ["rank", ".", "total of the cart"],
        ["implement", "Round total.", "--in", trap.target, "--json", *SET],
        ["review"],
        ["review", "p1", "--accept", "all", "--untested", "--anyway"],
        ["tests", "shop/price.py", "--yes", *SET],
        ["documents", "--understand"],
    ]


def answering(trap: Trap) -> Any:
    def speak(body: Mapping[str, Any]) -> str:
        return GOOD_TESTS if "QA Engineer" in str(body["messages"][0]) else EDITS[trap.target]

    return speak


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    """A file that is there once a line of the repository ran without walls."""
    return tmp_path / "executed"


@pytest.fixture(params=_TRAPS)
def trap(request: pytest.FixtureRequest, root: Path, marker: Path, tmp_path: Path) -> Iterator[Trap]:
    chosen = _TRAPS[request.param]
    chosen.set_up(root, marker, tmp_path / "home")
    yield chosen
    shutil.rmtree(root, ignore_errors=True)


def environ_in(root: Path, base_url: str = "") -> dict[str, str]:
    """An environment that makes careless programs run what lies in *root*."""
    environ = environment(root.parent / "home", base_url, PYTHONPATH=".")
    return {**environ, "PATH": f".:{root}:{environ['PATH']}"}


def ours(*arguments: str) -> list[str]:
    limit = shutil.which("prlimit")
    assert limit is not None
    return [limit, f"--as={_MOST_MEMORY}", sys.executable, "-I", *arguments]


def test_every_command_ends_with_an_answer_and_runs_nothing_outside_of_walls(
    trap: Trap, root: Path, marker: Path
) -> None:
    given = commands(trap)
    with ChatServer(answering(trap)) as chat:
        ended = subprocess.run(
            ours("-c", ALL, json.dumps(given)),
            cwd=root,
            env=environ_in(root, chat.base_url),
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=2 * PATIENCE_S,
            check=False,
        )
    said = (ended.stdout + ended.stderr).decode("utf-8", "backslashreplace")
    assert not marker.exists(), f"{marker.read_text()} ran without walls\n{said}"
    assert "Traceback" not in said, said
    assert ended.returncode == 0, said
    for command in given:
        assert f"--- {command[0]} ended with " in said, said
    assert all(status in "0123" for status in said.split(" ended with ")[1:] for status in status[:1]), said
    assert trap.harm != "prints" or trap.shown not in said
    assert not any(SECRET in str(body) for body in chat.asked)


async def test_a_server_opens_it_and_offers_what_it_can_do(trap: Trap, root: Path, marker: Path) -> None:
    with ChatServer(answering(trap)) as chat:
        async with editing(root, environ_in(root, chat.base_url), command=ours("-m", "rolecall_server")) as editor:
            editor.open(trap.target)
            assert await editor.actions(trap.target)
            await editor.client.protocol.send_request_async("rolecall/status", {})
    assert not marker.exists(), marker.read_text()
    assert not any(SECRET in message for message in editor.messages)


def test_the_trap_is_armed(trap: Trap, root: Path, marker: Path) -> None:
    process = subprocess.Popen(
        trap.careless,
        cwd=root,
        env={**environ_in(root), "PATH": environment(root.parent / "home")["PATH"]},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE if trap.harm != "hangs" else subprocess.DEVNULL,
        stderr=subprocess.STDOUT,
    )
    try:
        said, _ = process.communicate(timeout=_CARELESS_S if trap.harm == "hangs" else PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        assert trap.harm == "hangs"
        return
    if trap.harm == "runs":
        assert marker.exists(), said
    elif trap.harm == "prints":
        assert trap.shown in said.decode(errors="replace")
    else:
        assert trap.harm == "fails"
        assert process.returncode != 0, said
