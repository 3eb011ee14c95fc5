"""The launcher of the bundled server: it runs the libraries beside it and nothing else, or says why it cannot."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[3]
SERVER = "import sys; print('the bundled server', *sys.argv[1:])"


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """A bundle whose libraries are three modules: a server, and two that stand for compiled ones that fit."""
    folder = tmp_path / "bundled"
    folder.mkdir()
    shutil.copy(REPOSITORY / "client-vscode" / "launch.py", folder)
    write_module(folder / "libs" / "rolecall_server", "__main__", SERVER)
    write_module(folder / "libs" / "pydantic_core")
    write_module(folder / "libs" / "tree_sitter")
    return folder


def write_module(package: Path, module: str = "__init__", source: str = "") -> None:
    package.mkdir(parents=True, exist_ok=True)
    (package / "__init__.py").touch()
    (package / f"{module}.py").write_text(source, encoding="utf-8")


def launch(bundle: Path, *arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", bundle / "launch.py", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_the_server_is_the_one_beside_the_launcher_even_where_another_is_installed(
    bundle: Path, tmp_path: Path
) -> None:
    launched = launch(bundle, "--stdio", folder=tmp_path)
    assert (launched.returncode, launched.stdout) == (0, "the bundled server --stdio\n"), launched.stderr


def test_modules_of_the_opened_folder_are_never_imported(bundle: Path, tmp_path: Path) -> None:
    hostile = tmp_path / "opened"
    for name in ("rolecall_server", "pydantic_core", "runpy", "platform", "sitecustomize"):
        write_module(hostile / name, source="print('hostile')")
    launched = launch(bundle, folder=hostile)
    assert (launched.returncode, launched.stdout) == (0, "the bundled server\n"), launched.stderr


@pytest.mark.parametrize("library", ["pydantic_core", "tree_sitter"])
def test_a_python_that_does_not_fit_the_compiled_libraries_is_told_in_one_line_with_the_next_step(
    bundle: Path, tmp_path: Path, library: str
) -> None:
    write_module(bundle / "libs" / library, source="import compiled_for_another_python")
    launched = launch(bundle, folder=tmp_path)
    assert launched.returncode == 1
    assert launched.stdout == ""
    (line,) = launched.stderr.splitlines()
    assert "compiled_for_another_python" in line
    assert "rolecall.server.interpreter" in line
