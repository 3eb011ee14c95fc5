"""A copy that is kept: each time as the workspace is, whatever the last run did to it."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rolecall_server.sandbox import Interpreter, Shadow, Unconfined, remove_unused_copies, run_tests, shadow_workspace
from rolecall_server.sandbox.results import NotRun
from rolecall_server.sandbox.shadow.copying import CopyLimits
from rolecall_server.sandbox.shadow.kept_copy import UNUSED_DAYS, KeptCopy, refresh, take_copy
from rolecall_server.sandbox.walls.bubblewrap import Bubblewrap, usual_limits
from rolecall_server.workspace import Workspace
from support.patience import PATIENCE_S

WorkspaceOf = Callable[..., Workspace]

TEXT = """
#- price.py
RATE = 0.9
#- shop/cart.py
import price
#- shop/docs/read.md
hello
"""


@pytest.fixture
def copies(tmp_path: Path) -> Path:
    return tmp_path / "copies"


def refreshed(copies: Path, root: Path) -> Path:
    """The copy of *root* as a run would find it."""
    with take_copy(copies, root) as kept:
        assert kept is not None
        copy = refresh(kept, root, CopyLimits(), threading.Event())
        assert not isinstance(copy, NotRun)
        return copy


def texts(folder: Path) -> dict[str, str]:
    """Every file below *folder*, and every link as what it names."""
    return {
        str(path.relative_to(folder)): f"-> {path.readlink()}" if path.is_symlink() else path.read_text()
        for path in folder.rglob("*")
        if path.is_symlink() or path.is_file()
    }


def test_what_did_not_change_is_not_copied_again(workspace_of: WorkspaceOf, root: Path, copies: Path) -> None:
    workspace_of(TEXT)
    copy = refreshed(copies, root)
    before = {path: (copy / path).stat().st_ino for path in texts(copy)}
    (root / "price.py").write_text("RATE = 0.8\n")
    (root / "new.py").write_text("")
    (root / "shop" / "cart.py").unlink()
    assert refreshed(copies, root) == copy
    assert texts(copy) == texts(root)
    assert (copy / "shop/docs/read.md").stat().st_ino == before["shop/docs/read.md"]


def test_what_a_run_changed_and_dated_back_is_put_right(workspace_of: WorkspaceOf, root: Path, copies: Path) -> None:
    workspace_of(TEXT)
    file = refreshed(copies, root) / "price.py"
    was = file.stat()
    with file.open("r+") as stream:
        stream.write("RATE = 0.1")
    os.utime(file, ns=(was.st_atime_ns, was.st_mtime_ns))
    assert (file.stat().st_size, file.stat().st_mtime_ns) == (was.st_size, was.st_mtime_ns)
    assert texts(refreshed(copies, root)) == texts(root)


def test_links_that_a_run_planted_lead_nothing_outside(
    workspace_of: WorkspaceOf, root: Path, copies: Path, tmp_path: Path
) -> None:
    workspace_of(TEXT)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "docs").mkdir()
    (outside / "cart.py").write_text("mine")
    copy = refreshed(copies, root)
    shutil.rmtree(copy / "shop")
    (copy / "shop").symlink_to(outside)
    (copy / "price.py").unlink()
    (copy / "price.py").symlink_to(outside / "cart.py")
    os.link(copy / "price.py", copy / "linked", follow_symlinks=False)
    assert texts(refreshed(copies, root)) == texts(root)
    assert texts(outside) == {"cart.py": "mine"}


def test_a_file_may_become_a_folder_and_a_folder_a_file(workspace_of: WorkspaceOf, root: Path, copies: Path) -> None:
    workspace_of(TEXT)
    refreshed(copies, root)
    (root / "price.py").unlink()
    (root / "price.py").mkdir()
    (root / "price.py" / "inner").write_text("x")
    shutil.rmtree(root / "shop")
    (root / "shop").write_text("closed")
    assert texts(refreshed(copies, root)) == texts(root)


def test_a_refresh_that_was_cut_short_is_made_up_for(workspace_of: WorkspaceOf, root: Path, copies: Path) -> None:
    workspace_of(TEXT)
    copy = refreshed(copies, root)
    with take_copy(copies, root) as kept:
        assert kept is not None
        assert isinstance(refresh(kept, root, CopyLimits(files=1), threading.Event()), NotRun)
    (copy / "price.py").write_text("half")
    assert texts(refreshed(copies, root)) == texts(root)


_PATHS = st.sampled_from(["a", "b/a", "b/c", "d"])
_STEPS = st.lists(st.tuples(st.sampled_from(["workspace", "copy"]), _PATHS, st.sampled_from(["x", "y", "", None])))


@given(rounds=st.lists(_STEPS, min_size=1, max_size=4))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_after_any_changes_to_either_the_copy_is_the_workspace(
    rounds: list[list[tuple[str, str, str | None]]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("any")
    root = folder / "project"
    root.mkdir()
    copy = refreshed(folder / "copies", root)
    for steps in rounds:
        for where, path, text in steps:
            file = (root if where == "workspace" else copy) / path
            if text is None:
                file.unlink(missing_ok=True)
            else:
                file.parent.mkdir(exist_ok=True)
                file.write_text(text)
        assert texts(refreshed(folder / "copies", root)) == texts(root)


async def test_while_one_run_has_the_copy_another_gets_one_of_its_own(workspace_of: WorkspaceOf, copies: Path) -> None:
    workspace = workspace_of(TEXT)
    async with shadow_workspace(workspace, Unconfined(), copies=copies) as first:
        async with shadow_workspace(workspace, Unconfined(), copies=copies) as second:
            assert isinstance(first, Shadow)
            assert isinstance(second, Shadow)
            assert first.root.is_relative_to(copies)
            assert second.root.is_relative_to(second.base)
        assert not second.root.exists()
    assert first.root.exists()


async def test_tests_run_in_it_behind_walls_and_each_finds_it_as_the_workspace_is(
    workspace_of: WorkspaceOf, python: Interpreter, copies: Path
) -> None:
    text = """
#- price.py
RATE = 0.9
#- test_price.py
import pathlib, price
def test_rate():
    pathlib.Path("price.py").write_text("RATE = 0")
    pathlib.Path("left").touch()
    assert price.RATE == 0.9
"""
    workspace = workspace_of(text)
    walls = Bubblewrap(Path("/usr/bin/bwrap"), overlays=False, limits=usual_limits())
    for _ in range(2):
        async with shadow_workspace(workspace, walls, copies=copies) as shadow:
            assert isinstance(shadow, Shadow)
            assert not (shadow.root / "left").exists()
            run = await run_tests(shadow, python, timeout_s=PATIENCE_S)
            assert len(run.passed) == 1, run


def test_copies_that_nobody_needs_are_removed(
    workspace_of: WorkspaceOf, root: Path, copies: Path, tmp_path: Path
) -> None:
    workspace_of(TEXT)
    refreshed(copies, root)
    gone, old = tmp_path / "gone", tmp_path / "old"
    for folder in (gone, old):
        folder.mkdir()
        refreshed(copies, folder)
    gone.rmdir()
    now = time.time()  # which need not be the clock that the files have their times from
    for folder in copies.iterdir():
        os.utime(folder / "source", (now, now))
    long_ago = now - (UNUSED_DAYS + 1) * 86400
    with take_copy(copies, old) as kept:
        assert kept is not None
        os.utime(kept.folder / "source", (long_ago, long_ago))
        assert remove_unused_copies(copies) == 1  # the old one is in use
    assert remove_unused_copies(copies) == 1
    assert [KeptCopy(folder).tree.exists() for folder in copies.iterdir()] == [True]
