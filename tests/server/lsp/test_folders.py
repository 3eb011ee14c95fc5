"""The session's code graph follows what the editor tells of documents and files, and never keeps the editor waiting."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from rolecall_analysis import Workers, definitions_in
from rolecall_server.lsp.folders import (
    begin_scan,
    current_snapshot,
    document_changed,
    files_changed,
    latest_snapshot,
)
from rolecall_server.lsp.session import Folder, Session
from rolecall_server.lsp.text.documents import OpenDocument
from support.stores import open_store
from support.trees import write_modules

LARGE = "".join(f"def f{number}(): ...\n" for number in range(5_000))


@asynccontextmanager
async def opened(root: Path, tmp_path: Path, workers: Workers | None = None) -> AsyncIterator[tuple[Session, Folder]]:
    """A session with one folder, whose first scan has begun."""
    session = Session(open_store(tmp_path / "store.db"), workers, tmp_path / "cache")
    folder = session.open_folder(root)
    begin_scan(session, folder)
    try:
        yield session, folder
    finally:
        await asyncio.to_thread(session.close)
        if session.background:
            await asyncio.wait(session.background)
        session.store.close()


def show(session: Session, folder: Folder, path: str, text: str) -> None:
    """The editor opens or edits a document."""
    uri = (folder.root / path).as_uri()
    session.documents[uri] = OpenDocument(uri, "python", 1, text)
    document_changed(session, folder, path)


def hide(session: Session, folder: Folder, path: str) -> None:
    """The editor closes a document."""
    del session.documents[(folder.root / path).as_uri()]
    document_changed(session, folder, path)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_modules(tmp_path / "root", 10).resolve()


async def test_a_small_document_counts_at_once_even_while_the_first_scan_goes_on(root: Path, tmp_path: Path) -> None:
    async with opened(root, tmp_path) as (session, folder):
        show(session, folder, "pkg0/m1.py", "def typed(): ...\n")
        assert definitions_in(session.snapshot(folder), "pkg0/m1.py")[0].name == "typed"
        snapshot = await current_snapshot(session, folder)
        assert definitions_in(snapshot, "pkg0/m1.py")[0].name == "typed"
        assert len(snapshot.files) == 10


async def test_a_large_document_is_read_aside_and_waited_for_only_by_who_wants_it(root: Path, tmp_path: Path) -> None:
    workers = Workers(1)
    async with opened(root, tmp_path, workers) as (session, folder):
        show(session, folder, "pkg0/m1.py", LARGE)
        assert definitions_in(session.snapshot(folder), "pkg0/m1.py") == ()
        assert len(definitions_in(await latest_snapshot(session, folder), "pkg0/m1.py")) == 5_000
        for name in ("a", "b", "c"):
            show(session, folder, "pkg0/m1.py", LARGE.replace("f7(", f"{name}("))
        snapshot = await latest_snapshot(session, folder)
        assert definitions_in(snapshot, "pkg0/m1.py")[7].name == "c"


async def test_a_document_closed_while_it_is_being_read_is_the_disks_again(root: Path, tmp_path: Path) -> None:
    workers = Workers(1)
    async with opened(root, tmp_path, workers) as (session, folder):
        await asyncio.shield(folder.graph.ready)
        show(session, folder, "pkg0/m1.py", LARGE)
        await asyncio.sleep(0)
        hide(session, folder, "pkg0/m1.py")
        snapshot = await current_snapshot(session, folder)
        assert definitions_in(snapshot, "pkg0/m1.py")[0].name == "first1"
        show(session, folder, "pkg0/m1.py", "def again(): ...")
        hide(session, folder, "pkg0/m1.py")
        show(session, folder, "pkg0/m1.py", "def open_again(): ...")
        snapshot = await current_snapshot(session, folder)
        assert definitions_in(snapshot, "pkg0/m1.py")[0].name == "open_again"


async def test_a_burst_of_file_events_is_looked_at_together(root: Path, tmp_path: Path) -> None:
    async with opened(root, tmp_path) as (session, folder):
        await current_snapshot(session, folder)
        looked_at: list[set[str]] = []
        refresh = folder.graph.index.refresh
        folder.graph.index.refresh = lambda paths: looked_at.append(set(paths)) or refresh(paths)  # pyright: ignore
        (root / "pkg0/m1.py").unlink()
        (root / "pkg0/m2.py").write_text("def changed(): ...\n")
        (root / "new").mkdir()
        (root / "new/n.py").write_text("def new(): ...\n")
        (root / "pkg0/m3.py").rename(root / "pkg0/renamed.py")
        for path in ("pkg0/m1.py", "pkg0/m2.py", "new", "pkg0/m3.py", "pkg0/renamed.py"):
            files_changed(session, folder, [path])
        snapshot = await current_snapshot(session, folder)
        expected = {f"pkg0/m{number}.py" for number in range(10)} - {"pkg0/m1.py", "pkg0/m3.py"}
        assert set(snapshot.files) == {*expected, "new/n.py", "pkg0/renamed.py"}
        assert definitions_in(snapshot, "pkg0/m2.py")[0].name == "changed"
        assert len(looked_at) == 1


async def test_a_later_session_finds_what_was_kept_of_the_folder(root: Path, tmp_path: Path) -> None:
    async with opened(root, tmp_path) as (session, folder):
        await current_snapshot(session, folder)
    (stored,) = (tmp_path / "cache" / "graph").glob("*.sqlite3")
    assert b"shared" in stored.read_bytes()
    async with opened(root, tmp_path) as (session, folder):
        assert len((await current_snapshot(session, folder)).files) == 10


async def test_what_could_not_be_read_is_logged_once(
    root: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (root / "huge.py").write_bytes(b"x = 1\n" * 400_000)
    with caplog.at_level(logging.INFO, "rolecall_server.lsp.folders"):
        async with opened(root, tmp_path) as (session, folder):
            await current_snapshot(session, folder)
            for _ in range(2):
                files_changed(session, folder, ["huge.py"])
                await current_snapshot(session, folder)
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == ["huge.py"]


async def test_closing_the_session_ends_a_scan_that_is_under_way(tmp_path: Path) -> None:
    root = write_modules(tmp_path / "root", 600, n_lines=200).resolve()
    workers = Workers(1)
    told: list[int | None] = []
    async with opened(root, tmp_path, workers) as (session, folder):
        session.report_scan = lambda folder, n_done, n_files: told.append(n_done)
        while not told:
            await asyncio.sleep(0.01)
    assert told[-1] is None
    assert len(folder.graph.index.snapshot().files) < 600
    assert workers.process_ids() == ()


async def test_the_collector_of_garbage_passes_by_a_large_graph_that_stands(tmp_path: Path) -> None:
    root = write_modules(tmp_path / "root", 600).resolve()
    n_before = gc.get_freeze_count()
    try:
        async with opened(root, tmp_path) as (session, folder):
            await current_snapshot(session, folder)
            assert gc.get_freeze_count() > n_before
    finally:
        gc.unfreeze()
