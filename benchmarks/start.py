"""Measure `rolecall serve` until it has answered `initialize`, beside an import that no server in Python avoids.

CPU seconds of a new process, the least of some rounds: a busy machine adds to them and never takes away. The editor is
VS Code as it was recorded, the folder has one file.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

ROUNDS = 7
RECORDED = Path(__file__).parents[1] / "tests/server/lsp/capabilities/clients/vscode_languageclient_v11.0.0.json"
ANCHOR = "import lsprotocol.types"
COMMANDS = {
    ANCHOR: ["-c", ANCHOR],
    "pygls' server, and its converter": [
        "-c",
        "from pygls.lsp.server import LanguageServer; LanguageServer('a server', '1')",
    ],
    "rolecall serve, until initialize is answered": ["-m", "rolecall_server", "serve"],
}


def main() -> None:
    """Measure, and print a table."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "work").mkdir()
        (Path(folder) / "work" / "a.py").write_text("x = 1\n")
        spent = {
            name: min(cpu_seconds(command, Path(folder)) for _ in range(ROUNDS)) for name, command in COMMANDS.items()
        }
    table = Table("process", "CPU s", "ratio")
    for name, seconds in spent.items():
        table.add_row(name, f"{seconds:.2f}", f"{seconds / spent[ANCHOR]:.2f}")
    Console().print(table)


def cpu_seconds(command: list[str], folder: Path) -> float:
    """Return what a new interpreter computes until it has answered the first message, or has ended."""
    environ = {"HOME": str(folder), "XDG_DATA_HOME": str(folder / "data"), "PATH": os.environ["PATH"]}
    body = json.dumps(initialize(folder / "work")).encode()
    process = subprocess.Popen(
        [sys.executable, "-I", *command], env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin
    assert process.stdout
    process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    process.stdin.flush()
    process.stdout.readline()
    os.kill(process.pid, signal.SIGKILL)
    process.stdout.close()
    used = os.wait4(process.pid, 0)[2]
    process.returncode = 0
    return used.ru_utime + used.ru_stime


def initialize(root: Path) -> Mapping[str, Any]:
    """Return the first message of an editor."""
    folder = {"uri": root.as_uri(), "name": root.name}
    capabilities = json.loads(RECORDED.read_text(encoding="utf-8"))["capabilities"]
    params = {"processId": None, "rootUri": folder["uri"], "workspaceFolders": [folder], "capabilities": capabilities}
    return {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}


if __name__ == "__main__":
    main()
