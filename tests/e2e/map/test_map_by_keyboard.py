"""The map of `rolecall graph view` in a real browser, used without a mouse."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from support.patience import PATIENCE_S
from support.workspaces import environment, write_workspace


def test_the_map_is_searched_and_walked_by_keys(tmp_path: Path, node: Path, playwright: Path, chromium: str) -> None:
    root = write_workspace(tmp_path / "work")
    page = tmp_path / "map.html"
    command = [sys.executable, "-I", "-m", "rolecall_server", "graph", "view", str(root), "--output", str(page)]
    subprocess.run(command, check=True, capture_output=True, env=environment(tmp_path / "home"))
    keys = ["/", "text:shop.price", "Enter", "Enter", "Backspace", "/", "text:checkout", "Enter", "Escape"]
    scenario = {"playwright": str(playwright), "chromium": chromium, "page": page.as_uri(), "keys": keys}
    driven = subprocess.run(
        [node, Path(__file__).with_name("drive_map.mjs"), json.dumps(scenario)],
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE_S,
        env={**os.environ, "HOME": str(tmp_path)},
    )
    told = json.loads(driven.stdout)
    headings = [heading for heading, _ in told["seen"]]
    folders = ["".join(folder.split()) for _, folder in told["seen"]]
    assert headings[2] == "shop.price", "Enter takes the first thing found"
    assert folders[2:5] == ["all", "all/shop", "all"], "Enter goes into its folder, Backspace out"
    assert headings[7:] == ["checkout", "work"], "Escape lets go of it"
    assert told["errors"] == []
    assert told["requests"] == 1, "the page itself, and nothing else"
