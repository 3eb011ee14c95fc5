"""The VS Code client names what the server understands: the same commands, the same messages."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

from rolecall_server.lsp.registration import COMMANDS

REPOSITORY = Path(__file__).resolve().parents[3]
CLIENT = REPOSITORY / "client-vscode"
CLIENT_ONLY = {"rolecall.server.restart", "rolecall.logs.show"}


def manifest() -> dict[str, object]:
    return json.loads((CLIENT / "package.json").read_text(encoding="utf-8"))


def quoted(path: Path, pattern: str) -> list[str]:
    """What *pattern* matches between double quotes or backticks in *path*."""
    return re.findall(rf"[\"`]({pattern})[\"`]", path.read_text(encoding="utf-8"))


def test_the_palette_offers_the_commands_of_the_server_and_the_two_of_the_client() -> None:
    contributes = manifest()["contributes"]
    assert isinstance(contributes, dict)
    offered = [entry["command"] for entry in contributes["commands"]]
    assert sorted(offered) == sorted(COMMANDS.keys() | CLIENT_ONLY)


def test_the_client_forwards_every_command_of_the_server_and_no_other() -> None:
    assert sorted(quoted(CLIENT / "src" / "protocol.ts", r"rolecall(?:\.\w+)+")) == sorted(COMMANDS)


def test_the_client_knows_the_messages_of_the_protocol_page_and_no_other() -> None:
    known = quoted(CLIENT / "src" / "protocol.ts", r"rolecall/[\w/]+")
    assert sorted(known) == sorted(set(quoted(REPOSITORY / "docs" / "protocol.md", r"rolecall/[\w/]+")))


def test_the_extension_has_the_version_of_the_package() -> None:
    package = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    assert manifest()["version"] == package["project"]["version"]
