"""A real VS Code to drive: code-server with extensions, in a home of its own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import psutil

from support.patience import PATIENCE_S

STOP_TIMEOUT_S = 60
OPTIONS = (
    *("--bind-addr", "127.0.0.1:0", "--auth", "none", "--disable-telemetry", "--disable-update-check"),
    *("--disable-getting-started-override", "--ignore-last-opened"),
    *("--reconnection-grace-time", "5"),
)
WORKBENCH_SETTINGS = {
    "workbench.startupEditor": "none",
    "workbench.colorTheme": "Light Modern",
    "files.autoSave": "off",
    "workbench.tips.enabled": False,
    "workbench.secondarySideBar.defaultVisibility": "hidden",
    "window.commandCenter": False,
    "telemetry.telemetryLevel": "off",
    "chat.disableAIFeatures": True,
    "security.workspace.trust.startupPrompt": "never",
}


def program_of(installation: Path, node: Path) -> list[str | Path]:
    """Return the command that runs code-server."""
    return [node, installation / "lib" / "node_modules" / "code-server" / "out" / "node" / "entry.js"]


def start(
    program: Sequence[str | Path],
    machine: Path,
    extensions: Iterable[Path],
    environment: Mapping[str, str],
    options: Sequence[str] = (),
) -> tuple[subprocess.Popen[bytes], str]:
    """Install *extensions*, start a server whose files are all below *machine*, and return it with its address."""
    output = logs_of(machine) / "code-server.log"
    output.parent.mkdir(parents=True, exist_ok=True)
    folders = ["--user-data-dir", machine / "data", "--extensions-dir", machine / "extensions"]
    if install := [option for extension in extensions for option in ("--install-extension", extension)]:
        command = [*program, *folders, *install, "--force"]
        installed = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        assert installed.returncode == 0, installed.stdout + installed.stderr
    with output.open("w", encoding="utf-8") as log:
        process = subprocess.Popen(
            [*program, *folders, *OPTIONS, *options], stdout=log, stderr=log, env=dict(environment)
        )
    return process, _wait_for_address(process, output)


def logs_of(machine: Path) -> Path:
    """Return the folder that holds what the server, its windows and its extensions write down."""
    return machine / "data" / "logs"


def configure(machine: Path, settings: Mapping[str, object]) -> None:
    """Write the workbench's settings and the extension's: those of scope machine are read from a file of their own."""
    for kind, content in (("User", WORKBENCH_SETTINGS), ("Machine", settings)):
        folder = machine / "data" / kind
        folder.mkdir(parents=True)
        (folder / "settings.json").write_text(json.dumps(content), encoding="utf-8")


def own_environment(machine: Path) -> dict[str, str]:
    """Return this process's environment, with every folder that programs write to below *machine*."""
    own = {"HOME": machine / "home", "TMPDIR": machine / "tmp"}
    own |= {f"XDG_{kind.upper()}_HOME": machine / "xdg" / kind for kind in ("config", "data", "cache", "state")}
    for folder in own.values():
        folder.mkdir(parents=True)
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith(("ROLECALL_", "OPENAI_", "VSCODE_"))
    }
    # The gallery of extensions is never asked.
    return inherited | {name: str(folder) for name, folder in own.items()} | {"EXTENSIONS_GALLERY": "{}"}


def _wait_for_address(process: subprocess.Popen[bytes], output: Path) -> str:
    """Return the address that code-server says it listens at."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline and process.poll() is None:
        if listening := re.search(r"server listening on (http://[\d.:]+)", output.read_text(encoding="utf-8")):
            return listening.group(1)
        time.sleep(0.05)
    raise AssertionError(f"code-server does not listen:\n{output.read_text(encoding='utf-8')}")


def end(process: subprocess.Popen[bytes]) -> None:
    """End *process* and everything it started."""
    # Listed first: the children of a process that has ended belong to another.
    leader = psutil.Process(process.pid)
    family = [*leader.children(recursive=True), leader]
    process.terminate()
    _, alive = psutil.wait_procs(family, timeout=STOP_TIMEOUT_S)
    for survivor in alive:
        survivor.kill()
    process.wait()
