"""The copy in which code runs: complete enough for the tests, never a way back to the user's files."""

from __future__ import annotations

import asyncio
import hashlib
import os
import socket
import stat
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import AsyncGenerator, Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolecall_server.errors import FileRefused
from rolecall_server.processes import ProcessId
from rolecall_server.sandbox import NotRun, Shadow, Unconfined, remove_abandoned_folders, shadow_workspace
from rolecall_server.sandbox.shadow.copied import CopiedShadow
from rolecall_server.sandbox.shadow.copying import CopyLimits
from rolecall_server.sandbox.shadow.trees import temporary_prefix
from rolecall_server.workspace import Workspace

WorkspaceOf = Callable[..., Workspace]

ORDINARY_USER = 65534
"""Whom nothing belongs to, for tests of permissions that root would pass by."""


@pytest.fixture
async def shadow(workspace_of: WorkspaceOf) -> AsyncGenerator[Shadow]:
    """A copy of two files and a link."""
    workspace = workspace_of("""
        #- price.py
        PRICE = 1
        #- shop/till.py
        OPEN = True
    """)
    (workspace.root / "link.py").symlink_to("price.py")
    async with shadow_workspace(workspace, Unconfined()) as copy:
        assert isinstance(copy, Shadow)
        yield copy


def tree(root: Path) -> dict[str, str]:
    """Every path below *root* with its kind, mode, times, and content or target."""
    listed: dict[str, str] = {}
    for path in sorted(root.rglob("*")):
        status = path.lstat()
        if stat.S_ISLNK(status.st_mode):
            content = str(path.readlink())
        elif stat.S_ISREG(status.st_mode):
            content = hashlib.sha256(path.read_bytes()).hexdigest()
        else:
            content = ""
        listed[str(path.relative_to(root))] = f"{status.st_mode:o} {status.st_mtime_ns} {content}"
    return listed


def names(root: Path) -> set[str]:
    return {path.relative_to(root).as_posix() for path in root.rglob("*")}


async def test_the_copy_has_the_workspaces_name_and_files(workspace_of: WorkspaceOf, root: Path) -> None:
    workspace = workspace_of("#- pkg/a.py\nA = 1\n")
    (root / "run.sh").write_bytes(b"#!/bin/sh\n\x00\xff\r\n")
    (root / "run.sh").chmod(0o555)
    async with shadow_workspace(workspace, Unconfined()) as copy:
        assert isinstance(copy, Shadow)
        assert copy.root.name == root.name
        assert names(copy.root) == {"pkg", "pkg/a.py", "run.sh"}
        assert (copy.root / "run.sh").read_bytes() == b"#!/bin/sh\n\x00\xff\r\n"
        assert os.access(copy.root / "run.sh", os.X_OK)
        assert (copy.root / "run.sh").stat().st_ino != (root / "run.sh").stat().st_ino


async def test_version_control_environments_and_caches_stay_out(workspace_of: WorkspaceOf) -> None:
    workspace = workspace_of("""
        #- a.py
        #- venv/b.py
        #- .git/config
        #- sub/.git
        gitdir: elsewhere
        #- sub/__pycache__/a.pyc
        #- .venv/bin/python
        #- my-environment/pyvenv.cfg
        #- my-environment/lib/c.py
        #- node_modules/x/index.js
        #- target/CACHEDIR.TAG
        #- target/big.o
    """)
    async with shadow_workspace(workspace, Unconfined()) as copy:
        assert isinstance(copy, Shadow)
        assert names(copy.root) == {"a.py", "sub", "venv", "venv/b.py"}


