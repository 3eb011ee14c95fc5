"""The tests of client-vscode/test-host, which need VS Code's own API: mocha in the extension host of a real VS Code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from support.proposals import propose
from support.stores import open_store
from support.workspaces import FILES, write_workspace

CLIENT = Path(__file__).resolve().parents[3] / "client-vscode"
PRICE = "shop/price.py"
BETTER = (
    FILES[PRICE]
    .replace("    return sum(items)\n", "    return round(sum(items), 2)\n")
    .replace("    return price * (1 - rate)\n", "    return round(price * (1 - rate), 2)\n")
)


def address_of(server: str, folder: Path) -> str:
    """A window on *folder* that takes the extension from its folder, and runs its tests."""
    host = urlsplit(server).netloc
    payload = [
        ["extensionDevelopmentPath", f"vscode-remote://{host}{CLIENT}"],
        ["extensionTestsPath", f"vscode-remote://{host}{CLIENT}/dist/host.cjs"],
    ]
    return f"{server}/?folder={folder}&payload={quote(json.dumps(payload))}"


def test_the_extension_does_in_the_extension_host_what_mocha_expects(
    machine: Path,
    play: Callable[[str, Mapping[str, object]], Mapping[str, Any]],
    start_code_server: Callable[..., str],
) -> None:
    environ = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    subprocess.run(["npm", "run", "--silent", "build:host"], cwd=CLIENT, env=environ, check=True)
    root, report = write_workspace(machine / "work"), machine / "report.json"
    settings = {
        "rolecall.server.interpreter": sys.executable,
        "rolecall.server.importStrategy": "fromEnvironment",
        "rolecall.tests.run": False,
        "rolecall.model.probeLocal": False,
    }
    driven = ("--vscode-option", "enable-smoke-test-driver")
    server = start_code_server(settings, {"ROLECALL_HOST_REPORT": str(report)}, options=driven)
    store = open_store(machine / "xdg" / "data" / "rolecall" / "rolecall.db")
    propose(store, root, {PRICE: BETTER}, title="Add the tax at checkout")
    store.close()
    told = play("host.mjs", {"url": address_of(server, root)})
    assert report.exists(), told
    tests = json.loads(report.read_text(encoding="utf-8"))
    failures = {test["fullTitle"]: test["err"].get("message") for test in tests["failures"]}
    assert (failures, told["code"]) == ({}, 0)
    assert tests["stats"]["passes"] >= 12
