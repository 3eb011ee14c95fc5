"""A real VS Code for the tests in this folder: code-server with the packaged extension, and a browser to drive it.

Its tests never run beside each other (`TOGETHER` in the tests' settings): they share the package that is built.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from support.code_server import configure, end, logs_of, own_environment, program_of, start

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
    with ExitStack() as at_the_end:

        def open_server(
            settings: Mapping[str, object],
            environment: Mapping[str, str],
            *others: Path,
            trusts: bool = True,
            options: Sequence[str] = (),
        ) -> str:
            configure(machine, settings)
            variables = {**own_environment(machine), **environment}
            chosen = [*(["--disable-workspace-trust"] if trusts else []), *options]
            at_the_end.callback(shutil.copytree, logs_of(machine), artifacts / "logs", dirs_exist_ok=True)
            process, address = start(program_of(installation, node), machine, (vsix, *others), variables, chosen)
            at_the_end.callback(end, process)
            return address

        yield open_server


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