async def test_what_is_no_regular_file_stays_out(workspace_of: WorkspaceOf, root: Path) -> None:
    workspace = workspace_of("#- a.py\n")
    os.mkfifo(root / "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(root / "socket"))
        async with shadow_workspace(workspace, Unconfined()) as copy:
            assert isinstance(copy, Shadow)
            assert names(copy.root) == {"a.py"}


async def test_names_that_are_not_utf_8_are_copied(workspace_of: WorkspaceOf, root: Path) -> None:
    workspace = workspace_of("#- a.py\n")
    (root / os.fsdecode(b"caf\xe9")).write_text("x")
    async with shadow_workspace(workspace, Unconfined()) as copy:
        assert isinstance(copy, Shadow)
        assert names(copy.root) == {"a.py", os.fsdecode(b"caf\xe9")}


async def test_links_lead_to_the_copy_or_stay_out(workspace_of: WorkspaceOf, root: Path, tmp_path: Path) -> None:
    workspace = workspace_of("#- pkg/a.py\nA = 1\n")
    (tmp_path / "secret").write_text("outside")
    links = {
        "relative": "pkg/a.py",
        "absolute": str(root / "pkg" / "a.py"),
        "folder": str(root / "pkg"),
        "pkg/through_the_parent": f"../../{root.name}/pkg/a.py",
        "dangling": "pkg/none.py",
        "outside": str(tmp_path / "secret"),
        "climbing": "../secret",
        "outer_folder": str(tmp_path),
        "loop": "loop",
        "system": "/etc/passwd",
    }
    for name, destination in links.items():
        (root / name).symlink_to(destination)
    async with shadow_workspace(workspace, Unconfined()) as copy:
        assert isinstance(copy, Shadow)
        kept = {name for name in links if os.path.lexists(copy.root / name)}
        assert kept == {"relative", "absolute", "folder", "pkg/through_the_parent", "dangling", "loop"}
        for name in kept - {"dangling", "loop"}:
            assert (copy.root / name).resolve().is_relative_to(copy.root)
            assert (copy.root / name).exists()
        assert not os.path.realpath(copy.root / "dangling").startswith(str(root) + os.sep)


async def test_unsaved_buffers_lie_over_the_disk(workspace_of: WorkspaceOf, root: Path) -> None:
    workspace = workspace_of(
        "#- a.py\nA = 1\n#- b.py\nB = 1\n#- .venv/lib.py\n",
        buffers={"a.py": "A = 2\r\n", "new/c.py": "C = 1\n", ".venv/lib.py": "L = 1\n"},
    )
    async with shadow_workspace(workspace, Unconfined()) as copy:
        assert isinstance(copy, Shadow)
        assert (copy.root / "a.py").read_bytes() == b"A = 2\r\n"
        assert (copy.root / "b.py").read_bytes() == b"B = 1\n"
        assert (copy.root / "new" / "c.py").read_bytes() == b"C = 1\n"
        assert not (copy.root / ".venv").exists()
        copy.write({"a.py": "A = 3\n"})
        copy.write({})
        assert (copy.root / "a.py").read_bytes() == b"A = 2\r\n"
    assert (root / "a.py").read_bytes() == b"A = 1\n"


async def test_each_write_starts_from_the_base(shadow: Shadow) -> None:
    before = names(shadow.root)
    shadow.write({"price.py": None, "shop/till.py": "OPEN = False\n", "new/deep/x.py": "X = 1\n"})
    assert names(shadow.root) == before - {"price.py"} | {"new", "new/deep", "new/deep/x.py"}
    shadow.write({"other.py": "O = 1\n"})
    assert names(shadow.root) == before | {"other.py"}
    assert (shadow.root / "price.py").read_text() == "PRICE = 1\n"
    assert (shadow.root / "shop" / "till.py").read_text() == "OPEN = True\n"
    shadow.write({})
    assert names(shadow.root) == before


async def test_text_is_written_exactly_as_given(shadow: Shadow) -> None:
    shadow.write({"a.py": "x\r\ny\rz\n\u2028\x0c", "b.py": "\ufeffx", "c.py": ""})
    assert (shadow.root / "a.py").read_bytes() == "x\r\ny\rz\n\u2028\x0c".encode()
    assert (shadow.root / "b.py").read_bytes() == b"\xef\xbb\xbfx"
    assert (shadow.root / "c.py").read_bytes() == b""


async def test_a_byte_order_mark_of_the_base_is_kept(workspace_of: WorkspaceOf, root: Path) -> None:
    workspace = workspace_of("#- a.py\n")
    (root / "a.py").write_bytes(b"\xef\xbb\xbfA = 1\n")
    async with shadow_workspace(workspace, Unconfined()) as copy:
        assert isinstance(copy, Shadow)
        copy.write({"a.py": "A = 2\n"})
        assert (copy.root / "a.py").read_bytes() == b"\xef\xbb\xbfA = 2\n"
        copy.write({"a.py": "\ufeffA = 3\n"})
        assert (copy.root / "a.py").read_bytes() == b"\xef\xbb\xbfA = 3\n"


@pytest.mark.parametrize(
    "path", ["", ".", "..", "../out.py", "shop/../../out.py", "/etc/rolecall", "a\0b", "shop", "price.py/x.py"]
)
async def test_paths_that_are_no_file_in_the_copy_are_refused_and_nothing_is_written(shadow: Shadow, path: str) -> None:
    before = tree(shadow.base)
    with pytest.raises(FileRefused):
        shadow.write({"fine.py": "x", path: "y"})
    assert tree(shadow.base) == before


async def test_links_made_by_a_test_do_not_lead_a_write_outside(shadow: Shadow, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (shadow.root / "folder").symlink_to(outside)
    (shadow.root / "file.py").symlink_to(outside / "file.py")
    for path in ("folder/x.py", "file.py", "folder/sub/x.py"):
        with pytest.raises(FileRefused):
            shadow.write({path: "x"})
    assert list(outside.iterdir()) == []


async def test_a_link_inside_is_written_through(shadow: Shadow) -> None:
    shadow.write({"link.py": "PRICE = 2\n"})
    assert (shadow.root / "price.py").read_text() == "PRICE = 2\n"
    assert (shadow.root / "link.py").is_symlink()


async def test_putting_back_survives_what_a_test_did_to_the_files(shadow: Shadow, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "till.py").write_text("mine")
    shadow.write({"price.py": "x", "shop/till.py": "y", "new.py": "z"})
    (shadow.root / "price.py").unlink()
    (shadow.root / "price.py").mkdir()
    (shadow.root / "price.py" / "x").touch()
    (shadow.root / "new.py").unlink()
    os.mkfifo(shadow.root / "new.py")
    (shadow.root / "shop").rename(shadow.root / "moved")
    (shadow.root / "shop").symlink_to(outside)
    shadow.write({})
    assert (shadow.root / "price.py").read_text() == "PRICE = 1\n"
    assert not (shadow.root / "new.py").exists()
    assert (outside / "till.py").read_text() == "mine"


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(["price.py", "shop/till.py", "shop/new.py", "a/b/c.py", "a/d.py", "link.py"]),
            st.none() | st.text(max_size=5),
            max_size=4,
        ),
        max_size=4,
    )
)
def test_any_writes_are_put_back_without_a_trace(attempts: list[dict[str, str | None]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        (root / "shop").mkdir()
        (root / "price.py").write_text("PRICE = 1\n")
        (root / "shop" / "till.py").write_text("OPEN = True\n")
        (root / "link.py").symlink_to("price.py")
        shadow = CopiedShadow(root, root, root.parent, Unconfined())
        for attempt in attempts:
            shadow.write(attempt)
        shadow.write({})
        assert names(root) == {"price.py", "link.py", "shop", "shop/till.py"}
        assert (root / "link.py").read_text() == (root / "price.py").read_text() == "PRICE = 1\n"
        assert (root / "shop" / "till.py").read_text() == "OPEN = True\n"


async def test_a_write_that_contradicts_itself_is_refused_whole(shadow: Shadow) -> None:
    before = names(shadow.root)
    with pytest.raises(FileRefused):
        shadow.write({"new": "a file", "new/x.py": "and a folder"})
    assert names(shadow.root) == before


@pytest.mark.parametrize("limits", [CopyLimits(files=2), CopyLimits(size_bytes=20)])
async def test_a_workspace_that_is_too_large_is_not_copied(
    workspace_of: WorkspaceOf, temporary: Path, limits: CopyLimits
) -> None:
    workspace = workspace_of("#- a.py\n0123456789\n#- b.py\n0123456789\n#- c.py\n0123456789\n")
    async with shadow_workspace(workspace, Unconfined(), limits=limits) as copy:
        assert isinstance(copy, NotRun)
        assert "too large" in copy.reason
        assert copy.next_step
    assert list(temporary.iterdir()) == []


async def test_a_workspace_that_is_gone_is_not_copied(root: Path, temporary: Path) -> None:
    async with shadow_workspace(Workspace(root / "gone"), Unconfined()) as copy:
        assert isinstance(copy, NotRun)
    assert list(temporary.iterdir()) == []


async def test_a_workspace_around_the_folder_for_temporary_files_is_copied_once(
    workspace_of: WorkspaceOf, root: Path
) -> None:
    workspace = workspace_of("#- a.py\n#- tmp/b.py\n")
    async with shadow_workspace(workspace, Unconfined(), parent=root / "tmp") as copy:
        assert isinstance(copy, Shadow)
        assert names(copy.root) == {"a.py", "tmp", "tmp/b.py"}
    assert names(root) == {"a.py", "tmp", "tmp/b.py"}


async def test_the_copy_is_gone_afterwards_whatever_happened(workspace_of: WorkspaceOf, temporary: Path) -> None:
    async def use() -> None:
        async with shadow_workspace(workspace_of("#- a.py\n"), Unconfined()) as copy:
            assert isinstance(copy, Shadow)
            assert names(temporary)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await use()
    assert list(temporary.iterdir()) == []


async def test_cancelling_the_copying_leaves_nothing(root: Path, temporary: Path) -> None:
    for number in range(400):
        (root / f"{number}.txt").write_bytes(b"x" * 10_000)

    async def copy() -> None:
        async with shadow_workspace(Workspace(root), Unconfined()):
            await asyncio.sleep(600)

    for pauses in (1, 2, 3, 50):
        task = asyncio.ensure_future(copy())
        for _ in range(pauses):
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert list(temporary.iterdir()) == []


def test_read_only_folders_are_copied_written_and_removed_by_an_ordinary_user(tmp_path: Path) -> None:
    program = """
        import asyncio, concurrent.futures.thread, os, sys
        from pathlib import Path
        from rolecall_server.sandbox import Unconfined, shadow_workspace
        from rolecall_server.workspace import Workspace

        async def main(root, parent):
            os.chmod(root / "pkg", 0o555)
            os.chmod(root / "pkg" / "a.py", 0o444)
            async with shadow_workspace(Workspace(root), Unconfined(), parent=parent) as copy:
                copy.write({"pkg/a.py": "A = 2", "pkg/b.py": "B = 1"})
                (copy.root / "locked" / "in").mkdir(parents=True)
                (copy.root / "locked" / "in" / "file").touch()
                (copy.root / "locked" / "in").chmod(0)
                (copy.root / "locked").chmod(0o500)
                print((copy.root / "pkg" / "a.py").read_text(), (root / "pkg" / "a.py").read_text())
            print(os.listdir(parent))

        if os.geteuid() == 0:
            os.setresuid(ORDINARY_USER, ORDINARY_USER, ORDINARY_USER)
        root = Path(sys.argv[1]).resolve()
        asyncio.run(main(root / "project", root / "temporary"))
    """
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        for path in (Path(folder), Path(folder, "project"), Path(folder, "project", "pkg"), Path(folder, "temporary")):
            path.mkdir(exist_ok=True)
            path.chmod(0o777)
        code = Path(folder, "project", "pkg", "a.py")
        code.write_text("A = 1")
        if os.geteuid() == 0:
            for path in (code, code.parent):
                os.chown(path, ORDINARY_USER, ORDINARY_USER)
        program = textwrap.dedent(program).replace("ORDINARY_USER", str(ORDINARY_USER))
        ended = subprocess.run([sys.executable, "-c", program, folder], capture_output=True, text=True, check=False)
        assert ended.stdout.splitlines() == ["A = 2 A = 1", "[]"], ended.stderr


def test_copies_of_processes_that_were_killed_are_removed_and_those_of_living_ones_stay(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", "pass"])
    ended.wait()
    before_us = f"rolecall-{ProcessId(os.getpid(), 1)}-abc"  # who had our number
    kept = [f"{temporary_prefix()}abc", f"rolecall-{os.getpid()}-abc", "rolecall-notes-1", "rolecall-", "other-1-abc"]
    for name in (f"rolecall-{ended.pid}-1-abc", before_us, *kept):
        (tmp_path / "left" / name / "copy").mkdir(parents=True)
    assert remove_abandoned_folders(tmp_path / "left") == 2
    assert sorted(path.name for path in (tmp_path / "left").iterdir()) == sorted(kept)
