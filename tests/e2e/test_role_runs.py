"""Runs of one role that end before their end, in an editor and on the command line, and what going on costs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from support.chat_server import ChatServer, Turn, hangs, stalls_after
from support.editor import editing, until, value_of
from support.edits import block
from support.patience import PATIENCE_S
from support.terminal import in_terminal
from support.workspaces import GOOD_TESTS, environment, write_workspace

ROLECALL = (sys.executable, "-I", "-m", "rolecall_server")
PRICE = "shop/price.py"
BROKEN = block(PRICE, "    return sum(items)\n", "    return (sum(items)\n")
REPAIRED = block(PRICE, "    return (sum(items)\n", "    return sum(items) * 2\n")
WRONG_TESTS = GOOD_TESTS.replace("== 9", "== 8")
REPAIRED_TESTS = block("tests/test_price.py", "    assert discount(10) == 8\n", "    assert discount(10) == 9\n")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_workspace(tmp_path / "work")


def go_on(root: Path, script: list[str | Turn], *options: str) -> tuple[subprocess.CompletedProcess[str], int]:
    """Take up r1 on the command line; how that ended, and how often the model was asked."""
    with ChatServer(script) as chat:
        ended = subprocess.run(
            [*ROLECALL, "resume", "r1", *options],
            cwd=root,
            env=environment(root.parent / "home", chat.base_url),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        return ended, len(chat.asked)


def test_tests_stopped_with_ctrl_c_in_a_repair_are_taken_up_without_paying_the_first_call_again(root: Path) -> None:
    with (
        ChatServer([WRONG_TESTS, stalls_after("I will ")]) as chat,
        in_terminal(
            [*ROLECALL, "tests", PRICE], root, environment(root.parent / "home", chat.base_url), columns=200
        ) as terminal,
    ):
        terminal.wait_for("the model is writing (7 characters)")
        terminal.type("\x03")
        assert terminal.wait_for_end() == 130
        assert "`rolecall resume r1` goes on." in terminal.shown
    ended, n_asked = go_on(root, [REPAIRED_TESTS], "--yes")
    assert (ended.returncode, n_asked) == (0, 1), ended.stderr
    assert "test_discount_takes_a_tenth():\n    assert discount(10) == 9" in (root / "tests/test_price.py").read_text()
    assert ended.stderr.startswith("r1: the QA Engineer in ")


def test_an_implementation_killed_in_a_call_is_taken_up_with_that_call(root: Path) -> None:
    dying: list[subprocess.Popen[bytes]] = []
    is_begun = threading.Event()

    def answer(body: Mapping[str, Any]) -> str | Turn:
        if len(body["messages"]) == 2:
            return BROKEN
        assert is_begun.wait(PATIENCE_S)
        os.kill(dying[0].pid, signal.SIGKILL)
        return hangs()

    command = [*ROLECALL, "implement", "Double it.", "--in", PRICE, "--yes", "--set", "tests.run=false"]
    with ChatServer(answer) as chat:
        environ = environment(root.parent / "home", chat.base_url)
        dying.append(subprocess.Popen(command, cwd=root, env=environ, stdin=subprocess.DEVNULL))
        is_begun.set()
        assert dying[0].wait(PATIENCE_S) == -signal.SIGKILL
        assert len(chat.asked) == 2
        chat.problems.clear()  # a process that is killed may leave half a request behind
    ended, n_asked = go_on(root, [REPAIRED], "--yes", "--untested", "--set", "tests.run=false")
    assert (ended.returncode, n_asked) == (0, 1), ended.stderr
    assert "return sum(items) * 2\n" in (root / PRICE).read_text()


async def test_a_role_is_paused_in_an_editor_before_its_next_call_and_goes_on_with_it(root: Path) -> None:
    is_paused = threading.Event()

    def answer(body: Mapping[str, Any]) -> str:
        if len(body["messages"]) > 2:
            return REPAIRED
        assert is_paused.wait(PATIENCE_S)
        return BROKEN

    with ChatServer(answer) as chat:
        environ = environment(root.parent / "home", chat.base_url)
        async with editing(root, environ, {"tests": {"run": False}}) as editor:
            reply = await editor.execute("rolecall.brief.implement", uri=editor.open(PRICE), brief="Double it.")
            run_id = value_of(reply, "runId")
            await until(lambda: chat.asked)
            assert value_of(await editor.execute("rolecall.run.pause"), "runIds") == [run_id]
            is_paused.set()
            await until(lambda: run_id in editor.ended_runs)
            assert editor.ended_runs.pop(run_id)["state"] == "paused"
            assert not editor.hunks(PRICE)
            activity = await editor.client.protocol.send_request_async("rolecall/activity", {})
            (stopped,) = value_of(activity, "stopped")
            assert [value_of(stopped, name) for name in ("runId", "state", "brief")] == [run_id, "paused", "Double it."]
            ended = await editor.run("rolecall.run.resume")
            assert (ended["runId"], ended["state"], ended["proposalId"]) == (run_id, "finished", "p1")
            assert set(editor.hunks(PRICE)) == {"p1/h1"}
            told = await editor.client.protocol.send_request_async("rolecall/messages", {"runId": run_id})
            kinds = [value_of(one, "kind") for one in value_of(told, "messages")]
        assert kinds == ["plan", "brief", "plan", "proposal"], "the strategy is chosen once, and stands in the plan"
        assert len(chat.asked) == 2


def test_the_log_has_the_messages_of_a_run_of_one_role(root: Path) -> None:
    with ChatServer([block(PRICE, "    return sum(items)\n", "    return sum(items) * 2\n")]) as chat:
        environ = environment(root.parent / "home", chat.base_url)
        for command in (["implement", "Double it.", "--set", "tests.run=false"], ["log", "r1"]):
            said = subprocess.run(
                [*ROLECALL, *command],
                cwd=root,
                env=environ,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=True,
            ).stdout
    assert "m2  developer: brief v1; read by engineer" in said
    assert "m3  team: plan v2: strategy standard, because nothing speaks for more or less" in said
    assert "m4  engineer: proposal v1, because of m2" in said
