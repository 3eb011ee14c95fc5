"""What an editor may name as a folder and is no repository: told once, and its files are worked on all the same."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from lsprotocol import types

from support.editor import Editor, editing, until
from support.workspaces import environment, write_workspace


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home directory with a project, and a source file beside it."""
    write_workspace(tmp_path / "home" / "work")
    (tmp_path / "home" / "private.py").write_text("def in_private(): ...\n")
    return (tmp_path / "home").resolve()


async def names_found(editor: Editor) -> list[str]:
    """The functions of the test's files that the editor finds in all that was opened."""
    params = types.WorkspaceSymbolParams("")
    found = await editor.client.workspace_symbol_async(params) or ()
    return sorted({symbol.name for symbol in found} & {"in_private", "total"})


def settings() -> dict[str, object]:
    return {"navigation": {"workspaceSymbol": True}, "tests": {"run": False}}


@pytest.mark.parametrize("opened", ["/", "HOME", "ABOVE"])
async def test_a_folder_that_holds_the_home_directory_is_not_read_and_that_is_said(home: Path, opened: str) -> None:
    folder = {"HOME": home, "ABOVE": home.parent}.get(opened, Path(opened))
    async with editing(folder, environment(home), settings()) as editor:
        await until(lambda: bool(editor.messages))
        assert editor.messages == [
            f"Rolecall: {folder} holds your home directory, which is not read. Open the folder of a project."
        ]
        assert await names_found(editor) == []
        editor.open(str(home / "work" / "shop" / "price.py"))
        await editor.actions(str(home / "work" / "shop" / "price.py"))
        assert await names_found(editor) == ["total"], "the project of the file"
        editor.open(str(home / "private.py"))
        assert await editor.actions(str(home / "private.py"))


async def test_such_a_folder_beside_a_project_is_told_and_the_project_is_read(home: Path) -> None:
    async with editing(home / "work", environment(home), settings()) as editor:
        added = types.WorkspaceFoldersChangeEvent([types.WorkspaceFolder(home.as_uri(), "home")], [])
        editor.client.workspace_did_change_workspace_folders(types.DidChangeWorkspaceFoldersParams(added))
        await until(lambda: bool(editor.messages))
        assert "holds your home directory" in editor.messages[0]
        assert await names_found(editor) == ["total"]


async def test_control_a_home_directory_that_is_itself_a_project_is_read(home: Path) -> None:
    (home / "pyproject.toml").write_text("")
    async with editing(home, environment(home), settings()) as editor:
        editor.open("private.py")
        await editor.actions("private.py")
        assert await names_found(editor) == ["in_private", "total"]
        assert editor.messages == []


async def test_a_file_named_as_a_folder_is_told_and_brings_its_project(home: Path) -> None:
    path = home / "work" / "shop" / "price.py"
    async with editing(home / "work", environment(home), settings()) as editor:
        change = types.WorkspaceFoldersChangeEvent(
            [types.WorkspaceFolder(path.as_uri(), "price")], [types.WorkspaceFolder((home / "work").as_uri(), "work")]
        )
        editor.client.workspace_did_change_workspace_folders(types.DidChangeWorkspaceFoldersParams(change))
        await until(lambda: bool(editor.messages))
        assert editor.messages == [f"Rolecall: {path} is a file. Open the folder that it lies in."]
        editor.open("shop/price.py")
        await editor.actions("shop/price.py")
        assert await names_found(editor) == ["total"]


def test_no_role_works_on_it_from_a_terminal_either(home: Path) -> None:
    command = [sys.executable, "-I", "-m", "rolecall_server", "tests", "private.py", "--yes"]
    ended = subprocess.run(command, cwd=home, env=environment(home), capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "holds your home directory, which is not read." in " ".join((ended.stdout + ended.stderr).split())
