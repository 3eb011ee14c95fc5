"""How little a command imports that only prints a list."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from support.workspaces import environment, write_workspace

NEVER_AT_ONCE = (
    "httpx",
    "lsprotocol",
    "openai",
    "pygls",
    "rich.markdown",
    "rolecall_analysis.faults",
    "rolecall_analysis.retrieval",
    "rolecall_analysis.unbound",
    "rolecall_server.cli.deciding",
    "rolecall_server.context",
    "rolecall_server.craft",
    "rolecall_server.lsp",
    "rolecall_server.model",
    "rolecall_server.sandbox",
    "rolecall_server.team.documents",
    "rolecall_server.team.roles",
    "rolecall_server.team.run",
    "tree_sitter_go",
)
"""Modules that take long to import."""
NOT_FOR_WORDS = (*NEVER_AT_ONCE, "pydantic", "rich", "rolecall_analysis", "rolecall_server.store")


@pytest.mark.starts_anew
@pytest.mark.parametrize(
    ("command", "unneeded"), [("--help", NOT_FOR_WORDS), ("review", NEVER_AT_ONCE)], ids=["help", "list"]
)
def test_what_only_prints_a_list_imports_no_model_no_sandbox_and_no_editor(
    tmp_path: Path, command: str, unneeded: tuple[str, ...]
) -> None:
    root = write_workspace(tmp_path / "work")
    ended = subprocess.run(
        [sys.executable, "-I", "-X", "importtime", "-m", "rolecall_server", command],
        cwd=root,
        env=environment(tmp_path / "home"),
        capture_output=True,
        text=True,
        check=True,
    )
    imported = [
        line.rpartition("|")[2].strip() for line in ended.stderr.splitlines() if line.startswith("import time:")
    ]
    assert "review" in ended.stdout or "undecided" in ended.stdout
    assert "rolecall_server.cli.arguments" in imported
    assert [name for name in imported if name.startswith(unneeded)] == []
