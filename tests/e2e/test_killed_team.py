"""A run of the team whose process is killed again and again: nothing is lost, nothing is paid twice."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from rolecall_server.model import ChatMessage
from rolecall_server.team.messages.board import Pool, load_pool
from support.chat_server import ChatServer, Turn, hangs
from support.dying import DyingPopen
from support.patience import PATIENCE_S
from support.prepared import ROLECALL, PreparedPopen
from support.proposals import store_of
from support.shop_team import BRIEF, shop_speeches
from support.team_model import who_is_asked
from support.workspaces import contents, environment, write_workspace

ROLES = "product_manager,architect,project_manager,engineer,qa_engineer,reviewer"
QUIET = ("--json", "--set", "tests.run=false", "--set", "budget.tokensPerRun=0", "--set", "budget.callsPerRun=0")
KILLED = -signal.SIGKILL
N_STEPS = 12


@dataclass
class Office:
    """The team's model on loopback; it can have whoever asks it killed in the middle of a call."""

    home: Path
    asked: list[str] = field(default_factory=list[str])
    """The conversation of each call, as the store keeps it."""
    kill_at: str = ""
    """Whose next call is the last of its process."""
    process: subprocess.Popen[bytes] | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, body: Mapping[str, Any]) -> str | Turn:
        messages = [ChatMessage(one["role"], one["content"]) for one in body["messages"]]
        who = who_is_asked(messages)
        with self.lock:
            self.asked.append(json.dumps([one.text for one in messages]))
            if self.kill_at and who == self.kill_at and self.process is not None:
                os.kill(self.process.pid, signal.SIGKILL)
                return hangs()
        said = shop_speeches()[who]
        assert isinstance(said, str)
        return said

    def paid(self) -> set[str]:
        """The conversations whose calls are finished, as the store knows it."""
        calls = store_of(self.home).calls("r1")
        return {json.dumps([one["text"] for one in json.loads(c.request)]) for c in calls if c.reply is not None}

    def answered(self) -> set[str]:
        """Who was asked in those."""
        talks = map(json.loads, self.paid())
        return {who_is_asked([ChatMessage("system", one[0]), ChatMessage("user", one[1])]) for one in talks}

    def run(self, base_url: str, root: Path, *command: str, dies: Sequence[str] = ()) -> int:
        """The exit code of a process that is waited for; it may die before or after a step of its own."""
        environ, nothing = environment(self.home, base_url), subprocess.DEVNULL
        popen = DyingPopen if dies else PreparedPopen
        self.process = popen([*ROLECALL, *dies, *command], cwd=root, env=environ, stdin=nothing, stdout=nothing)
        return self.process.wait(PATIENCE_S)

    def said(self) -> dict[tuple[str, str], str]:
        """What each document of the run says now."""
        pool: Pool = load_pool(store_of(self.home), "r1")
        assert all(message.version == 1 for message in pool.messages), "nothing was done twice"
        return {(one.kind, one.subject): re.sub(r"127.0.0.1:\d+", "HOST", one.body) for one in pool.messages}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_workspace(tmp_path / "work")


def undisturbed(folder: Path) -> tuple[dict[tuple[str, str], str], int]:
    """What a run says that nobody kills, and how many calls it takes."""
    office = Office(folder / "home")
    with ChatServer(office.answer) as chat:
        root = write_workspace(folder / "work")
        assert office.run(chat.base_url, root, "run", BRIEF, "--roles", ROLES, *QUIET) == 0
    return office.said(), len(office.asked)


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_run_killed_at_every_step_ends_as_one_that_was_not(tmp_path: Path, root: Path, when: str) -> None:
    expected, n_calls = undisturbed(tmp_path / "other")
    before = contents(root)
    office = Office(tmp_path / "home")
    with ChatServer(office.answer) as chat:
        command = ("run", BRIEF, "--roles", ROLES, *QUIET)
        n_steps = code = 0
        for n_steps in range(1, N_STEPS + 2):
            paid, n_asked = office.paid() if n_steps > 1 else set(), len(office.asked)
            dies_at = "1" if when == "after" else "2"  # the first is done, or a run would never get on
            code = office.run(chat.base_url, root, *command, dies=(when, dies_at))
            assert not paid & set(office.asked[n_asked:]), "a finished call is not made again"
            if code != KILLED:
                break
            command = ("resume", "r1", *QUIET)
        assert code == 0
        chat.problems.clear()  # a process that is killed may leave half a request behind
        assert n_steps == (N_STEPS + 1 if when == "after" else N_STEPS), "it was killed at every step"
    assert office.said() == expected
    assert contents(root) == before
    assert len(set(office.asked)) == n_calls


def test_a_run_killed_inside_every_model_call_ends_as_one_that_was_not(tmp_path: Path, root: Path) -> None:
    expected, n_calls = undisturbed(tmp_path / "other")
    office = Office(tmp_path / "home")
    with ChatServer(office.answer) as chat:
        command = ("run", BRIEF, "--roles", ROLES, *QUIET)
        for who in shop_speeches():
            if office.asked and who in office.answered():
                continue  # roles at work at the same time may have been faster than the kill
            office.kill_at = who
            paid, n_asked = office.paid() if office.asked else set(), len(office.asked)
            assert office.run(chat.base_url, root, *command) == KILLED
            assert not paid & set(office.asked[n_asked:]), "a finished call is not made again"
            command = ("resume", "r1", *QUIET)
        office.kill_at = ""
        paid, n_asked = office.paid(), len(office.asked)
        assert office.run(chat.base_url, root, *command) == 0
        assert not paid & set(office.asked[n_asked:])
        chat.problems.clear()  # a process that is killed may leave half a request behind
    assert office.said() == expected
    assert len(set(office.asked)) == n_calls
