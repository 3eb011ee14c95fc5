"""A real VS Code for the tests in this folder: code-server with the packaged extension, and a browser to drive it.

Its tests never run beside each other (`TOGETHER` in the tests' settings): they share the package that is built.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

from support.patience import PATIENCE_S

StartCodeServer = Callable[..., str]
"""From the settings and the environment of a machine, and other extensions, to the address its VS Code listens at.

With ``trusts=False`` it trusts no folder until the developer does; *options* are further ones of code-server's."""

Play = Callable[[str, Mapping[str, object]], Mapping[str, str]]
"""From the name of a driver beside this file and its scenario to what it reports after playing that to its end."""

REPOSITORY = Path(__file__).resolve().parents[3]
STEP_TIMEOUT_MS = 180_000
SCENARIO_TIMEOUT_S = 1200
BROWSER_ENDED = 75
"""The exit code of a driver whose browser ended by itself before anything was to be seen: nothing was tried."""
STOP_TIMEOUT_S = 60

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


@pytest.fixture(scope="session")
def vsix(installation: Path, chromium: str) -> Path:
    """The extension as `make vsix` packages it, from the sources as they are."""
    built = subprocess.run(
        [REPOSITORY / "scripts" / "build_vsix.sh"], capture_output=True, text=True, check=False, cwd=REPOSITORY
    )
    assert built.returncode == 0, built.stdout + built.stderr
    return REPOSITORY / built.stdout.splitlines()[-1]


@pytest.fixture
def machine() -> Iterator[Path]:
    """A home of VS Code's own. Its path is short, because sockets are put below it."""
    with tempfile.TemporaryDirectory(prefix="rolecall-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


OPTIONS = (
    *("--bind-addr", "127.0.0.1:0", "--auth", "none", "--disable-telemetry", "--disable-update-check"),
    *("--disable-getting-started-override", "--ignore-last-opened"),
    *("--reconnection-grace-time", "5"),
)


@pytest.fixture
def artifacts(request: pytest.FixtureRequest) -> Path:
    """An empty folder of this test's own for screenshots and logs; it stays when the test is over."""
    folder = REPOSITORY / "artifacts" / "vscode" / request.node.originalname
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def start_code_server(
    installation: Path, node: Path, vsix: Path, machine: Path, artifacts: Path
) -> Iterator[StartCodeServer]:
    """Starts VS Code with the extension installed; it is ended, and its logs are kept, when the test is over."""
    program = [node, installation / "lib" / "node_modules" / "code-server" / "out" / "node" / "entry.js"]
    folders = ["--user-data-dir", machine / "data", "--extensions-dir", machine / "extensions"]
    output = machine / "data" / "logs" / "code-server.log"
    with ExitStack() as at_the_end:

        def start(
            settings: Mapping[str, object],
            environment: Mapping[str, str],
            *others: Path,
            trusts: bool = True,
            options: Sequence[str] = (),
        ) -> str:
            configure(machine, settings)
            variables = {**own_environment(machine), **environment}
            extensions = [option for extension in (vsix, *others) for option in ("--install-extension", extension)]
            install = [*program, *folders, *extensions, "--force"]
            installed = subprocess.run(install, capture_output=True, text=True, check=False, env=variables)
            assert installed.returncode == 0, installed.stdout + installed.stderr
            output.parent.mkdir(parents=True, exist_ok=True)
            chosen = [*OPTIONS, *(["--disable-workspace-trust"] if trusts else []), *options]
            at_the_end.callback(shutil.copytree, output.parent, artifacts / "logs", dirs_exist_ok=True)
            with output.open("w", encoding="utf-8") as log:
                process = subprocess.Popen([*program, *folders, *chosen], stdout=log, stderr=log, env=variables)
            at_the_end.callback(end, process)
            return wait_for_address(process, output)

        yield start


@pytest.fixture
def play(chromium: str, playwright: Path, node: Path, artifacts: Path) -> Play:
    """Plays a developer in a workbench; each step leaves a screenshot."""
    shared = {
        "chromium": chromium,
        "playwright": str(playwright),
        "screenshots": str(artifacts),
        "timeoutMs": STEP_TIMEOUT_MS,
        "browserEnded": BROWSER_ENDED,
    }

    def run(driver: str, scenario: Mapping[str, object]) -> Mapping[str, str]:
        command = [node, Path(__file__).parent / driver, json.dumps({**shared, **scenario})]
        played = run_driver(command)
        if played.returncode == BROWSER_ENDED:
            played = run_driver(command)
        assert played.returncode == 0, f"{played.stderr}\nSee the screenshots in {artifacts}"
        return json.loads(played.stdout.splitlines()[-1])

    return run


def run_driver(command: Sequence[str | Path]) -> subprocess.CompletedProcess[str]:
    """Run a driver; what the browser itself has to say is in its errors."""
    environ = {**os.environ, "DEBUG": "pw:browser"}
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=SCENARIO_TIMEOUT_S, env=environ)


def configure(machine: Path, settings: Mapping[str, object]) -> None:
    """Write the workbench's settings and the extension's: those of scope machine are read from a file of their own."""
    for kind, content in (("User", WORKBENCH_SETTINGS), ("Machine", settings)):
        folder = machine / "data" / kind
        folder.mkdir(parents=True)
        (folder / "settings.json").write_text(json.dumps(content), encoding="utf-8")


def own_environment(machine: Path) -> dict[str, str]:
    """This process's environment, with every folder that programs write to below *machine*."""
    own = {"HOME": machine / "home", "TMPDIR": machine / "tmp"}
    own |= {f"XDG_{kind.upper()}_HOME": machine / "xdg" / kind for kind in ("config", "data", "cache", "state")}
    for folder in own.values():
        folder.mkdir(parents=True)
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith(("ROLECALL_", "OPENAI_", "VSCODE_"))
    }
    # The gallery of extensions is never asked.
    return inherited | {name: str(folder) for name, folder in own.items()} | {"EXTENSIONS_GALLERY": "{}"}


def wait_for_address(process: subprocess.Popen[bytes], output: Path) -> str:
    """The address that code-server says it listens at."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline and process.poll() is None:
        if listening := re.search(r"server listening on (http://[\d.:]+)", output.read_text(encoding="utf-8")):
            return listening.group(1)
        time.sleep(0.05)
    pytest.fail(f"code-server does not listen:\n{output.read_text(encoding='utf-8')}")


def end(process: subprocess.Popen[bytes]) -> None:
    """End *process* and everything it started."""
    leader = psutil.Process(process.pid)
    family = [*leader.children(recursive=True), leader]
    process.terminate()
    _, alive = psutil.wait_procs(family, timeout=STOP_TIMEOUT_S)
    for survivor in alive:
        survivor.kill()
    process.wait()
