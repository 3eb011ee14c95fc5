"""Real editors: each runs in a terminal of its own, with the setup of `docs/editors.md`, and does what a test asks."""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from support.edits import block
from support.patience import PATIENCE_S
from support.terminal import Terminal, in_terminal
from support.workspaces import FILES, contents, write_workspace

REPOSITORY = Path(__file__).resolve().parents[2]
PAGE = REPOSITORY / "docs" / "editors.md"
DRIVERS = REPOSITORY / "tests" / "e2e" / "editors"


@dataclass(frozen=True)
class Program:
    """One version of one editor, and how it is started on a setup file and a driver."""

    name: str
    section: str
    """The heading of `docs/editors.md` whose first block of code sets it up."""
    setup_suffix: str
    command: Callable[[Path], Sequence[str | Path]]
    """The command line for a setup file."""
    asks_about_unopened: bool = False
    """Whether it asks before it makes an edit of files that are not open."""
    opens_documents: bool = False
    """Whether it opens a document that the server shows."""


def setup_of(section: str) -> str:
    """The first block of code below the heading *section* of the page."""
    below = PAGE.read_text(encoding="utf-8").partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    block = re.search(r"```\w+\n(.*?)```", below, re.DOTALL)
    assert block is not None, f"docs/editors.md has no setup under {section!r}"
    return block[1]


class LiveEditor:
    """An editor that runs: what it is asked comes back as plain values."""

    def __init__(self, program: Program, terminal: Terminal, lines: TextIO) -> None:
        self.program = program
        self.terminal = terminal
        self._lines = lines

    def ask(self, verb: str, *arguments: object) -> Any:
        """Have the driver do *verb*; what it answers."""
        self._lines.write(json.dumps({"verb": verb, "arguments": arguments}) + "\n")
        self._lines.flush()
        reply = json.loads(self._lines.readline() or '{"error": "the editor is gone"}')
        assert "error" not in reply, f"{self.program.name}: {verb}: {reply['error']}"
        return reply.get("result")

    def open(self, path: Path) -> None:
        """Open a file and wait until the server is there."""
        self.ask("open", str(path))
        self.until(lambda: self.ask("is_ready") is True)

    def hunks(self, path: Path) -> dict[str, dict[str, Any]]:
        """The hunks marked in an open file: the line (from 0) and the message of each, by code such as ``p1/h2``."""
        return self.ask("hunks", str(path)) or {}

    def wait_for_hunks(self, path: Path, *codes: str) -> dict[str, dict[str, Any]]:
        """The hunks of an open file, once they are *codes* and no others."""
        self.until(lambda: set(self.hunks(path)) == set(codes), lambda: f"{self.hunks(path)}")
        return self.hunks(path)

    def choose(self, path: Path, line: int, title: str) -> list[str]:
        """Open the menu of code actions on a line and take *title*, or the first that begins so; what was offered."""
        offered = self.ask("choose", str(path), line, title)
        assert any(each.startswith(title) for each in offered), offered
        return offered

    def text(self, path: Path) -> str:
        """The text of an open file as the editor holds it, with its lines ended by LF."""
        return self.ask("text", str(path))

    def answer(self, key: str) -> str:
        """Press *key* at the question that is or will be asked; the question."""
        self.until(lambda: self.ask("prompt"))
        question = self.ask("prompt")
        self.terminal.type(key)
        self.until(lambda: not self.ask("prompt"))
        return question

    def until(self, condition: Callable[[], object], explain: Callable[[], str] = lambda: "") -> None:
        """Wait until *condition* holds."""
        end = time.monotonic() + PATIENCE_S
        while not condition():
            if time.monotonic() > end:
                raise AssertionError(f"{self.program.name}: it did not happen: {explain()}\n{self.ask('messages')}")
            time.sleep(0.05)


@contextlib.contextmanager
def running(program: Program, root: Path, environ: Mapping[str, str], setup: str | None = None) -> Iterator[LiveEditor]:
    """*program* in *root*, set up as the page says, or with *setup*; killed at the end."""
    home = Path(environ["HOME"])
    setup_file = home / f"setup{program.setup_suffix}"
    setup_file.write_text(setup_of(program.section) if setup is None else setup, encoding="utf-8")
    # The setups of the page start `rolecall` by its name: it is the one beside this Python.
    path = f"{Path(sys.executable).parent}{os.pathsep}{environ['PATH']}"
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(PATIENCE_S)
        environ = {**environ, "PATH": path, "DRIVER_PORT": str(listening.getsockname()[1])}
        with in_terminal(program.command(setup_file), root, environ) as terminal, _watched(terminal):
            connection, _ = listening.accept()
            connection.settimeout(PATIENCE_S)
            with connection, connection.makefile("rw", encoding="utf-8", newline="\n") as lines:
                yield LiveEditor(program, terminal, lines)


@contextlib.contextmanager
def _watched(terminal: Terminal) -> Iterator[None]:
    """Read what the editor draws, which would block when nobody does; it is killed at the end."""
    watching = threading.Thread(target=terminal.watch)
    watching.start()
    try:
        yield
    finally:
        terminal.process.kill()
        watching.join()


PRICE = "shop/price.py"
COMMENT = "# ROLECALL: let prices carry a tax\n"
"""The first line of `PRICE` in these workspaces: an editor without an input box asks by it."""


def write_commented(root: Path) -> Path:
    """A workspace in git, with a comment that asks for something."""
    root = write_workspace(root)
    subprocess.run(["git", "init", "--quiet", root], check=True)
    (root / PRICE).write_text(COMMENT + FILES[PRICE], encoding="utf-8")
    return root


def files(root: Path) -> dict[str, bytes]:
    """The files of a workspace, without those of git."""
    return {path: data for path, data in contents(root).items() if not path.startswith(".git/")}


def several_files(root: Path) -> tuple[str, dict[str, bytes]]:
    """A proposal for an open file, two that are not, one of them with CRLF, and a new one; all files after it."""
    (root / "shop" / "dos.py").write_bytes(b'NAME = "\xc3\xa9"\r\nx = 1\r\ny = 2\r\n')
    before = files(root)
    proposed = [
        block(PRICE, "    return sum(items)\n", "    return sum(items) * 1.2\n"),
        block("shop/cart.py", "    return total(cart)\n", "    return total(cart) + 1\n"),
        block("shop/dos.py", "x = 1\n", "x = 3\nz = 4\n"),
        block("shop/tax.py", "", "RATE = 0.2\n"),
    ]
    after = {
        PRICE: before[PRICE].replace(b"sum(items)", b"sum(items) * 1.2"),
        "shop/cart.py": before["shop/cart.py"].replace(b"total(cart)\n", b"total(cart) + 1\n"),
        "shop/dos.py": before["shop/dos.py"].replace(b"x = 1\r\n", b"x = 3\r\nz = 4\r\n"),
        "shop/tax.py": b"RATE = 0.2\n",
    }
    return "\n".join(proposed), {**before, **after}
