"""A Python that lies in the workspace may have come with it: the developer is asked before it is used, once."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from rolecall_server.sandbox import Interpreter, NotRun, find_interpreter
from rolecall_server.sandbox.python.trust import Unconfirmed, confirmed, to_confirm, trust_nothing
from rolecall_server.store import Store
from support.stores import open_store

SETTING = "rolecall.tests.interpreter"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(tmp_path / "rolecall.db")


@pytest.fixture
def own(root: Path) -> Interpreter:
    """The developer's own environment, which git ignores."""
    git(root, "init", "-q")
    venv.create(root / ".venv", symlinks=True)
    (root / ".gitignore").write_text(".venv\n")
    return Interpreter(root / ".venv" / "bin" / "python", ".venv")


def git(root: Path, *arguments: str) -> None:
    who = ("-c", "user.name=x", "-c", "user.email=x@example.com")
    subprocess.run(["git", *who, *arguments], cwd=root, check=True, capture_output=True)


async def say_yes(unconfirmed: Unconfirmed) -> bool:
    return True


async def test_without_an_answer_it_is_not_used_and_what_to_do_is_said(
    root: Path, store: Store, own: Interpreter
) -> None:
    refused = await confirmed(own, root, "", store, trust_nothing)
    assert isinstance(refused, NotRun)
    assert str(own.path) in refused.reason
    assert "`rolecall trust`" in refused.next_step
    assert await confirmed(own, root, "", store, trust_nothing) == refused, "a no is not remembered as a yes"


async def test_who_said_yes_is_not_asked_again_not_even_after_something_was_installed(
    root: Path, store: Store, own: Interpreter
) -> None:
    assert await confirmed(own, root, "", store, say_yes) == own
    (site,) = (root / ".venv").glob("lib/python*/site-packages")
    (site / "new.py").touch()
    (site / "new-1.0.dist-info").mkdir()
    (root / ".venv" / "bin" / "new").write_text("#!/bin/sh\n")
    assert await confirmed(own, root, "", store, trust_nothing) == own


def swap_link(root: Path) -> None:
    python = root / ".venv" / "bin" / "python"
    python.unlink()
    python.symlink_to("/usr/bin/env")


def put_program(root: Path) -> None:
    python = root / ".venv" / "bin" / "python"
    python.unlink()
    python.write_text("#!/bin/sh\n")
    python.chmod(0o755)


def configure(root: Path) -> None:
    (root / ".venv" / "pyvenv.cfg").write_text("home = /tmp\n")


@pytest.mark.parametrize("change", [swap_link, put_program, configure])
async def test_another_program_under_the_same_name_is_asked_about_again(
    root: Path, store: Store, own: Interpreter, change: object
) -> None:
    assert callable(change)
    assert await confirmed(own, root, "", store, say_yes) == own
    change(root)
    assert isinstance(await confirmed(own, root, "", store, trust_nothing), NotRun)


async def test_the_bytes_of_a_program_in_the_workspace_count(root: Path, store: Store, own: Interpreter) -> None:
    put_program(root)
    assert await confirmed(own, root, "", store, say_yes) == own
    assert await confirmed(own, root, "", store, trust_nothing) == own
    own.path.write_text("#!/bin/sh\necho other\n")
    assert isinstance(await confirmed(own, root, "", store, trust_nothing), NotRun)


async def test_what_was_confirmed_for_one_workspace_is_not_for_another(
    root: Path, store: Store, own: Interpreter, tmp_path: Path
) -> None:
    assert await confirmed(own, root, "", store, say_yes) == own
    (tmp_path / "copy").mkdir()
    (root / ".venv").rename(tmp_path / "copy" / ".venv")
    moved = find_interpreter(tmp_path / "copy", "", {})
    assert isinstance(await confirmed(moved, tmp_path / "copy", "", store, trust_nothing), NotRun)


def test_the_question_names_path_target_and_fingerprint_and_says_whose_it_is(
    root: Path, store: Store, own: Interpreter
) -> None:
    found = to_confirm(own, root, "", store)
    assert found is not None
    assert f"{own.path}, a link to {Path(sys.executable).resolve()}" in found.question
    assert "git does not track it" in found.question
    assert found.fingerprint[:16] in found.question
    git(root, "add", "-f", ".venv/bin/python")
    tracked = to_confirm(own, root, "", store)
    assert tracked is not None
    assert "git tracks it: it came with the repository" in tracked.question


def test_a_python_outside_of_the_workspace_is_not_asked_about(root: Path, store: Store, tmp_path: Path) -> None:
    venv.create(tmp_path / "elsewhere", symlinks=True)
    outside = Interpreter(tmp_path / "elsewhere" / "bin" / "python", "VIRTUAL_ENV")
    assert to_confirm(outside, root, "", store) is None
    assert to_confirm(Interpreter(Path(sys.executable).resolve(), "PATH"), root, "", store) is None


@pytest.mark.parametrize("where", ["tracked elsewhere", "beside the workspace in its repository", "behind a link"])
def test_one_that_git_tracks_or_that_is_reached_from_inside_is_asked_about(
    root: Path, store: Store, tmp_path: Path, where: str
) -> None:
    venv.create(tmp_path / "elsewhere", symlinks=True)
    outside = Interpreter(tmp_path / "elsewhere" / "bin" / "python", "VIRTUAL_ENV")
    if where == "tracked elsewhere":
        git(tmp_path / "elsewhere", "init", "-q")
        git(tmp_path / "elsewhere", "add", "-f", "bin/python")
    elif where == "behind a link":
        (root / ".venv").symlink_to(tmp_path / "elsewhere")
        outside = Interpreter(root / ".venv" / "bin" / "python", ".venv")
    else:
        git(tmp_path, "init", "-q")
    assert to_confirm(outside, root, "", store) is not None


def test_a_setting_that_names_it_by_an_absolute_path_is_the_developers_word(
    root: Path, store: Store, own: Interpreter
) -> None:
    absolute, relative = str(root / ".venv"), ".venv"
    named = find_interpreter(root, absolute, {})
    assert named == Interpreter(own.path, SETTING)
    assert to_confirm(Interpreter(own.path, SETTING), root, absolute, store) is None
    assert to_confirm(Interpreter(own.path, SETTING), root, relative, store) is not None, "it fits every repository"


async def test_where_there_is_none_that_is_what_is_said(root: Path, store: Store) -> None:
    missing = NotRun("No Python was found.")
    assert await confirmed(missing, root, "", store, say_yes) == missing


def test_where_git_refuses_the_repository_the_question_does_not_say_whose_the_program_is(
    root: Path, store: Store, own: Interpreter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "programs").mkdir()
    other = tmp_path / "programs" / "git"
    # Git itself takes every repository for another user's then.
    other.write_text(f'#!/bin/sh\nGIT_TEST_ASSUME_DIFFERENT_OWNER=1 exec {shutil.which("git")} "$@"\n')
    other.chmod(0o755)
    git(root, "add", "-f", ".venv/bin/python")
    monkeypatch.setenv("PATH", os.pathsep.join([str(other.parent), os.environ["PATH"]]))
    found = to_confirm(own, root, "", store)
    assert found is not None
    assert "git does not say whether it came with the repository" in found.question
