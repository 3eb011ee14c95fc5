"""The package for this platform, installed from scratch and used without a network."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from support.fixture import parse_fixture
from support.frames import connected
from support.workspaces import environment

REPOSITORY = Path(__file__).resolve().parents[3]
BUILD = REPOSITORY / "scripts" / "build_vsix.sh"
SHOP = """
    #- price.py
    def total(items):
        return sum(items)
    #- cart.py
    from price import total

    def checkout(cart):
        return total(cart)
"""


def without_network() -> list[str]:
    """The beginning of a command that has no network, not even this machine's own."""
    if shutil.which("unshare") is None or subprocess.run(["unshare", "-rn", "true"], check=False).returncode != 0:
        pytest.skip("this system has no way to take the network from a program (unshare)")
    return ["unshare", "-rn"]


async def test_the_package_brings_all_that_its_server_needs(vsix: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(vsix) as package:
        package.extractall(tmp_path / "installed")
    extension = tmp_path / "installed" / "extension"
    root = parse_fixture(SHOP).write_to(tmp_path / "shop").resolve()
    bare = Path(sys.base_prefix) / "bin" / f"python3.{sys.version_info.minor}"
    command = [*without_network(), str(bare), "-I", str(extension / "bundled" / "launch.py")]
    async with connected(root, environment(tmp_path / "home"), command=command) as client:
        result = await client.initialize(workspaceFolders=[{"uri": root.as_uri(), "name": "shop"}])
        manifest = json.loads((extension / "package.json").read_text(encoding="utf-8"))
        assert result["serverInfo"]["version"] == manifest["version"]
        reply = await client.request("rolecall/graph", {"uri": (root / "price.py").as_uri(), "symbol": "total"})
        assert [node["name"] for node in reply["result"]["nodes"]] == ["total", "checkout"]


def test_the_package_holds_what_its_manifest_names(vsix: Path) -> None:
    with zipfile.ZipFile(vsix) as package:
        names = set(package.namelist())
    needed = ("dist/extension.cjs", "dist/graph.js", "media/graph.css", "media/icon.png", "readme.md", "LICENSE.txt")
    assert {f"extension/{name}" for name in needed} <= names
    assert not [name for name in names if "node_modules" in name or name.endswith(".pyc")]


def test_a_platform_that_no_wheels_are_for_is_refused_by_name() -> None:
    built = subprocess.run([BUILD, "plan9-x64"], capture_output=True, text=True, check=False)
    assert built.returncode == 2
    assert "plan9-x64 is none of: linux-x64 linux-arm64 darwin-x64 darwin-arm64 win32-x64" in built.stderr
