"""The main job in Helix, which has no scripts: keys go in by tmux, and what is on the screen comes out."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from support.chat_server import ChatServer
from support.edits import block
from support.live_editor import PRICE, REPOSITORY, files, setup_of, several_files, write_commented
from support.patience import PATIENCE_S
from support.workspaces import environment


class Helix:
    """A Helix that runs in a tmux of its own."""

    def __init__(self, server: str) -> None:
        self._server = server

    def press(self, *keys: str) -> None:
        """Press keys by tmux's names for them."""
        self._tmux("send-keys", "-t", "helix", *keys)

    def command(self, command: str) -> None:
        """Type a command line."""
        self.press(":")
        self._tmux("send-keys", "-t", "helix", "-l", command)
        self.press("Enter")

    def screen(self) -> str:
        """What a person sees."""
        return self._tmux("capture-pane", "-p", "-t", "helix")

    def until(self, condition: Callable[[str], object]) -> str:
        """Wait until *condition* holds of the screen; the screen."""
        end = time.monotonic() + PATIENCE_S
        while not condition(shown := self.screen()):
            assert time.monotonic() < end, f"the screen stays:\n{shown}"
            time.sleep(0.1)
        return shown

    def choose(self, line: int, title: str) -> None:
        """Open the menu of code actions on a line (from 1) and take the first that begins with *title*."""
        self.command(str(line))
        end = time.monotonic() + PATIENCE_S
        while (index := self._index_in_menu(title)) is None:
            assert time.monotonic() < end, f"{title} is not on the screen:\n{self.screen()}"
            self.press("Escape")  # the server was not ready, or the screen not yet drawn
            time.sleep(0.5)  # or it would count as the beginning of the next key
        self.press(*["C-n"] * index, "Enter")

    def _index_in_menu(self, title: str) -> int | None:
        self.press("Space", "a")
        time.sleep(0.5)
        offered = [line.split("  ")[0] for line in re.findall(r"\bRolecall: .*", self.screen())]
        matching = [index for index, each in enumerate(offered) if each.startswith(title)]
        return matching[0] if matching else None

    def _tmux(self, *arguments: str) -> str:
        done = subprocess.run(["tmux", "-L", self._server, *arguments], capture_output=True, text=True, check=True)
        return done.stdout


def program() -> str:
    """The program that starts Helix."""
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed: run scripts/install_system_packages.sh")
    script = REPOSITORY / "scripts" / "install_helix.sh"
    found = subprocess.run([script, "--check"], capture_output=True, text=True, check=False)
    if found.returncode != 0:
        pytest.skip("Helix is not installed: run scripts/install_helix.sh")
    return found.stdout.strip()


@contextlib.contextmanager
def editing(root: Path, proposal: str) -> Iterator[Helix]:
    """Helix on a file of *root*, set up as the page says, with a model that proposes *proposal*."""
    with ChatServer(proposal) as chat, running(root, environment(root.parent / "home", chat.base_url)) as helix:
        helix.until(lambda shown: "ROLECALL" in shown)
        yield helix


@contextlib.contextmanager
def running(root: Path, environ: Mapping[str, str]) -> Iterator[Helix]:
    configuration = Path(environ["HOME"]) / ".config" / "helix"
    configuration.mkdir(parents=True)
    (configuration / "languages.toml").write_text(setup_of("Helix"))
    path_variable = f"{Path(sys.executable).parent}{os.pathsep}{environ['PATH']}"
    environ = {**environ, "PATH": path_variable, "TERM": "xterm-256color", "SHELL": "/bin/sh"}
    server = f"rolecall-{uuid.uuid4()}"
    started = ["tmux", "-L", server, "-f", os.devnull, "new-session", "-d", "-s", "helix", "-x", "200", "-y", "50"]
    subprocess.run([*started, shlex.join([program(), PRICE])], cwd=root, env=environ, check=True)
    try:
        yield Helix(server)
    finally:
        subprocess.run(["tmux", "-L", server, "kill-server"], check=False, capture_output=True)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_commented(tmp_path / "work")


def test_one_hunk_is_accepted_one_rejected_and_the_saved_file_has_exactly_the_accepted_one(root: Path) -> None:
    before = files(root)
    tax = block(PRICE, "    return sum(items)\n", "    return sum(items) * 1.2\n")
    rate = block(PRICE, "    if rate > 1:\n", "    if rate >= 1:\n")
    with editing(root, f"{tax}\n{rate}") as helix:
        helix.choose(1, "Rolecall: implement")
        helix.until(lambda shown: shown.count("●") == 2)
        assert files(root) == before
        helix.choose(7, "Rolecall: accept h1")
        helix.until(lambda shown: "sum(items) * 1.2" in shown and shown.count("●") == 1)
        helix.choose(12, "Rolecall: reject h2")
        helix.until(lambda shown: "●" not in shown)
        assert files(root) == before
        helix.command("write-all")
        helix.until(lambda shown: "written" in shown)
    assert files(root) == {**before, PRICE: before[PRICE].replace(b"sum(items)", b"sum(items) * 1.2")}


def test_a_proposal_of_several_files_is_accepted_whole_saved_and_undone(root: Path) -> None:
    proposal, expected = several_files(root)
    with editing(root, proposal) as helix:
        helix.choose(1, "Rolecall: implement")
        helix.until(lambda shown: shown.count("●") == 2)
        helix.command("lsp-workspace-command rolecall.proposal.accept")
        helix.until(lambda shown: "sum(items) * 1.2" in shown and "●" not in shown)
        helix.command("write-all")
        helix.until(lambda shown: "written" in shown)
        helix.press("u")
        helix.until(lambda shown: shown.count("●") == 1)
    assert files(root) == expected
